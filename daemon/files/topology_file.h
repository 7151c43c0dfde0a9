// Reader of the InfiniBand topology file, which is replaced while fabricd runs.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/files/watched_file.h"
#include "daemon/fleet/infiniband_topology.h"

namespace fabric {

class TopologyFile {
 public:
  // Empty path: no file.
  explicit TopologyFile(std::string path) : file_(std::move(path)) {}

  const std::string& path() const { return file_.path(); }

  // Reads the file now. Call at start-up.
  Result<fleet::InfinibandTopology> Read();
  // Call regularly. Empty if there is nothing new. Errors name the file and are returned once.
  std::optional<Result<fleet::InfinibandTopology>> ReadWhenChanged();

 private:
  Result<fleet::InfinibandTopology> Load() const;

  WatchedFile file_;
};

// Creation time of a file with the header "generated on" (local time), last written at
// `modified_at`: the earlier of both, because a copy is written later.
WallTime MadeAt(const std::string& generated_on, WallTime modified_at);

}  // namespace fabric
