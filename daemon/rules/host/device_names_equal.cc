#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::NodeView;
using fleet::PortView;

// Only machines with the same cards in the same slots; others are rail_order_equal's.
std::optional<std::uint64_t> Slots(const NodeView& node) {
  Mix mix;
  for (const PortView& port : node.ports) {
    if (!port.rail) break;
    if (port.device->pci_address().empty()) return {};
    mix.Add(port.device->pci_address());
  }
  return mix.value();
}

std::optional<Group> LikeMachines(const Member& node) {
  std::optional<Group> group = ByKnownProduct(node);
  const std::optional<std::uint64_t> like = Slots(*node.node);
  if (!group || !like) return {};
  group->part = *like;
  return group;
}

std::optional<Value> Names(const Member& member) {
  Mix mix;
  for (const PortView& port : member.node->ports)
    if (port.rail) mix.Add(port.device->name());
  return Value{mix.value()};
}

std::string Seen(const Member& member, const Member& beside) {
  const NodeView& node = *member.node;
  const NodeView& other = *beside.node;
  for (std::size_t i = 0; i < node.ports.size() && i < other.ports.size(); ++i)
    if (node.ports[i].device->name() != other.ports[i].device->name())
      return Format("{} at {}", node.ports[i].device->name(), node.ports[i].device->pci_address());
  return "the same";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "rdma dev set NAME name NEW",
                    .note = "For now. For good by a rule of udev: rdma_rename names devices by "
                            "their PCI address (NAME_PCI), or by a list of yours."})};
}

std::string Source(const Member&) {
  return "sys/class/infiniband";
}

constexpr EqualityRule kEqualityRules[] = {{.what = "names of devices",
                                            .of_nodes = true,
                                            .group = LikeMachines,
                                            .value = Names,
                                            .show_difference = Seen,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule device_names_equal = {
    .id = "device_names_equal",
    .title = "Machines of one product have the same names for the same RDMA devices",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "One list of devices, as NCCL_IB_HCA or UCX_NET_DEVICES take it, is given to all nodes of "
        "a job: where mlx5_0 is another card, the job uses the storage card, or a card far from "
        "the GPU. The kernel numbers devices in the order in which their drivers came up.",
    .source = "rdma-core kernel-boot/rdma_rename.c; NCCL, NCCL_IB_HCA",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .fix = "rdma_rename by PCI address (udev), on all nodes",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
