#include "subnet/wire/snapshot_outline.h"

#include <cstdint>

#include "subnet/words.h"

namespace fabric::subnet {
namespace {

v1::SubnetNodeType OutlineTypeOf(NodeType type) {
  switch (type) {
    case NodeType::kAdapter: return v1::SUBNET_NODE_TYPE_ADAPTER;
    case NodeType::kSwitch: return v1::SUBNET_NODE_TYPE_SWITCH;
    case NodeType::kRouter: return v1::SUBNET_NODE_TYPE_ROUTER;
    case NodeType::kUnknown: break;
  }
  return v1::SUBNET_NODE_TYPE_UNSPECIFIED;
}

}  // namespace

v1::SubnetSnapshot OutlineOf(const Subnet& subnet) {
  constexpr const char* kOnly = "names and cables only: the subnet comes from files";
  v1::SubnetSnapshot outline;
  outline.set_schema("fabric.v1.SubnetSnapshot");
  outline.add_not_covered(kOnly);
  outline.set_changed(kOnly);
  for (const Node& node : subnet.nodes()) {
    v1::SubnetNode& made = *outline.add_nodes();
    made.set_guid(node.guid);
    made.set_type(OutlineTypeOf(node.type));
    made.set_port_count(node.port_count);
    made.set_description(NameOf(node));
    for (std::uint32_t number = 0; number < node.ports.size(); ++number) {
      const Port& port = node.ports[number];
      if (!port.Peer().present()) continue;
      v1::SubnetPort& cable = *made.add_ports();
      cable.set_number(number);
      cable.set_peer(port.peer + 1);
      cable.set_peer_port(port.peer_port);
      cable.set_guid(port.guid);
    }
  }
  return outline;
}

}  // namespace fabric::subnet
