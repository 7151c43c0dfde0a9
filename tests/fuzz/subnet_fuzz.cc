// Files of subnets and cable plans, one target for each format: any text is read or refused in one
// line, and the checks and the topology of the fleet accept what was read.
#include <set>
#include <string>

#include "daemon/fleet/infiniband_topology.h"
#include "subnet/builder.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/plan.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

void CheckSubnet(const fabric::subnet::Subnet& subnet) {
  for (const fabric::subnet::Cable& cable : subnet.Cables()) {
    Check(subnet.FindPort(cable.from) != nullptr, "a cable starts at a port");
    Check(subnet.FindPort(cable.to) != nullptr, "a cable ends at a port");
  }
  Check(subnet.problems().kept().size() <= subnet.problems().count(), "problems are counted");
  // Larger subnets make an input slow.
  if (subnet.nodes().size() > 100) return;
  for (const auto& finding : fabric::subnet::Evaluate(subnet, nullptr, {}).findings)
    Check(!finding.title().empty(), "a finding has a title");
}

void CheckTopology(const fabric::subnet::Subnet& subnet) {
  const fabric::subnet::Subnet* const subnets[] = {&subnet};
  const auto topology = fabric::fleet::InfinibandTopology::Of(subnets);
  std::set<std::string> names;
  for (const auto& each : topology.switches()) {
    Check(names.insert(each.name).second, "switches have different names");
    std::uint32_t before = 0;
    for (const auto& link : each.links) {
      Check(link.port > before && link.port < 255, "a port has one cable, in order");
      before = link.port;
      Check(link.other < topology.switches().size(), "a link leads to a switch");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fabric::subnet::Builder builder;
  const fabric::Status status = fabric::subnet::AddFile("file", text, builder);
  if (status.ok()) {
    const fabric::subnet::Subnet subnet = builder.Finish();
    CheckSubnet(subnet);
    CheckTopology(subnet);
  }
  Check(status.message().find('\n') == std::string::npos, "an error is one line");
  if (const auto plan = fabric::subnet::ReadPlan("plan", text); plan.ok())
    Check(!plan->cables.empty(), "a plan has a cable");
  return 0;
}
