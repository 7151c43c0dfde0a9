#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, Verdicts& out) {
  const std::string& netdev = port.port->netdev();
  const std::string seen = netdev.empty() ? "none" : netdev + ", which is not here";
  out.Fail(port.Subject(), Format("netdev of the port: {}, expected one on this node", seen),
           {ToEvidence(*port.node, {.what = "netdev",
                                    .expected = "one",
                                    .seen = seen,
                                    .source = PortFile(port, "gid_attrs/ndevs"),
                                    .basis = "RDMA over Ethernet has one"})},
           {ToRemedy({.command = "ip netns list-id; rdma system show",
                      .note = "The netdev is in another network namespace: in a container's. Take "
                              "it back, or run the agent there."})});
}

// A captured tree may have the RDMA devices without the netdevs.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.node->snapshot.captured()) return;
  for (const PortView& port : node.ports) {
    if (!port.rail || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) continue;
    if (port.port->state() != v1::PORT_STATE_ACTIVE) continue;
    if (port.netdev == nullptr)
      Fail(port, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule rdma_port_has_netdev = {
    .id = "rdma_port_has_netdev",
    .title = "Every ACTIVE RDMA port over Ethernet has a netdev that this node sees",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Addresses, MTU, priorities and speed are the netdev's. One that was moved into the "
        "network "
        "namespace of a container leaves an RDMA device that looks usable here and is not: its "
        "GIDs are not those of this namespace.",
    .source = "man pages rdma-system(8) and ip-netns(8)",
    .needs = {Input::kRdmaPorts, Input::kNetInterfaces},
    .fix = "Bring the netdev back, or look from within its namespace",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
