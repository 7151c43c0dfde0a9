#include "daemon/files/topology_file.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/input.h"

namespace fabric {

TopologyFile::Seen TopologyFile::Look() const {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) return {};
  return {.there = true,
          .inode = status.st_ino,
          .bytes = status.st_size,
          .modified_at = WallTime(std::chrono::seconds(status.st_mtim.tv_sec) +
                                  std::chrono::nanoseconds(status.st_mtim.tv_nsec))};
}

Result<fleet::InfinibandTopology> TopologyFile::Load(const Seen& seen) const {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(path_, fleet::InfinibandTopology::kTextBytesMax));
  auto topology = fleet::InfinibandTopology::Parse(text);
  if (!topology.ok()) return topology.status().In(path_);
  topology->set_made_at(MadeAt(topology->generated_on(), seen.modified_at));
  return topology;
}

Result<fleet::InfinibandTopology> TopologyFile::Read() {
  read_ = looked_ = Look();
  return Load(read_);
}

std::optional<Result<fleet::InfinibandTopology>> TopologyFile::ReadWhenChanged() {
  if (path_.empty()) return std::nullopt;
  const Seen now = Look();
  const Seen before = std::exchange(looked_, now);
  if (now == read_ || now != before) return std::nullopt;
  read_ = now;
  return Load(now);
}

WallTime MadeAt(const std::string& generated_on, WallTime modified_at) {
  tm local{};
  local.tm_isdst = -1;
  const char* const end = strptime(generated_on.c_str(), "%a %b %d %H:%M:%S %Y", &local);
  if (end == nullptr) return modified_at;
  const time_t seconds = mktime(&local);
  if (seconds < 0) return modified_at;
  return std::min(modified_at, WallTime(std::chrono::seconds(seconds)));
}

}  // namespace fabric
