#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::string NodeGuidFile(const PortView& port) {
  return Format("sys/class/infiniband/{}/node_guid", port.device->name());
}

bool IsFirstPort(const PortView& port) {
  return port.port->number() == port.device->ports(0).number();
}

void AddGuid(const Member& member, const std::string& guid, std::vector<KeyHolder>& out) {
  if (!guid.empty() && !IsZeroGuid(guid)) out.push_back({.member = member, .key = {.text = guid}});
}

std::string ShowGuid(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

v1::Remedy QueryFlash(const v1::RdmaDevice& device, std::string_view more) {
  std::string note = Format("Shows the GUIDs in flash and those set by the manufacturer. {}", more);
  if (!device.has_pci_address() || !device.driver().starts_with("mlx")) return Advice(note);
  return Query({.platform = "mlx5",
                .command = Format("flint -d {} query full", device.pci_address()),
                .note = std::move(note)});
}

// duplicate_node_guid

// A device with several ports has one node GUID.
void NodeGuids(const Member& member, std::vector<KeyHolder>& out) {
  if (IsFirstPort(*member.port)) AddGuid(member, member.port->device->node_guid(), out);
}

// Functions of one card may share a GUID; then they have one sys_image_guid. Several drivers make
// the GUID from the MAC: two devices with one MAC are a finding of duplicate_mac.
bool MayShareNodeGuid(const KeyHolder& a, const KeyHolder& b) {
  const v1::RdmaDevice& left = *a.member.port->device;
  const std::string& system = left.sys_image_guid();
  return left.function().kind() == v1::FUNCTION_KIND_SOFTWARE ||
         (!system.empty() && system == b.member.port->device->sys_image_guid());
}

void MacOfGuid(const KeyHolder& holder, std::vector<Value>& out) {
  const PortView& port = *holder.member.port;
  if (port.netdev != nullptr && port.netdev->has_mac() &&
      port.port->link_layer() == v1::LINK_LAYER_ETHERNET)
    out.push_back({.text = port.netdev->mac()});
}

constexpr UniquenessRule kNodeGuids = {
    .what = "node GUID",
    .keys = NodeGuids,
    .same = MayShareNodeGuid,
    .identities = MacOfGuid,
    .show = ShowGuid,
    .source = [](const KeyHolder& holder) { return NodeGuidFile(*holder.member.port); },
    .remedies = [](const KeyHolder& last) -> std::vector<v1::Remedy> {
      return {QueryFlash(*last.member.port->device,
                         "`flint sg` restores them. Takes effect after a reset of the card.")};
    }};

// duplicate_port_guid

void PortGuids(const Member& member, std::vector<KeyHolder>& out) {
  if (IsInfiniband(*member.port)) AddGuid(member, member.port->port->port_guid(), out);
}

// Two ports with one node GUID are a finding of duplicate_node_guid. Functions of one card that
// represent another function have its port GUID.
bool MaySharePortGuid(const KeyHolder& a, const KeyHolder& b) {
  const v1::RdmaDevice& left = *a.member.port->device;
  const v1::RdmaDevice& right = *b.member.port->device;
  if (left.has_node_guid() && left.node_guid() == right.node_guid()) return true;
  return left.has_sys_image_guid() && left.sys_image_guid() == right.sys_image_guid();
}

void NodeGuidOfPort(const KeyHolder& holder, std::vector<Value>& out) {
  const v1::RdmaDevice& device = *holder.member.port->device;
  if (device.has_node_guid()) out.push_back({.text = device.node_guid()});
}

constexpr UniquenessRule kPortGuids = {
    .what = "port GUID",
    .keys = PortGuids,
    .same = MaySharePortGuid,
    .identities = NodeGuidOfPort,
    .show = ShowGuid,
    .source = [](const KeyHolder& holder) { return PortFile(*holder.member.port, "gids/0"); },
    .remedies = [](const KeyHolder& last) -> std::vector<v1::Remedy> {
      return {QueryFlash(*last.member.port->device,
                         "For a virtual function, check the GUID that the host assigned (ip link "
                         "show).")};
    }};

// port_guid_not_of_other_node

// A port has two keys, distinguished by `index`: 0 for the node GUID, 1 for the port GUID.
constexpr std::uint32_t kOfNodeGuid = 0;
constexpr std::uint32_t kOfPortGuid = 1;

void NodeAndPortGuids(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  if (!IsInfiniband(port)) return;
  const std::string& of_port = port.port->port_guid();
  const std::string& of_node = port.device->node_guid();
  AddGuid(member, of_port, out);
  if (!out.empty()) out.back().index = kOfPortGuid;
  // One key for each GUID: on most cards the first port has the GUID of the node.
  if (of_node == of_port) return;
  const std::size_t before = out.size();
  if (IsFirstPort(port)) AddGuid(member, of_node, out);
  if (out.size() > before) out.back().index = kOfNodeGuid;
}

// Two equal port GUIDs and two equal node GUIDs are findings of other rules. So is a card whose
// port and node GUID are both those of another one.
void KindAndNodeGuid(const KeyHolder& holder, std::vector<Value>& out) {
  constexpr std::uint64_t kKind = 1;  // Apart from GUIDs, whose number is 0
  out.push_back({.number = kKind + *holder.index});
  out.push_back({.text = holder.member.port->device->node_guid()});
}

constexpr UniquenessRule kMixedGuids = {
    .what = "GUID",
    .keys = NodeAndPortGuids,
    .same = IsOnOneNode,
    .identities = KindAndNodeGuid,
    .show = ShowGuid,
    .source =
        [](const KeyHolder& holder) {
          return holder.index == kOfNodeGuid ? NodeGuidFile(*holder.member.port)
                                             : PortFile(*holder.member.port, "gids/0");
        },
    .remedies = [](const KeyHolder& last) -> std::vector<v1::Remedy> {
      return {QueryFlash(*last.member.port->device,
                         "`flint sg` restores them. Takes effect after a reset of the card.")};
    }};

// node_description_unique

void NodeDescriptions(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  if (IsActiveInfiniband(port) && IsFirstPort(port) && !port.device->node_description().empty())
    out.push_back({.member = member, .key = {.text = port.device->node_description()}});
}

constexpr UniquenessRule kDescriptions = {
    .what = "node description",
    .keys = NodeDescriptions,
    .same = IsOnOneNode,
    .show = [](const KeyHolder& holder) { return Quoted(holder.key.text); },
    .source =
        [](const KeyHolder& holder) {
          return Format("sys/class/infiniband/{}/node_desc", holder.member.port->device->name());
        },
    .remedies = [](const KeyHolder&) -> std::vector<v1::Remedy> {
      return {Query({.command = "systemctl status rdma-ndd",
                     .note = "rdma-ndd of rdma-core writes host name and device into the "
                             "description, and keeps it up to date. Start it on all nodes."})};
    }};

// node_guid_set

v1::Remedy NodeGuidRemedy(const PortView& port) {
  if (IsVirtualFunction(port))
    return Advice(
        "A virtual function gets its GUIDs on the host, before its driver is bound: ip "
        "link set dev, on the physical function, with vf, node_guid and port_guid. "
        "Choose GUIDs that are unique in the fabric.");
  return QueryFlash(*port.device,
                    "`flint sg` restores them. Takes effect after a reset of the "
                    "card, which interrupts all its ports.");
}

void JudgeNodeGuid(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || !port.device->has_node_guid() || !IsFirstPort(port)) continue;
    if (!IsZeroGuid(port.device->node_guid())) {
      out.Pass();
      continue;
    }
    out.Fail(DeviceSubject(port), "node GUID is zero, expected a unique GUID",
             {ToEvidence(*port.node, {.what = "node GUID",
                                      .expected = "not zero",
                                      .seen = port.device->node_guid(),
                                      .source = NodeGuidFile(port),
                                      .basis = "rule"})},
             {NodeGuidRemedy(port)});
  }
}

}  // namespace

extern const Rule duplicate_node_guid = {
    .id = "duplicate_node_guid",
    .title = "No two RDMA devices have the same node GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The subnet manager takes two devices with one GUID for one device: routes change with "
        "every sweep, and connections by GUID reach the wrong node. Usual causes: firmware that "
        "was written with another card's settings, and cloned virtual machines. Functions of one "
        "card with the same sys_image_guid may share it.",
    .source = "InfiniBand specification, NodeInfo:NodeGUID; rdma-core ibidsverify",
    .needs = {Input::kRdmaDevices},
    .reads = {{.field = Field::kNodeGuid, .applies = IsHardware}},
    .fix = "flint -d DEVICE sg, on the card with the overwritten GUID",
    .uniqueness_rule = &kNodeGuids,
};

extern const Rule duplicate_port_guid = {
    .id = "duplicate_port_guid",
    .title = "No two InfiniBand ports have the same port GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The subnet manager identifies ports by GUID, and the GID is made from it. Of two ports "
        "with one GUID only one is routed, and which one changes. Usual causes: firmware that was "
        "written with another card's settings, and GUIDs that two virtual functions share.",
    .source = "InfiniBand specification, PortInfo and GIDs; rdma-core ibidsverify",
    .needs = {Input::kGids},
    .reads = {{.field = Field::kPortGuid, .applies = IsPhysicalInfiniband}},
    .fix = "flint -d DEVICE sg, on the card with the overwritten GUID",
    .uniqueness_rule = &kPortGuids,
};

extern const Rule port_guid_not_of_other_node = {
    .id = "port_guid_not_of_other_node",
    .title = "No port GUID is the node GUID of a device of another node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Port and node GUIDs share one number space. A subnet manager that finds a port GUID as "
        "the GUID of another device reports a duplicate and may leave the port out.",
    .source = "InfiniBand specification, NodeInfo:PortGUID; rdma-core ibidsverify",
    .needs = {Input::kGids, Input::kRdmaDevices},
    .reads = {{.field = Field::kPortGuid, .applies = IsPhysicalInfiniband}},
    .fix = "flint -d DEVICE sg, on the card with the overwritten GUID",
    .uniqueness_rule = &kMixedGuids,
};

extern const Rule node_description_unique = {
    .id = "node_description_unique",
    .title = "InfiniBand devices of different nodes have different node descriptions",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Subnet manager, topology files and tools show devices by description. With the factory's "
        "description on several nodes, their output does not show which node a link belongs to.",
    .source = "rdma-core rdma-ndd(8); InfiniBand specification, NodeDescription",
    .needs = {Input::kRdmaDevices},
    .reads = {{.field = Field::kNodeDescription, .applies = IsInfinibandInUse}},
    .fix = "systemctl enable --now rdma-ndd",
    .uniqueness_rule = &kDescriptions,
};

extern const Rule node_guid_set = {
    .id = "node_guid_set",
    .title = "Every InfiniBand device of the fabric has a node GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Subnet manager and connection managers identify devices by GUID, and zero is not a valid "
        "GUID. Usual causes: firmware written without GUIDs, and virtual functions without an "
        "assigned GUID.",
    .source = "InfiniBand specification, NodeInfo:NodeGUID; rdma-core ibidsverify",
    .needs = {Input::kRdmaDevices},
    .reads = {{.field = Field::kNodeGuid, .applies = IsInfinibandInUse}},
    .fix = "flint -d DEVICE sg; for a virtual function, set its GUIDs on the host",
    .evaluate_node = JudgeNodeGuid,
};

}  // namespace fabric::rules
