// Topology files: whatever stands there, it is read or refused in one line; what was read is whole.
#include "daemon/fleet/infiniband_topology.h"

#include <set>
#include <string>

#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto topology =
      fabric::fleet::InfinibandTopology::Parse({reinterpret_cast<const char*>(data), size});
  if (!topology.ok()) {
    Check(topology.status().message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  Check(!topology->empty(), "a topology has a switch");
  Check(topology->problems().size() <= topology->problem_count(), "what is told was counted");
  std::set<std::string> names;
  for (const auto& each : topology->switches()) {
    Check(names.insert(each.name).second, "switches are told apart");
    std::uint32_t before = 0;
    for (const auto& link : each.links) {
      Check(link.port > before && link.port < 255, "a port has one cable, in order");
      before = link.port;
      Check(link.other < topology->switches().size(), "a link leads to a switch");
    }
  }
  return 0;
}
