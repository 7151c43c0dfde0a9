#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::NodeView;
using fleet::PortView;

// The number of fabric ports: a node with another one has a card too few or too many, which is
// fabric_port_count_equal's finding.
std::optional<std::uint64_t> Ports(const NodeView& node) {
  std::uint64_t ports = 0;
  for (const PortView& port : node.ports) {
    if (!port.rail) break;
    if (port.device->pci_address().empty()) return {};
    ++ports;
  }
  return ports > 0 ? std::optional(ports) : std::nullopt;
}

std::optional<Group> LikeMachines(const Member& node) {
  std::optional<Group> group = ByKnownProduct(node);
  const std::optional<std::uint64_t> like = Ports(*node.node);
  if (!group || !like) return {};
  group->part = *like;
  return group;
}

std::optional<Value> Order(const Member& member) {
  Mix mix;
  for (const PortView& port : member.node->ports)
    if (port.rail) mix.Add(port.device->pci_address());
  return Value{mix.value()};
}

std::string Seen(const Member& member, const Member& beside) {
  const NodeView& node = *member.node;
  const NodeView& other = *beside.node;
  for (std::size_t i = 0; i < node.ports.size() && i < other.ports.size(); ++i)
    if (node.ports[i].device->pci_address() != other.ports[i].device->pci_address())
      return Format("rail {} at {}", i, node.ports[i].device->pci_address());
  return "the same";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value&) {
  return {ToRemedy({.command = "lspci -tv",
                    .note = "Compare with a good node: a card in another slot, or a firmware "
                            "setting that numbers the buses otherwise."})};
}

std::string Source(const Member&) {
  return "sys/class/infiniband";
}

constexpr EqualityRule kEqualityRules[] = {{.what = "place of the cards",
                                            .of_nodes = true,
                                            .group = LikeMachines,
                                            .value = Order,
                                            .show_difference = Seen,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule rail_order_equal = {
    .id = "rail_order_equal",
    .title = "Machines of one product have their fabric cards at the same PCI addresses",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Rails are told by the order of PCI addresses: a card in another slot shifts them, GPUs "
        "get another card as the nearest one, and traffic that should stay within a rail crosses "
        "the spine.",
    .source = "NCCL's search of rings and trees by PCI distance; rail-optimised designs",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .fix = "lspci -tv, compared with a good node; then the slot",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
