#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/product.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

// autonegotiation_equal_on_rail and fec_equal_on_rail

// The netdev of an Ethernet link whose modes are compared. A link far below its maximum has other
// modes because of that.
const v1::NetInterface* ComparedNetdev(const Member& member) {
  const fleet::PortView& port = *member.port;
  const bool compared = !IsInfiniband(port) && LinkRate(port) && !IsFarBelowMaximum(port);
  return compared ? port.netdev : nullptr;
}

std::string EthtoolSource(const Member& member) {
  return Format("netlink ethtool {}", member.port->port->netdev());
}

std::optional<Value> Autonegotiation(const Member& member) {
  const v1::NetInterface* const netdev = ComparedNetdev(member);
  if (netdev == nullptr || !netdev->has_autonegotiation()) return {};
  return Value{netdev->autonegotiation() ? 1U : 0U};
}

std::vector<v1::Remedy> SetEqualAutonegotiation(const Member& member, const Value& expected) {
  return {SetAutonegotiation(member.port->port->netdev(), expected.number != 0,
                             "Set the same on the switch port.")};
}

constexpr EqualityRule kAutonegotiation[] = {{.what = "autonegotiation",
                                              .group = ByRailAndModel,
                                              .value = Autonegotiation,
                                              .show = ShowOnOff,
                                              .source = EthtoolSource,
                                              .remedies = SetEqualAutonegotiation}};

std::optional<Value> Fec(const Member& member) {
  const v1::NetInterface* const netdev = ComparedNetdev(member);
  if (netdev == nullptr || netdev->fec().empty()) return {};
  return Value{.text = netdev->fec()};
}

std::vector<v1::Remedy> SetFec(const Member& member, const Value& expected) {
  const std::string& netdev = member.port->port->netdev();
  return {Change({.command = Format("ethtool --set-fec {} encoding {}", netdev, expected.text),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsPort,
                  .lasts = UntilReboot(kInNetworkConfiguration),
                  .undo = Format("ethtool --set-fec {} encoding auto", netdev),
                  .note = "Set the same on the switch port. The driver may have chosen another "
                          "mode because of another kind of cable."})};
}

constexpr EqualityRule kFec[] = {
    {.what = "FEC",
     .group = ByRailAndModel,
     .value = Fec,
     .expected = [](const v1::Expectations& expected) -> std::optional<Value> {
       if (!expected.has_fec()) return {};
       return Value{.text = expected.fec()};
     },
     .show = ShowText,
     .source = EthtoolSource,
     .remedies = SetFec}};

bool CanHaveFec(const Member& port) {
  return IsHardware(port) && IsEthernetInUse(port);
}

// link_layer_equal_on_rail

std::optional<Value> LinkLayer(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.port->link_layer() == v1::LINK_LAYER_UNSPECIFIED) return {};
  return Value{static_cast<std::uint64_t>(port.port->link_layer())};
}

// Not a network of a vendor, such as EFA.
bool HasUsualProtocol(const Member& member) {
  const v1::Protocol protocol = member.port->device->protocol();
  return protocol == v1::PROTOCOL_INFINIBAND || protocol == v1::PROTOCOL_ROCE ||
         protocol == v1::PROTOCOL_IWARP;
}

std::optional<Value> ExpectedLinkLayer(const v1::Expectations& expected) {
  switch (expected.protocol()) {
    case v1::PROTOCOL_INFINIBAND: return Value{v1::LINK_LAYER_INFINIBAND};
    case v1::PROTOCOL_ROCE:
    case v1::PROTOCOL_IWARP: return Value{v1::LINK_LAYER_ETHERNET};
    default: return {};
  }
}

std::string ShowLinkLayer(const Value& value) {
  return std::string(Name(static_cast<v1::LinkLayer>(value.number)));
}

std::vector<v1::Remedy> SetLinkType(const Member& member, const Value& expected) {
  constexpr std::string_view kOther =
      "To exclude a card of another network, set NCCL_IB_HCA for jobs and `unused` in the profile.";
  const fleet::PortView& port = *member.port;
  if (!port.device->driver().starts_with("mlx5"))
    return {
        Advice(Format("This card has one link layer: replace it by one of the same kind as on "
                      "the other nodes. {}",
                      kOther))};
  const std::string set = Format(
      "mlxconfig -y -d {} set LINK_TYPE_P{}=", port.device->pci_address(), port.port->number());
  return {
      Change({.platform = "mlx5",
              .command = Format("{}{}", set, expected.number),
              .affects = v1::REMEDY_REACH_NIC,
              .interrupts = kInterruptsReboot,
              .lasts = Permanently(),
              .undo = Format("{}{}, then reboot", set, LinkLayer(member).value_or(Value()).number),
              .note = Format("1 is InfiniBand, 2 is Ethernet. Takes effect after a reboot. The "
                             "cable must lead to a switch of that kind. {}",
                             kOther)})};
}

constexpr EqualityRule kLinkLayer[] = {
    {.what = "link layer",
     .group = ByRailOfKnownProduct,
     .value = LinkLayer,
     .expected = ExpectedLinkLayer,
     .show = ShowLinkLayer,
     .source = [](const Member& member) { return PortFile(*member.port, "link_layer"); },
     .remedies = SetLinkType}};

// protocol_equal_on_rail

// Of Ethernet ports. If they should be InfiniBand, link_layer_equal_on_rail reports it.
std::optional<Value> Protocol(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) return {};
  if (port.expected().protocol() == v1::PROTOCOL_INFINIBAND) return {};
  const v1::Protocol protocol = port.device->protocol();
  if (protocol != v1::PROTOCOL_ROCE && protocol != v1::PROTOCOL_IWARP) return {};
  return Value{static_cast<std::uint64_t>(protocol)};
}

std::optional<Value> ExpectedProtocol(const v1::Expectations& expected) {
  if (!expected.has_protocol()) return {};
  return Value{static_cast<std::uint64_t>(expected.protocol())};
}

std::string ShowProtocol(const Value& value) {
  return std::string(Name(static_cast<v1::Protocol>(value.number)));
}

std::string NodeTypeFile(const Member& member) {
  return Format("sys/class/infiniband/{}/node_type", member.port->device->name());
}

std::vector<v1::Remedy> SetProtocol(const Member& member, const Value& expected) {
  const v1::RdmaDevice& device = *member.port->device;
  const bool roce = expected.number == v1::PROTOCOL_ROCE;
  if (!DriverOf(*member.port).starts_with("ice"))
    return {
        Advice(Format("Set the protocol of {} ({}) in its driver or firmware to {}, or replace "
                      "the card by one of the same kind as on the other nodes.",
                      device.name(), device.driver(), ShowProtocol(expected)))};
  const auto command = [&](bool to_roce) {
    return Format(
        "devlink dev param set pci/{0} name {1} value false cmode runtime && devlink dev "
        "param set pci/{0} name {2} value true cmode runtime",
        device.pci_address(), to_roce ? "enable_iwarp" : "enable_roce",
        to_roce ? "enable_roce" : "enable_iwarp");
  };
  return {Change({.platform = "ice",
                  .command = command(roce),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = "all RDMA of the port: its RDMA device disappears and comes back",
                  .lasts = UntilReboot(kInBootUnit),
                  .undo = command(!roce),
                  .note = "With Intel's own irdma driver, the module parameter roce_ena does the "
                          "same for all ports."})};
}

constexpr EqualityRule kProtocol[] = {{.what = "RDMA protocol",
                                       .group = ByRailAndModel,
                                       .value = Protocol,
                                       .expected = ExpectedProtocol,
                                       .show = ShowProtocol,
                                       .source = NodeTypeFile,
                                       .remedies = SetProtocol}};

}  // namespace

extern const Rule autonegotiation_equal_on_rail = {
    .id = "autonegotiation_equal_on_rail",
    .title = "Ports of one model on a rail have the same autonegotiation setting",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port with a fixed speed works until the cable or the switch port changes. Then it "
        "comes up at a lower speed, or not at all. Different kinds of cables can be a valid "
        "reason to differ.",
    .source = "IEEE 802.3 clause 73; man page ethtool(8)",
    .needs = {Input::kNetInterfaces},
    .reads = {{.field = Field::kLinkModes, .applies = IsHardwareLink}},
    .fix = "ethtool -s NETDEV autoneg on",
    .equality_rules = kAutonegotiation,
};

extern const Rule fec_equal_on_rail = {
    .id = "fec_equal_on_rail",
    .title = "The forward error correction is the profile's, else the same on a rail and card",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port without the error correction of its peers loses frames on a cable that works for "
        "them. A mode that is set on one end only keeps the link down after the next flap.",
    .source = "IEEE 802.3 clauses 74 and 91; man page ethtool(8)",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kFecFieldNumber},
    .reads = {{.field = Field::kFec,
               .applies = CanHaveFec,
               .profile = v1::Expectations::kFecFieldNumber},
              {.field = Field::kFec, .applies = CanHaveFec},
              {.field = Field::kLinkModes, .applies = IsHardwareLink}},
    .fix = "ethtool --set-fec NETDEV encoding MODE",
    .equality_rules = kFec,
};

extern const Rule link_layer_equal_on_rail = {
    .id = "link_layer_equal_on_rail",
    .title = "A rail is InfiniBand or Ethernet, the same on nodes of one product",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A card that supports both and came up with the wrong link layer reaches no peer. "
        "Libraries that use all cards that they find, such as NCCL, fail with 'Invalid argument' "
        "when InfiniBand and Ethernet are mixed.",
    .source = "NVIDIA firmware tools, LINK_TYPE_P1; kernel ABI document sysfs-class-infiniband",
    .needs = {Input::kRdmaPorts, Input::kHostFacts},
    .profile = {v1::Expectations::kProtocolFieldNumber},
    .reads = {{.field = Field::kLinkLayer, .applies = HasUsualProtocol}},
    .fix = "mlxconfig -d DEVICE set LINK_TYPE_P1=1 (InfiniBand) or 2 (Ethernet)",
    .equality_rules = kLinkLayer,
};

extern const Rule protocol_equal_on_rail = {
    .id = "protocol_equal_on_rail",
    .title = "Ports of one model on a rail use the same protocol: RoCE or iWARP",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "iWARP runs over TCP and RoCE over UDP. The two cannot communicate, although both show as "
        "Ethernet. Cards that support both start with one of them, depending on driver and "
        "version. NCCL and UCX need RoCE.",
    .source = "kernel Documentation/networking/devlink/ice.rst (enable_roce, enable_iwarp)",
    .needs = {Input::kRdmaDevices},
    .profile = {v1::Expectations::kProtocolFieldNumber},
    .reads = {{.field = Field::kProtocol, .applies = IsEthernetInUse}},
    .fix = "devlink dev param set pci/ADDRESS name enable_roce value true cmode runtime",
    .equality_rules = kProtocol,
};

}  // namespace fabric::rules
