// Reader of the InfiniBand topology file, which is replaced while fabricd runs.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/fleet/infiniband_topology.h"

namespace fabric {

// Reads the file when it has changed and is then unchanged between two checks, so that it does not
// read a file while it is written.
class TopologyFile {
 public:
  // Empty path: no file.
  explicit TopologyFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Reads the file now. Call at start-up.
  Result<fleet::InfinibandTopology> Read();
  // Call regularly. Empty if there is nothing new. Errors name the file and are returned once.
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

// Creation time of a file with the header "generated on" (local time), last written at
// `modified_at`: the earlier of both, because a copy is written later.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
