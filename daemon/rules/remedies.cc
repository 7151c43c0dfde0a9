#include "daemon/rules/remedies.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace fabric::rules {
namespace {

std::string Joined(std::string_view note, std::string_view more) {
  if (note.empty() || more.empty()) return Format("{}{}", note, more);
  return Format("{} {}", note, more);
}

bool IsDistribution(const v1::NodeSnapshot& node, std::initializer_list<std::string_view> ids) {
  return std::find(ids.begin(), ids.end(), node.host().distribution_id()) != ids.end();
}

// Part of the release or of the line of /proc/version, which names compiler and build host.
bool KernelNames(const v1::NodeSnapshot& node, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return node.node().kernel_release().find(word) != std::string::npos ||
           node.host().kernel_version().find(word) != std::string::npos;
  });
}

struct BootEdit {
  std::string command;
  std::string undo;
};

// In /etc/default/grub, between the quotes of GRUB_CMDLINE_LINUX.
std::string GrubAdd(std::string_view parameters, std::string_view update) {
  return Format(R"(sed -i 's/^GRUB_CMDLINE_LINUX="/&{} /' /etc/default/grub && {})", parameters,
                update);
}
std::string GrubRemove(std::string_view parameters, std::string_view update) {
  return Format(R"(sed -i '/^GRUB_CMDLINE_LINUX/s/\b{} \?//' /etc/default/grub && {})", parameters,
                update);
}

// Nothing to type where the boot loader is not known.
BootEdit EditOf(const v1::NodeSnapshot& node, std::string_view parameters, bool add) {
  std::string plus;
  std::string minus;
  if (IsRedHat(node)) {
    plus = Format("grubby --update-kernel=ALL --args='{}'", parameters);
    minus = Format("grubby --update-kernel=ALL --remove-args='{}'", parameters);
  } else if (IsDebian(node) || IsSuse(node)) {
    const std::string_view update =
        IsDebian(node) ? "update-grub" : "grub2-mkconfig -o /boot/grub2/grub.cfg";
    plus = GrubAdd(parameters, update);
    minus = GrubRemove(parameters, update);
  }
  return add ? BootEdit{.command = plus, .undo = minus} : BootEdit{.command = minus, .undo = plus};
}

v1::Remedy KernelParameters(const v1::NodeSnapshot& node, std::string_view parameters, bool add,
                            std::string_view more) {
  BootEdit edit = EditOf(node, parameters, add);
  if (edit.command.empty())
    return Advice(Joined(Format("{} '{}' {} the kernel command line in the configuration of the "
                                "boot loader, and reboot the node.",
                                add ? "Add" : "Remove", parameters, add ? "to" : "from"),
                         more));
  return Change({.command = std::move(edit.command),
                 .affects = v1::REMEDY_REACH_NODE,
                 .interrupts = kInterruptsReboot,
                 .lasts = Permanently(),
                 .undo = Format("{}, then reboot", edit.undo),
                 .note = Joined("Takes effect after a reboot. Drain the node first.", more)});
}

}  // namespace

v1::Remedy SetMtu(const v1::NetInterface& netdev, std::uint64_t bytes, std::string_view more) {
  return Change({.command = Format("ip link set dev {} mtu {}", netdev.name(), bytes),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsQueues,
                 .lasts = UntilReboot(kInNetworkConfiguration),
                 .undo = Format("ip link set dev {} mtu {}", netdev.name(), netdev.mtu_bytes()),
                 .note = std::string(more)});
}

v1::Remedy SetAutonegotiation(std::string_view netdev, bool on, std::string_view more) {
  return Change({.command = Format("ethtool -s {} autoneg {}", netdev, on ? "on" : "off"),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsPort,
                 .lasts = UntilReboot(kInNetworkConfiguration),
                 .undo = Format("ethtool -s {} autoneg {}", netdev, on ? "off" : "on"),
                 .note = std::string(more)});
}

v1::Remedy AddAddress(std::string_view netdev) {
  constexpr std::string_view kNote = "The kernel makes the GID from the address.";
  if (netdev.empty())
    return Advice(Joined("Give the netdev of the port an address of its rail's subnet.", kNote));
  return Change(
      {.command = Format("ip address add ADDRESS/PREFIX dev {}", netdev),
       .affects = v1::REMEDY_REACH_PORT,
       .interrupts = kInterruptsNothing,
       .lasts = UntilReboot(kInNetworkConfiguration),
       .undo = Format("ip address del ADDRESS/PREFIX dev {}", netdev),
       .note = Joined("ADDRESS/PREFIX: the node's own address in the subnet of the rail.", kNote)});
}

v1::Remedy DeleteDuplicateAddress(std::string_view address, std::string_view netdev) {
  constexpr std::string_view kNote =
      "Only on the port that should not have the address; the evidence lists all that have it. "
      "Then give that port its own address.";
  if (netdev.empty()) return Advice(Format("Remove {} from one of the ports. {}", address, kNote));
  return Change(
      {.command = Format("ip address del {} dev {}", address, netdev),
       .affects = v1::REMEDY_REACH_PORT,
       .interrupts = "connections that use the address",
       .lasts = UntilReboot("remove it from the network configuration, too"),
       .undo = Format("ip address add {} dev {}, with its prefix length", address, netdev),
       .note = std::string(kNote)});
}

v1::Remedy SetSysctl(std::string_view assignments, std::string_view now, std::string_view more) {
  return Change({.command = Format("sysctl -w {}", assignments),
                 .affects = v1::REMEDY_REACH_NODE,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot("write it to a file in /etc/sysctl.d"),
                 .undo = Format("sysctl -w {}", now),
                 .note = std::string(more)});
}

v1::Remedy LoadModule(std::string_view module, std::string_view more) {
  return Change({.command = Format("modprobe {}", module),
                 .affects = v1::REMEDY_REACH_NODE,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot(Format("echo {0} > /etc/modules-load.d/{0}.conf", module)),
                 .undo = Format("modprobe -r {}", module),
                 .note = std::string(more)});
}

v1::Remedy SetPci(const PciWrite& write, v1::RemedyReach affects, std::string_view more) {
  const std::string_view was = write.was;
  return Change(
      {.command = Format("setpci -s {} {}={}", write.address, write.name, write.value),
       .affects = affects,
       .interrupts = kInterruptsNothing,
       .lasts = UntilReboot("run it in a unit at boot, or set it in the BIOS or in the firmware "
                            "of the card"),
       .undo = was.empty() ? Format("Read the register before: setpci -s {} {}; then write that "
                                    "value back",
                                    write.address, write.name)
                           : Format("setpci -s {} {}={}", write.address, write.name, was),
       .note = std::string(more)});
}

v1::Remedy AddKernelParameters(const v1::NodeSnapshot& node, std::string_view parameters,
                               std::string_view more) {
  return KernelParameters(node, parameters, true, more);
}

v1::Remedy RemoveKernelParameters(const v1::NodeSnapshot& node, std::string_view parameters,
                                  std::string_view more) {
  return KernelParameters(node, parameters, false, more);
}

// x86 knows iommu.passthrough from Linux 5.3 on.
std::string_view PassthroughParameter(const v1::NodeSnapshot& node) {
  return IsX86(node) ? "iommu=pt" : "iommu.passthrough=1";
}

bool IsArm(const v1::NodeSnapshot& node) {
  return KernelNames(node, {"aarch64", "arm64"});
}

bool IsX86(const v1::NodeSnapshot& node) {
  return !IsArm(node) && KernelNames(node, {"x86_64", "amd64", "x86-64"});
}

bool IsDebian(const v1::NodeSnapshot& node) {
  return IsDistribution(node, {"debian", "ubuntu", "dgxos"});
}

bool IsRedHat(const v1::NodeSnapshot& node) {
  return IsDistribution(node, {"rhel", "rocky", "almalinux", "centos", "fedora", "ol", "amzn",
                               "openEuler", "anolis", "tencentos", "alinux"});
}

bool IsSuse(const v1::NodeSnapshot& node) {
  return IsDistribution(node, {"sles", "sled", "opensuse-leap", "opensuse-tumbleweed", "suse"});
}

}  // namespace fabric::rules
