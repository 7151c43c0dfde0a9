// Writer of small files that survive a crash at any moment.
#pragma once

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

// FAILED_PRECONDITION if users who are not in the file's group can read it, or others than its
// owner can change it. The group may read it: Kubernetes and systemd grant access to secrets that
// way.
Status CheckPrivate(const std::string& path, std::string_view what = "a private key");

}  // namespace fabric
