#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::string_view VersionOf(const fleet::PortView& port) {
  if (!port.device->driver_version().empty()) return port.device->driver_version();
  return port.netdev != nullptr ? std::string_view(port.netdev->driver_version())
                                : std::string_view();
}

// The first port with its driver stands for its node.
bool IsFirstWithDriver(const Member& member) {
  const std::string& driver = member.port->device->driver();
  for (const fleet::PortView& port : member.node->ports) {
    if (&port == member.port) return true;
    if (port.device->driver() == driver) return false;
  }
  return true;
}

// Drivers of the kernel itself report the kernel's release: that is no version of theirs.
std::optional<Value> Version(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || port.device->driver().empty() || !IsFirstWithDriver(member)) return {};
  const std::string_view version = VersionOf(port);
  if (version.empty() || version == member.snapshot().node().kernel_release()) return {};
  return Value{.text = version};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_driver_version()) return {};
  return Value{.text = expected.driver_version()};
}

std::optional<Group> ByDriver(const Member& member) {
  return Group{.rail = {}, .like = member.port->device->driver(), .part = ProductOf(*member.node)};
}

std::string Source(const Member& member) {
  return Format("sys/module/{}/version", member.port->device->driver());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  return {ToRemedy({.command = Format("modinfo -F version {}", member.port->device->driver()),
                    .note = "Tells what is installed; another version may still be loaded. "
                            "Install the same packages everywhere, then reboot the node."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "driver version",
                                            .group = ByDriver,
                                            .value = Version,
                                            .expected = Expected,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule driver_version_equal = {
    .id = "driver_version_equal",
    .title = "Nodes of one product have the same version of an out-of-tree RDMA driver",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Defaults, counters and settings differ between versions: nodes with another one are "
        "configured otherwise by the same script. Drivers of the kernel itself have the kernel's "
        "version and are not judged here.",
    .source = "kernel ABI document sysfs-module (version); man page ethtool(8), -i",
    .needs = {Input::kRdmaDevices, Input::kNetInterfaces},
    .profile = {v1::Expectations::kDriverVersionFieldNumber},
    .fix = "The same packages on all nodes, and a reboot",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
