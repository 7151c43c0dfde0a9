#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::NodeView;
using fleet::PortView;

// fabric_port_count_equal

bool IsFabricPort(const PortView& port) {
  return port.rail.has_value();
}

// A card that carries NFS or the default route today is not missing from the fabric.
bool IsPortOfCard(const PortView& port) {
  const v1::FunctionClass& function = port.device->function();
  return IsFabricPort(port) ||
         (IsHardware({.port = &port}) && (function.role() == v1::FUNCTION_ROLE_STORAGE ||
                                          function.role() == v1::FUNCTION_ROLE_MANAGEMENT));
}

// Not a fabric card today.
bool HasOtherRole(const v1::NodeSnapshot& snapshot, const fleet::MissingCard& card) {
  const auto& devices = snapshot.rdma_devices();
  return std::any_of(devices.begin(), devices.end(), [&](const v1::RdmaDevice& device) {
    return device.pci_address() == card.place;
  });
}

// A node without fabric ports may be a head node, unless a profile gives the number. Known missing
// cards are findings of fabric_card_present.
std::optional<Value> PortCount(const Member& member) {
  const auto& ports = member.node->ports;
  const bool by_profile = member.node->expected().has_fabric_ports();
  if (!by_profile && (ports.empty() || !ports[0].rail)) return {};
  const auto& missing = member.node->missing_cards;
  const auto gone = std::count_if(
      missing.begin(), missing.end(),
      [&](const fleet::MissingCard& card) { return !HasOtherRole(member.snapshot(), card); });
  return Value{static_cast<std::uint64_t>(
      gone + std::count_if(ports.begin(), ports.end(), by_profile ? IsFabricPort : IsPortOfCard))};
}

std::optional<Value> ExpectedPortCount(const v1::Expectations& expected) {
  if (!expected.has_fabric_ports()) return {};
  return Value{expected.fabric_ports()};
}

std::vector<v1::Remedy> FindCard(const Member&, const Value&) {
  return {Query({.command = "lspci -d ::0200; lspci -d ::0207; rdma link",
                 .note = "A card that lspci does not show is dead or not seated. A card without "
                         "an RDMA device has no driver; dmesg shows the reason."})};
}

// fabric_card_present

std::string NameOf(const fleet::MissingCard& card) {
  const std::string slot = card.slot.empty() ? std::string() : Format(" in slot {}", card.slot);
  return Format("{}{} (rail {})", card.place, slot, card.rail.value());
}

// A finding of rdma_card_has_driver or rdma_card_has_device: the bus shows the card.
bool IsReportedAsUnusable(const v1::PciFunction& function) {
  const std::string& driver = function.driver();
  return driver.empty() || driver == "mlx5_core" || driver == "mlx4_core" || driver == "hfi1";
}

void JudgeMissingCards(const NodeView& node, Verdicts& out) {
  const bool has_fabric_port = !node.ports.empty() && node.ports[0].rail;
  if (!has_fabric_port && node.missing_cards.empty()) return;
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.rdma_devices().empty() && !DevicesUnknown(snapshot).empty())
    return;  // rdma_device_present is UNKNOWN.
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const fleet::MissingCard& card : node.missing_cards) {
    const v1::PciFunction* const function = fleet::FindFunction(snapshot, card.place);
    if (HasOtherRole(snapshot, card) || (function != nullptr && IsReportedAsUnusable(*function)))
      continue;
    names.push_back(NameOf(card));
    if (evidence.size() < kListedMax)
      evidence.push_back(ToEvidence(
          *node.node,
          {.what = Format("card of rail {}", card.rail.value()),
           .expected = card.place,
           .seen = function == nullptr ? std::string("missing")
                                       : Format("no RDMA device, driver {}", function->driver()),
           .source = Format("sys/bus/pci/devices/{}", card.place),
           .basis = node.expected().rail_cards().empty()
                        ? "other nodes of the product, or this node before"
                        : ProfileBasis(*node.expectation)}));
  }
  if (names.empty()) return out.Pass();
  out.Fail(SubjectOf(node),
           Format("{} fabric card{} missing: {}", names.size(), names.size() == 1 ? "" : "s",
                  Listed(names)),
           std::move(evidence), FindCard({.node = &node}, {}));
}

constexpr EqualityRule kPortCount[] = {
    {.what = "number of RDMA ports",
     .of_nodes = true,
     .group = ByKnownProduct,
     .value = PortCount,
     .expected = ExpectedPortCount,
     .source = [](const Member&) { return std::string("sys/class/infiniband"); },
     .remedies = FindCard}};

// nic_equal_on_rail

std::optional<Value> Board(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail || port.port->number() != port.device->ports(0).number()) return {};
  if (port.device->board_id().empty()) return {};
  return Value{.text = port.device->board_id()};
}

std::string BoardFile(const Member& member) {
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

std::vector<v1::Remedy> ReplaceCard(const Member& member, const Value&) {
  const v1::RdmaDevice& device = *member.port->device;
  if (!device.driver().starts_with("mlx5"))
    return {Query({.command = Format("lspci -vv -s {}", device.pci_address()),
                   .note = "Shows part number and serial number. Replace the card by one of the "
                           "same kind."})};
  return {Query({.platform = "mlx5",
                 .command = Format("mlxfwmanager -d {} --query", device.pci_address()),
                 .note = "Shows part number and PSID. Another PSID needs another firmware: do not "
                         "burn one over the other, replace the card."})};
}

constexpr EqualityRule kBoard[] = {{.what = "board id",
                                    .group = ByRailOfKnownProduct,
                                    .value = Board,
                                    .show = ShowText,
                                    .source = BoardFile,
                                    .remedies = ReplaceCard,
                                    .more = AddModel}};

// rail_order_equal

// The number of fabric ports. A node with another number lacks a card or has one too many, which is
// a finding of fabric_port_count_equal.
std::optional<std::uint64_t> FabricPorts(const NodeView& node) {
  std::uint64_t ports = 0;
  for (const PortView& port : node.ports) {
    if (!port.rail) break;
    if (port.device->pci_address().empty()) return {};
    ++ports;
  }
  return ports > 0 ? std::optional(ports) : std::nullopt;
}

std::optional<Group> ByProductAndPorts(const Member& node) {
  std::optional<Group> group = ByKnownProduct(node);
  const std::optional<std::uint64_t> ports = FabricPorts(*node.node);
  if (!group || !ports) return {};
  group->part = *ports;
  return group;
}

std::optional<Value> AddressesInOrder(const Member& member) {
  Mix mix;
  for (const PortView& port : member.node->ports)
    if (port.rail) mix.Add(port.device->pci_address());
  return Value{mix.value()};
}

std::string FirstCardDifference(const Member& member, const Member& good) {
  const NodeView& node = *member.node;
  const NodeView& other = *good.node;
  for (std::size_t i = 0; i < node.ports.size() && i < other.ports.size(); ++i)
    if (node.ports[i].rail && node.ports[i].rail == other.ports[i].rail &&
        node.ports[i].device->pci_address() != other.ports[i].device->pci_address())
      return Format("rail {} at {}", node.ports[i].rail->value(),
                    node.ports[i].device->pci_address());
  return "the same";
}

std::vector<v1::Remedy> CompareSlots(const Member&, const Value&) {
  return {Query({.command = "lspci -tv",
                 .note = "Compare with a good node. The card is in another slot, or a firmware "
                         "setting changes the bus numbers."})};
}

constexpr EqualityRule kSlots[] = {
    {.what = "slots of the cards",
     .of_nodes = true,
     .group = ByProductAndPorts,
     .value = AddressesInOrder,
     .show_difference = FirstCardDifference,
     .source = [](const Member&) { return std::string("sys/class/infiniband"); },
     .remedies = CompareSlots}};

}  // namespace

extern const Rule fabric_port_count_equal = {
    .id = "fabric_port_count_equal",
    .title = "Nodes of one product have the same number of fabric ports, or that of the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A card that fell off the bus, or whose driver did not load, leaves no port that could be "
        "down: the port is missing. Jobs run slower on that node, or hang when NCCL finds "
        "different sets of cards on two nodes.",
    .source = "operating practice: health checks of GPU clouds count their cards",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .profile = {v1::Expectations::kFabricPortsFieldNumber},
    .reads = {{.field = Field::kProduct}},
    .fix = "lspci and dmesg on the node; reseat or replace the card",
    .equality_rules = kPortCount,
};

extern const Rule fabric_card_present = {
    .id = "fabric_card_present",
    .title = "Every fabric card that equal nodes have, or that the profile lists, is present",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A card that fell off the bus leaves no port that could be down. Jobs run slower on that "
        "node, or hang when NCCL finds different sets of cards on two nodes. The place of the "
        "card is known from most nodes of the product, from this node before, or from the profile.",
    .source = "operating practice: health checks of GPU clouds count their cards",
    .needs = {Input::kRdmaDevices, Input::kPciFunctions, Input::kHostFacts},
    .profile = {v1::Expectations::kRailCardsFieldNumber},
    .fix = "lspci and dmesg on the node; reseat or replace the card",
    .evaluate_node = JudgeMissingCards,
};

extern const Rule nic_equal_on_rail = {
    .id = "nic_equal_on_rail",
    .title = "Nodes of one product have the same card (board id, PSID) on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The board id identifies card and maker. Another card has other firmware, other defaults, "
        "and possibly another speed. Usual cause: a repair with a card of another kind.",
    .source = "kernel ABI document sysfs-class-infiniband (board_id)",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .reads = {{.field = Field::kCardKind, .applies = IsHardware}},
    .fix = "Replace the card, or keep its firmware and settings separate",
    .equality_rules = kBoard,
};

extern const Rule rail_order_equal = {
    .id = "rail_order_equal",
    .title = "Nodes of one product have their fabric cards at the same PCI addresses",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "A card in another slot changes which card is nearest to a GPU, and traffic that should "
        "stay within a rail crosses the spine.",
    .source = "NCCL's search of rings and trees by PCI distance; rail-optimised designs",
    .needs = {Input::kRdmaDevices, Input::kHostFacts},
    .reads = {{.field = Field::kSlot, .applies = IsHardware}, {.field = Field::kProduct}},
    .fix = "lspci -tv, compared with a good node; then the slot",
    .equality_rules = kSlots,
};

}  // namespace fabric::rules
