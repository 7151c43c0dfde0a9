#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Board(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.port->number() != port.device->ports(0).number()) return {};
  if (port.device->board_id().empty()) return {};
  return Value{.text = port.device->board_id()};
}

std::string Source(const Member& member) {
  return Format("sys/class/infiniband/{}/board_id", member.port->device->name());
}

void AddModel(const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
  const v1::RdmaDevice& seen = *member.port->device;
  const v1::RdmaDevice& wanted = *good.port->device;
  if (!seen.has_model() || !wanted.has_model()) return;
  evidence.push_back(ToEvidence(*member.node->node, {.what = "model",
                                                     .expected = wanted.model(),
                                                     .seen = seen.model(),
                                                     .source = "PCI ids",
                                                     .basis = "as " + PortName(*good.port)}));
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  return {
      ToRemedy({.platform = "mlx5",
                .command = Format("mlxfwmanager -d {} --query", member.port->device->pci_address()),
                .note = "Shows part number and PSID. Another PSID takes another firmware: do "
                        "not burn one over the other, exchange the card."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "board id",
                                            .group = ByRailOfKnownProduct,
                                            .value = Board,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies,
                                            .more = AddModel}};

}  // namespace

extern const Rule nic_equal_on_rail = {
    .id = "nic_equal_on_rail",
    .title = "Machines of one product have the same card (board id, PSID) on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The board id names card and maker: another one has other firmware, other defaults, and "
        "perhaps another speed. It comes from repairs with what was in the drawer.",
    .source = "kernel ABI document sysfs-class-infiniband (board_id)",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .fix = "Exchange the card, or keep its firmware and settings apart",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
