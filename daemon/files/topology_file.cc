#include "daemon/files/topology_file.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "base/input.h"

namespace fabric {

Result<fleet::InfinibandTopology> TopologyFile::Load() const {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(path(), fleet::InfinibandTopology::kTextBytesMax));
  auto topology = fleet::InfinibandTopology::Parse(text);
  if (!topology.ok()) return topology.status().In(path());
  topology->set_made_at(MadeAt(topology->generated_on(), file_.modified_at()));
  return topology;
}

Result<fleet::InfinibandTopology> TopologyFile::Read() {
  file_.Note();
  return Load();
}

std::optional<Result<fleet::InfinibandTopology>> TopologyFile::ReadWhenChanged() {
  if (!file_.Changed()) return std::nullopt;
  return Load();
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
