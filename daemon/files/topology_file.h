// InfiniBand topology file, reloaded when it changes.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/fleet/infiniband_topology.h"

namespace fabric {

// Another program replaces the file. It is read when it has changed and then stayed the same
// between two checks, so that a file is not read while it is written.
class TopologyFile {
 public:
  // An empty path: no file.
  explicit TopologyFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Reads the file unconditionally, at the start.
  Result<fleet::InfinibandTopology> Read();
  // Call it regularly: empty while the file has not changed. Errors name the file and are returned
  // once.
  std::optional<Result<fleet::InfinibandTopology>> ReadWhenChanged();

 private:
  struct Seen {
    bool there = false;
    ino_t inode = 0;
    off_t bytes = 0;
    WallTime modified_at{};

    friend bool operator==(const Seen&, const Seen&) = default;
  };
  Seen Look() const;
  Result<fleet::InfinibandTopology> Load(const Seen& seen) const;

  const std::string path_;
  Seen read_, looked_;
};

// Creation time of the topology: the earlier one of "generated on" in the file (local time) and of
// its modification time, because a copy is younger than its content.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
