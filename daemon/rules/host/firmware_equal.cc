#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Functions and ports of one card have one firmware: the first of them stands for all.
bool IsFirstOfCard(const fleet::PortView& port) {
  return port.port->number() == port.device->ports(0).number() &&
         port.device->pci_address().ends_with(".0");
}

std::optional<Value> Firmware(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.device->firmware().empty() || !IsFirstOfCard(port)) return {};
  return Value{.text = port.device->firmware()};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_firmware()) return {};
  return Value{.text = expected.firmware()};
}

// Cards of other boards have other firmware, even of one model; and each product comes with its own
// set of firmware for all that is in it.
std::optional<Group> ByBoard(const Member& member) {
  const v1::RdmaDevice& device = *member.port->device;
  const std::uint64_t machines = ProductOf(*member.node);
  if (device.has_board_id()) return Group{.rail = {}, .like = device.board_id(), .part = machines};
  if (device.has_model()) return Group{.rail = {}, .like = device.model(), .part = machines};
  return {};
}

std::string Source(const Member& member) {
  return Format("sys/class/infiniband/{}/fw_ver", member.port->device->name());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  const v1::RdmaDevice& device = *member.port->device;
  const std::string_view driver = DriverOf(*member.port);
  if (driver.starts_with("mlx5"))
    return {ToRemedy({.platform = "mlx5",
                      .command = Format("mlxfwmanager -d {} -i FIRMWARE.bin -u && "
                                        "mlxfwreset -d {} reset",
                                        device.pci_address(), device.pci_address()),
                      .interrupts_traffic = true,
                      .note = "With the image for the card's board id."})};
  return {
      ToRemedy({.command = Format("devlink dev flash pci/{} file FIRMWARE", device.pci_address()),
                .interrupts_traffic = true,
                .note = "It takes effect with the next reset or reboot."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "firmware",
                                            .group = ByBoard,
                                            .value = Firmware,
                                            .expected = Expected,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule firmware_equal = {
    .id = "firmware_equal",
    .title =
        "Cards of one board in machines of one product have the same firmware, or what the profile "
        "says",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Firmware decides on congestion control, retransmission and adaptive routing: cards with "
        "another one behave differently under load, and a fault that shows on a few nodes only is "
        "looked for in vain elsewhere.",
    .source =
        "kernel ABI document sysfs-class-infiniband (fw_ver, board_id); vendors' release notes",
    .needs = {Input::kRdmaDevices},
    .profile = {v1::Expectations::kFirmwareFieldNumber},
    .fix = "mlxfwmanager -u, devlink dev flash, or the vendor's tool",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
