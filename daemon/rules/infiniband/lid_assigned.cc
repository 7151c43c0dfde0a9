#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kUnicastEnd = 0xc000;  // Multicast LIDs begin here.

void Fail(const PortView& port, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("LID {} on an ACTIVE port, expected one from 1 to {}", port.port->lid(),
                  kUnicastEnd - 1),
           {ToEvidence(*port.node, {.what = "LID",
                                    .expected = Format("1 to {}", kUnicastEnd - 1),
                                    .seen = Format("{}", port.port->lid()),
                                    .source = PortFile(port, "lid"),
                                    .basis = "rule"})},
           {ToRemedy({.command = Format("ibportstate -D 0 {} reset", port.port->number()),
                      .interrupts_traffic = true,
                      .note = "On the node itself: the subnet manager configures the port again."}),
            ToRemedy({.command = "sminfo",
                      .note = "Is a subnet manager there, and what does its log say of the "
                              "port's GUID?"})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || IsVirtualFunction(port) || !port.port->has_lid()) continue;
    if (port.port->lid() == 0 || port.port->lid() >= kUnicastEnd)
      Fail(port, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule lid_assigned = {
    .id = "lid_assigned",
    .title = "Every ACTIVE InfiniBand port has a LID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Packets are routed by LID within a subnet: without one nothing reaches the port, though "
        "it looks fine. The subnet manager gives LIDs; one that does not, ran out of them or "
        "knows the port under another GUID.",
    .source = "InfiniBand specification, PortInfo:LID; rdma-core ibidsverify",
    .needs = {Input::kRdmaPorts},
    .fix = "ibportstate -D 0 PORT reset, and the log of the subnet manager",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
