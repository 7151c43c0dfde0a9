// Files of subnets and cable plans, one target for each format: any text is read or refused in one
// line, and the checks accept what was read.
#include <string>

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fabric::subnet::Builder builder;
  const fabric::Status status = fabric::subnet::AddFile("file", text, builder);
  if (status.ok()) CheckSubnet(builder.Finish());
  Check(status.message().find('\n') == std::string::npos, "an error is one line");
  if (const auto plan = fabric::subnet::ReadPlan("plan", text); plan.ok())
    Check(!plan->cables.empty(), "a plan has a cable");
  return 0;
}
