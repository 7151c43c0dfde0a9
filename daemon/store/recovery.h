// Opening of a state file that may be damaged: checks it, moves a damaged one aside and copies what
// can be read from it into a new one.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace fabric::store {

// As OpenDatabase, but a damaged state file is replaced: it is moved to PATH.damaged-TIME. Files of
// other programs are left alone and refused.
Result<Database> OpenOrRecover(const std::string& path, WallTime now, Damage& damage);

// Replaces the state file at `path` by a backup, while no fabricd uses it. The previous file is
// moved to PATH.replaced-TIME, which is returned; empty: there was none. A file that is not a
// backup, or is damaged, is refused and nothing changes. As root, the file gets the owner of its
// directory.
Result<std::string> Restore(const std::string& backup, const std::string& path, WallTime now);

// The audit log and the file of joining nodes are next to the state file, with these ends of their
// names, and their copies are next to its copy.
inline constexpr std::string_view kAuditSuffix = ".audit";
inline constexpr std::string_view kJoinSuffix = ".join";

// Copies such a file of a backup to `path`, where there must be none, as Restore(). False: there is
// a file, which stays, or the backup has none.
Result<bool> RestoreIfMissing(const std::string& backup, const std::string& path);

// Time in names of files: "20261123T180000Z".
std::string FileStamp(WallTime time);

}  // namespace fabric::store
