#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// driver_version_equal

std::string_view VersionOf(const fleet::PortView& port) {
  if (!port.device->driver_version().empty()) return port.device->driver_version();
  return port.netdev != nullptr ? std::string_view(port.netdev->driver_version())
                                : std::string_view();
}

// The first port of a driver represents its node.
bool IsFirstWithDriver(const Member& member) {
  const std::string& driver = member.port->device->driver();
  for (const fleet::PortView& port : member.node->ports) {
    if (&port == member.port) return true;
    if (port.device->driver() == driver) return false;
  }
  return true;
}

// Drivers of the kernel report the kernel release, which is not a version of their own.
std::optional<Value> DriverVersion(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.device->driver().empty() || !IsFirstWithDriver(member)) return {};
  const std::string_view version = VersionOf(port);
  if (version.empty() || version == member.snapshot().node().kernel_release()) return {};
  return Value{.text = version};
}

std::optional<Value> ExpectedDriver(const v1::Expectations& expected) {
  if (!expected.has_driver_version()) return {};
  return Value{.text = expected.driver_version()};
}

std::optional<Group> ByDriver(const Member& member) {
  return Group{.rail = {}, .like = member.port->device->driver(), .part = ProductOf(*member.node)};
}

std::string DriverVersionFile(const Member& member) {
  return Format("sys/module/{}/version", member.port->device->driver());
}

std::vector<v1::Remedy> InstallDriverVersion(const Member& member, const Value&) {
  return {Query({.command = Format("modinfo -F version {}", member.port->device->driver()),
                 .note = "Shows the installed version; another one may still be loaded. Install "
                         "the same packages on all nodes, then reboot the node."})};
}

constexpr EqualityRule kDriverVersion[] = {{.what = "driver version",
                                            .group = ByDriver,
                                            .value = DriverVersion,
                                            .expected = ExpectedDriver,
                                            .show = ShowText,
                                            .source = DriverVersionFile,
                                            .remedies = InstallDriverVersion}};

// firmware_equal

// Functions and ports of one card have the same firmware. The first one represents the card.
bool IsFirstOfCard(const fleet::PortView& port) {
  return port.port->number() == port.device->ports(0).number() &&
         port.device->pci_address().ends_with(".0");
}

std::optional<Value> Firmware(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.device->firmware().empty() || !IsFirstOfCard(port)) return {};
  return Value{.text = port.device->firmware()};
}

std::optional<Value> ExpectedFirmware(const v1::Expectations& expected) {
  if (!expected.has_firmware()) return {};
  return Value{.text = expected.firmware()};
}

// Boards have different firmware, even within one model. Each product has its own set of firmware
// versions.
std::optional<Group> ByBoard(const Member& member) {
  const std::string_view board = member.port->board;
  if (board.empty()) return {};
  return Group{.rail = {}, .like = board, .part = ProductOf(*member.node)};
}

std::string FirmwareFile(const Member& member) {
  return Format("sys/class/infiniband/{}/fw_ver", member.port->device->name());
}

// The image is the operator's to find: one of another board makes the card unusable.
std::vector<v1::Remedy> UpdateFirmware(const Member& member, const Value& expected) {
  const v1::RdmaDevice& device = *member.port->device;
  const bool mlx5 = DriverOf(*member.port).starts_with("mlx5");
  const std::string& address = device.pci_address();
  return {
      Query({.platform = mlx5 ? "mlx5" : "any",
             .command = mlx5 ? Format("mlxfwmanager -d {} --query", address)
                             : Format("devlink dev info pci/{}", address),
             .note = Format("Drain the node and install firmware {}, with the image for "
                            "{}: {}. It takes effect after a reset of the card, which "
                            "interrupts all its ports, or after a reboot. To go back, install "
                            "{}.",
                            expected.text,
                            device.has_board_id() ? "board id " + device.board_id() : "this model",
                            mlx5 ? "mlxfwmanager -d " + address + " -i IMAGE -u"
                                 : "devlink dev flash pci/" + address + " file IMAGE",
                            device.firmware())})};
}

constexpr EqualityRule kFirmware[] = {{.what = "firmware",
                                       .group = ByBoard,
                                       .value = Firmware,
                                       .expected = ExpectedFirmware,
                                       .show = ShowText,
                                       .source = FirmwareFile,
                                       .remedies = UpdateFirmware}};

}  // namespace

extern const Rule driver_version_equal = {
    .id = "driver_version_equal",
    .title = "Nodes of one product have the same version of an out-of-tree RDMA driver",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Defaults, counters and settings differ between versions: the same script configures a "
        "node with another version differently. Drivers of the kernel have the version of the "
        "kernel and are not judged.",
    .source = "kernel ABI document sysfs-module (version); man page ethtool(8), -i",
    .needs = {Input::kRdmaDevices, Input::kNetInterfaces},
    .profile = {v1::Expectations::kDriverVersionFieldNumber},
    .reads = {{.field = Field::kDriverVersion,
               .applies = IsHardware,
               .profile = v1::Expectations::kDriverVersionFieldNumber},
              {.field = Field::kDriverVersion, .applies = IsHardware}},
    .fix = "The same packages on all nodes, and a reboot",
    .equality_rules = kDriverVersion,
};

extern const Rule firmware_equal = {
    .id = "firmware_equal",
    .title =
        "Cards of one board (PSID) have the firmware version of the profile, or the same version "
        "on nodes of one product",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Firmware controls congestion control, retransmission and adaptive routing. Cards with "
        "another version behave differently under load, which causes faults on a few nodes only.",
    .source =
        "kernel ABI document sysfs-class-infiniband (fw_ver, board_id); vendors' release notes",
    .needs = {Input::kRdmaDevices},
    .profile = {v1::Expectations::kFirmwareFieldNumber},
    .reads = {{.field = Field::kFirmware,
               .applies = IsHardware,
               .profile = v1::Expectations::kFirmwareFieldNumber},
              {.field = Field::kFirmware, .applies = IsHardware},
              {.field = Field::kCardKind, .applies = IsHardware}},
    .fix = "mlxfwmanager -u, devlink dev flash, or the vendor's tool",
    .equality_rules = kFirmware,
};

}  // namespace fabric::rules
