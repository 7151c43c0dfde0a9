#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Guids(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  // A device with several ports has one.
  if (port.port->number() != port.device->ports(0).number()) return;
  const std::string& guid = port.device->node_guid();
  if (!guid.empty() && !IsZeroGuid(guid)) out.push_back({.member = member, .key = {.text = guid}});
}

// Functions of one card may share a GUID, and then say that they are of one system. Several
// drivers make the GUID from the MAC: two with one MAC are duplicate_mac's finding.
bool IsSame(const KeyHolder& a, const KeyHolder& b) {
  const PortView& left = *a.member.port;
  const PortView& right = *b.member.port;
  if (IsSameNode(a, b)) {
    const std::string& system = left.device->sys_image_guid();
    return left.device->function().kind() == v1::FUNCTION_KIND_SOFTWARE ||
           (!system.empty() && system == right.device->sys_image_guid());
  }
  return left.netdev != nullptr && right.netdev != nullptr && left.netdev->has_mac() &&
         left.port->link_layer() == v1::LINK_LAYER_ETHERNET &&
         left.netdev->mac() == right.netdev->mac();
}

std::string Show(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder& holder) {
  return Format("sys/class/infiniband/{}/node_guid", holder.member.port->device->name());
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  const v1::RdmaDevice& device = *last.member.port->device;
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("flint -d {} query full",
                                      device.has_pci_address() ? device.pci_address() : "DEVICE"),
                    .note = "Shows the GUIDs in flash and those that the card was made with: "
                            "flint sg sets them again. It takes effect with the next reset."})};
}

constexpr UniquenessRule kGuids = {.what = "node GUID",
                                   .keys = Guids,
                                   .same = IsSame,
                                   .show = Show,
                                   .source = Source,
                                   .remedies = Remedies};

}  // namespace

extern const Rule duplicate_node_guid = {
    .id = "duplicate_node_guid",
    .title = "No two RDMA devices have the same node GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The subnet manager takes two devices with one GUID for one device: routes change with "
        "every sweep, and connections by GUID reach the wrong node. It comes from firmware that "
        "was written with another card's settings, and from cloned virtual machines. Functions of "
        "one card with the same sys_image_guid may share it.",
    .source = "InfiniBand specification, NodeInfo:NodeGUID; rdma-core ibidsverify",
    .needs = {Input::kRdmaDevices},
    .fix = "flint -d DEVICE sg, on the one whose GUID was overwritten",
    .uniqueness_rule = &kGuids,
};

}  // namespace fabric::rules
