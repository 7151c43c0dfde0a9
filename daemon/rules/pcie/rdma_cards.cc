#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// The agent reads the network adapters that have RDMA, with or without a driver. Virtual functions
// are used, or not, by guests and containers.
std::vector<const v1::PciFunction*> RdmaCards(const v1::NodeSnapshot& snapshot) {
  std::vector<const v1::PciFunction*> cards;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (IsNetworkAdapter(function) && !function.has_physical_function() &&
        !function.address().empty())
      cards.push_back(&function);
  return cards;
}

std::string CardName(const v1::PciFunction& card) {
  const std::string ids =
      card.has_device_id() ? Format(" ({}:{})", card.vendor_id(), card.device_id()) : std::string();
  const std::string slot = card.has_slot() ? Format(" in slot {}", card.slot()) : std::string();
  return card.address() + ids + slot;
}

bool IsSameCardType(const v1::PciFunction& a, const v1::PciFunction& b) {
  return a.vendor_id() == b.vendor_id() && a.device_id() == b.device_id() &&
         a.subsystem_vendor_id() == b.subsystem_vendor_id() &&
         a.subsystem_device_id() == b.subsystem_device_id();
}

// A captured tree may lack the driver's link and the file that names the driver.
bool IsDriverUnread(const v1::NodeSnapshot& snapshot, const v1::PciFunction& card) {
  const std::string path = PciFile(card.address(), "driver");
  return std::any_of(snapshot.gaps().begin(), snapshot.gaps().end(), [&](const v1::Gap& gap) {
    return gap.inspector() == "pci_functions" &&
           (gap.path() == path || (gap.subject().empty() && gap.path().ends_with("/driver")));
  });
}

struct CardFault {
  const v1::PciFunction* card;
  std::string expected;  // "mlx5_core", "a driver"
};

std::string CardNames(const std::vector<CardFault>& faults) {
  std::vector<std::string> names;
  for (const CardFault& fault : faults) names.push_back(CardName(*fault.card));
  return Listed(names);
}

std::vector<v1::Evidence> CardEvidence(const fleet::NodeView& node,
                                       const std::vector<CardFault>& faults, std::string_view what,
                                       std::string_view file, std::string_view basis) {
  std::vector<v1::Evidence> evidence;
  for (const CardFault& fault : faults)
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(
          ToEvidence(*node.node, {.what = Format("{} of {}", what, CardName(*fault.card)),
                                  .expected = fault.expected,
                                  .seen = "none",
                                  .source = PciFile(fault.card->address(), file),
                                  .basis = std::string(basis)}));
  return evidence;
}

v1::Remedy ShowLogOf(const v1::PciFunction& card, std::string_view note) {
  return Query({.command = Format("lspci -nnk -s {0}; dmesg -T | grep {0}", card.address()),
                .note = std::string(note)});
}

// rdma_card_has_driver

void JudgeCardDrivers(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const std::vector<const v1::PciFunction*> cards = RdmaCards(snapshot);
  std::vector<CardFault> faults;
  for (const v1::PciFunction* card : cards) {
    if (card->has_driver()) {
      out.Pass();
    } else if (IsDriverUnread(snapshot, *card)) {
      Unreadable({.node = &node}, Format("driver of card {}", card->address()),
                 PciFile(card->address(), "driver"), out, card->address());
    } else {
      const auto equal = std::find_if(cards.begin(), cards.end(), [&](const auto* other) {
        return other->has_driver() && IsSameCardType(*card, *other);
      });
      faults.push_back(
          {.card = card, .expected = equal == cards.end() ? "a driver" : (*equal)->driver()});
    }
  }
  if (faults.empty()) return;
  out.Fail(
      SubjectOf(node),
      Format("{} RDMA card{} without a driver, expected {}: {}", faults.size(),
             faults.size() == 1 ? "" : "s", faults[0].expected, CardNames(faults)),
      CardEvidence(node, faults, "driver", "driver", "RDMA needs a driver"),
      {ShowLogOf(*faults[0].card,
                 "Shows why the driver did not load, or gave the card up. A card whose "
                 "firmware does not start needs a cold boot or a replacement."),
       Change({.command = Format("echo {} > /sys/bus/pci/drivers_probe", faults[0].card->address()),
               .affects = v1::REMEDY_REACH_NIC,
               .interrupts = kInterruptsNothing,
               .lasts = Permanently(),
               .undo = Format("echo {0} > /sys/bus/pci/devices/{0}/driver/unbind",
                              faults[0].card->address()),
               .note = "Binds the card again, if it was unbound by hand."})});
}

// rdma_card_has_device

bool IsBondMember(const v1::NodeSnapshot& snapshot, const v1::PciFunction& card) {
  return std::ranges::any_of(snapshot.net_interfaces(), [&](const v1::NetInterface& netdev) {
    return netdev.pci_address() == card.address() &&
           (netdev.has_bond_member() || netdev.has_master());
  });
}

// mlx5 has one RDMA device for a bond: that of a member's function, or of the bond.
bool SharesDevice(const v1::NodeSnapshot& snapshot, const std::set<std::string_view>& with_device,
                  const v1::PciFunction& card) {
  std::set<std::string_view> masters;
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (netdev.pci_address() == card.address() && netdev.has_master())
      masters.insert(netdev.master());
  const auto has_device = [&](const v1::NetInterface& netdev) {
    return masters.contains(netdev.master()) && with_device.contains(netdev.pci_address());
  };
  const auto is_on_master = [&](const v1::RdmaDevice& device) {
    return device.function().kind() != v1::FUNCTION_KIND_SOFTWARE &&
           std::ranges::any_of(device.ports(), [&](const v1::Port& port) {
             return masters.contains(port.netdev());
           });
  };
  return std::ranges::any_of(snapshot.net_interfaces(), has_device) ||
         std::ranges::any_of(snapshot.rdma_devices(), is_on_master);
}

// The device of another function of the card has the port of this one.
bool IsPortOfOtherFunction(const v1::NodeSnapshot& snapshot, const v1::PciFunction& card) {
  return std::any_of(
      snapshot.rdma_devices().begin(), snapshot.rdma_devices().end(),
      [&](const v1::RdmaDevice& device) {
        return CardOf(device.pci_address()) == CardOf(card.address()) &&
               (device.ports_size() > 1 || device.function().kind() == v1::FUNCTION_KIND_BOND);
      });
}

bool IsForUserSpace(std::string_view driver) {
  return driver.starts_with("vfio") || driver.find("uio") != std::string_view::npos;
}

bool HasFunctionWithoutDriver(const std::vector<const v1::PciFunction*>& cards,
                              const v1::PciFunction& card) {
  return std::ranges::any_of(cards, [&](const v1::PciFunction* other) {
    return !other->has_driver() && CardOf(other->address()) == CardOf(card.address());
  });
}

// Without an RDMA device by design, or because of what another rule reports.
bool MayLackDevice(const v1::NodeSnapshot& snapshot,
                   const std::vector<const v1::PciFunction*>& cards,
                   const std::set<std::string_view>& with_device, const v1::PciFunction& card) {
  if (IsForUserSpace(card.driver()) || HasFunctionWithoutDriver(cards, card)) return true;
  if (IsBondMember(snapshot, card) && card.driver() != "mlx5_core") return true;
  return SharesDevice(snapshot, with_device, card) || IsPortOfOtherFunction(snapshot, card);
}

// Drivers that give every card an RDMA device. With others it is a setting, and a card for
// management may have none; it is expected if an equal card has one.
bool NeedsDevice(const std::vector<const v1::PciFunction*>& cards,
                 const std::set<std::string_view>& with_device, const v1::PciFunction& card) {
  if (card.driver() == "mlx5_core" || card.driver() == "mlx4_core" || card.driver() == "hfi1")
    return true;
  return std::any_of(cards.begin(), cards.end(), [&](const v1::PciFunction* other) {
    return with_device.contains(other->address()) && IsSameCardType(card, *other);
  });
}

// Devices may be in other network namespaces, or not in the captured tree.
bool AreDevicesKnown(const v1::NodeSnapshot& snapshot) {
  if (snapshot.host().rdma_netns_mode() == v1::RDMA_NETNS_MODE_EXCLUSIVE) return false;
  if (snapshot.captured() && snapshot.rdma_devices().empty()) return false;
  return std::none_of(snapshot.gaps().begin(), snapshot.gaps().end(), [](const v1::Gap& gap) {
    return gap.inspector() == "rdma_devices" && gap.subject().empty() &&
           gap.path().starts_with("sys/class/infiniband");
  });
}

void FailCardDevices(const fleet::NodeView& node, const std::vector<CardFault>& faults,
                     Verdicts& out) {
  const std::string_view driver = faults[0].card->driver();
  std::vector<v1::Remedy> remedies = {
      ShowLogOf(*faults[0].card, "Shows why the driver did not register the device.")};
  if (driver == "mlx5_core") remedies.push_back(LoadModule("mlx5_ib"));
  if (driver == "bnxt_en") remedies.push_back(LoadModule("bnxt_re"));
  if (driver == "ice") remedies.push_back(LoadModule("irdma"));
  out.Fail(
      SubjectOf(node),
      Format("{} RDMA card{} without an RDMA device, expected one each: {}", faults.size(),
             faults.size() == 1 ? "" : "s", CardNames(faults)),
      CardEvidence(node, faults, "RDMA device", "infiniband", Format("driver {} is bound", driver)),
      std::move(remedies));
}

void JudgeCardDevices(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const std::vector<const v1::PciFunction*> cards = RdmaCards(snapshot);
  std::set<std::string_view> with_device;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.function().kind() != v1::FUNCTION_KIND_SOFTWARE)
      with_device.insert(device.pci_address());
  std::vector<CardFault> faults;
  for (const v1::PciFunction* card : cards) {
    if (with_device.contains(card->address())) {
      out.Pass();
      continue;
    }
    if (MayLackDevice(snapshot, cards, with_device, *card) ||
        !NeedsDevice(cards, with_device, *card))
      continue;
    faults.push_back({.card = card, .expected = "one"});
  }
  if (faults.empty()) return;
  if (AreDevicesKnown(snapshot)) return FailCardDevices(node, faults, out);
  Unreadable({.node = &node}, "RDMA devices of " + CardNames(faults), "sys/class/infiniband", out);
}

}  // namespace

extern const Rule rdma_card_has_driver = {
    .id = "rdma_card_has_driver",
    .title = "Every RDMA card has a driver",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A card without a driver has no port that could be down, and other tools do not show it. "
        "Usual causes: the driver gave up because the firmware did not start, or the card was "
        "unbound and not bound again.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci",
    .needs = {Input::kPciFunctions},
    .fix = "dmesg shows why the driver did not bind; cold-boot the node or replace the card",
    .evaluate_node = JudgeCardDrivers,
};

extern const Rule rdma_card_has_device = {
    .id = "rdma_card_has_device",
    .title = "Every RDMA card with a driver has an RDMA device, as its equals have",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "The Ethernet side of a card can work without its RDMA side. NCCL then skips the card "
        "without a message. Cards of Mellanox and NVIDIA always have an RDMA device; other cards "
        "are compared with equal cards of the node. Ports of bonds and cards with a driver for "
        "user space are not judged.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/dev.c (auxiliary devices)",
    .needs = {Input::kPciFunctions, Input::kRdmaDevices, Input::kNetInterfaces},
    .fix = "load the RDMA driver; dmesg shows why it did not register the device",
    .evaluate_node = JudgeCardDevices,
};

}  // namespace fabric::rules
