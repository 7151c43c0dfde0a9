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
  if (!IsInfiniband(port)) return;
  const std::string& guid = port.port->port_guid();
  if (!guid.empty() && !IsZeroGuid(guid)) out.push_back({.member = member, .key = {.text = guid}});
}

// Two with one node GUID are duplicate_node_guid's finding; ports of one card are told apart by
// nothing else where a function stands for another one.
bool IsSame(const KeyHolder& a, const KeyHolder& b) {
  const v1::RdmaDevice& left = *a.member.port->device;
  const v1::RdmaDevice& right = *b.member.port->device;
  if (left.has_node_guid() && left.node_guid() == right.node_guid()) return true;
  return IsSameNode(a, b) && left.has_sys_image_guid() &&
         left.sys_image_guid() == right.sys_image_guid();
}

std::string Show(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder& holder) {
  return PortFile(*holder.member.port, "gids/0");
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  const v1::RdmaDevice& device = *last.member.port->device;
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("flint -d {} query full",
                                      device.has_pci_address() ? device.pci_address() : "DEVICE"),
                    .note = "Shows the GUIDs in flash and those that the card was made with; of a "
                            "virtual function look at what the host gave it (ip link show)."})};
}

constexpr UniquenessRule kGuids = {.what = "port GUID",
                                   .keys = Guids,
                                   .same = IsSame,
                                   .show = Show,
                                   .source = Source,
                                   .remedies = Remedies};

}  // namespace

extern const Rule duplicate_port_guid = {
    .id = "duplicate_port_guid",
    .title = "No two InfiniBand ports have the same port GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "The subnet manager finds ports by their GUID, and the GID is made of it: of two ports "
        "with one GUID only one is routed, and which one changes. It comes from firmware that was "
        "written with another card's settings, and from GUIDs of virtual functions set twice.",
    .source = "InfiniBand specification, PortInfo and GIDs; rdma-core ibidsverify",
    .needs = {Input::kGids},
    .fix = "flint -d DEVICE sg, on the one whose GUID was overwritten",
    .uniqueness_rule = &kGuids,
};

}  // namespace fabric::rules
