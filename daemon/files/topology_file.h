// The file with the InfiniBand topology, as fabricd finds it.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/fleet/infiniband_topology.h"

namespace fabric {

// It is replaced from outside, by a timer say. Read whenever it has changed and then stayed as it
// is from one look to the next: one that is being written is not read.
class TopologyFile {
 public:
  // An empty path: there is none.
  explicit TopologyFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // At the start: reads it as it is.
  Result<fleet::InfinibandTopology> Read();
  // Later, again and again: empty while there is nothing new to tell. Errors name the file and are
  // told once.
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

// When a file that says it was "generated on" then, in local time, and was last written at
// `modified_at` was made: the earlier of both, because copies are younger than what they say.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
