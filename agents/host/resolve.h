// Opening paths of a captured tree without leaving it.
#pragma once

#include <string>
#include <string_view>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// FromErrno(), but a loop of links or too long a name is the path's fault: INVALID_ARGUMENT.
Status FileError(int error, std::string_view what);

// Opens `path` as if `root` were "/": openat2() with RESOLVE_IN_ROOT. Kernels before 5.6 and some
// seccomp filters have no openat2(); there the links are followed by hand (ResolveInRoot) and the
// outcome is opened. The difference: while somebody renames directories of the tree, following by
// hand may be led out of it. A captured tree is at rest, so this is good enough.
//
// Where a directory is needed and a regular file is, whose text is a relative path ("../../devices/
// x"), it is followed as the link that some copies make such a file of.
//
// The status speaks of `what`; `error` is its errno, or 0.
Result<Fd> OpenInRoot(int root, const std::string& path, int flags, std::string_view what,
                      int& error);

// Opens `path` below the directory `dir` if no link is on the way: a part of what OpenInRoot()
// would do from the root, at a fraction of the cost. With `error` ENOENT nothing is there; with any
// other one OpenInRoot() has to say.
Fd OpenBeneath(int dir, const std::string& path, int flags, int& error);

// `path` with every symbolic link but (unless `follow_last`) the last followed, "." and ".." gone:
// "sys/devices/virtual/net/lo". Names that do not exist stay as they are. A FileError()
// otherwise; a loop is what has 40 links, as in the kernel.
Result<std::string> ResolveInRoot(int root, std::string_view path, bool follow_last,
                                  std::string_view what);

}  // namespace fabric::host
