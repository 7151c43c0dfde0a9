// Writer of small files that survive a crash at any moment, and permissions of files.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// Replaces or creates the file with these permissions: afterwards it has either its old or its new
// content, also after a power failure. Errors name the path.
Status WriteFileAtomically(const std::string& path, std::string_view text, mode_t mode);

// As above, but never replaces a file: ALREADY_EXISTS.
Status CreateFileAtomically(const std::string& path, std::string_view text, mode_t mode);

// Writes the entries of the directory that contains `path` to the disk: files that were created,
// renamed or removed in it.
Status SyncDirectoryOf(const std::string& path);

// Removes the permissions of group and others, if there are any.
Status MakePrivate(const std::string& path);

// What other users cannot do with a file. Its group may read a secret, because Kubernetes and
// systemd grant access to secrets that way.
inline constexpr mode_t kNotWritable = S_IWGRP | S_IWOTH;
inline constexpr mode_t kNotReadable = S_IWGRP | S_IXGRP | S_IRWXO;

// FAILED_PRECONDITION with path and mode if the file has a permission that is forbidden; `what`: "a
// private key that other users cannot read (mode 0600 or 0640)".
Status CheckMode(const std::string& path, mode_t forbidden, std::string_view what);

// CheckMode of a secret; `what`: "a private key".
Status CheckPrivate(const std::string& path, std::string_view what = "a private key");

}  // namespace fabric
