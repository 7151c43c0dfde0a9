// Path resolution within a captured tree, which links cannot leave.
#pragma once

#include <string>
#include <string_view>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// FromErrno() at `path`; INVALID_ARGUMENT for a loop of links and a name that is too long.
Status FileError(int error, const std::string& path);

// Opens `path` as if `root` were "/": openat2() with RESOLVE_IN_ROOT. Without openat2() (kernels
// before 5.6, some seccomp filters), links are followed one by one, and each component is opened
// without following links. Neither way leaves the tree, also while its directories are renamed.
//
// Where a directory is needed, a regular file with a relative path as its text ("../../devices/x")
// is followed as a link: some copies turn links into such files. 40 links are a loop (ELOOP).
//
// The status names `what`; `error` is its errno, or 0.
Result<Fd> OpenInRoot(int root, const std::string& path, int flags, std::string_view what,
                      int& error);

// Opens `path` below the directory `dir` if it contains no link: cheaper than OpenInRoot(). `error`
// is ENOENT for a path that does not exist; for any other error call OpenInRoot().
Fd OpenBeneath(int dir, const std::string& path, int flags, int& error);

// `path` with every symbolic link but (unless `follow_last`) the last followed, "." and ".." gone:
// "sys/devices/virtual/net/lo". Names that do not exist stay unchanged. A FileError() otherwise; 40
// links are a loop, as in the kernel.
Result<std::string> ResolveInRoot(int root, std::string_view path, bool follow_last,
                                  std::string_view what);

}  // namespace fabric::host
