#include "daemon/rules/remedies.h"

#include "base/text.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

std::string Joined(std::string_view note, std::string_view more) {
  if (note.empty() || more.empty()) return Format("{}{}", note, more);
  return Format("{} {}", note, more);
}

v1::Remedy KernelParameters(std::string_view option, std::string_view parameters,
                            std::string_view more) {
  return ToRemedy({.command = Format("grubby --update-kernel=ALL --{}='{}'", option, parameters),
                   .interrupts_traffic = true,
                   .note = Joined("Takes effect after a reboot. Debian and Ubuntu: edit "
                                  "GRUB_CMDLINE_LINUX in /etc/default/grub, then run update-grub.",
                                  more)});
}

}  // namespace

v1::Remedy SetMtu(std::string_view netdev, std::uint64_t bytes, std::string_view more) {
  return ToRemedy({.command = Format("ip link set dev {} mtu {}", netdev, bytes),
                   .interrupts_traffic = true,
                   .note = Joined("Also set it in the network configuration, or a reboot reverts "
                                  "it.",
                                  more)});
}

v1::Remedy SetAutonegotiation(std::string_view netdev, bool on, std::string_view more) {
  return ToRemedy({.command = Format("ethtool -s {} autoneg {}", netdev, on ? "on" : "off"),
                   .interrupts_traffic = true,
                   .note = more});
}

v1::Remedy AddAddress(std::string_view netdev, std::string_view more) {
  return ToRemedy(
      {.command = Format("ip address add ADDRESS/PREFIX dev {}", netdev),
       .note = Joined("The kernel makes the GID from the address. Also set it in the network "
                      "configuration, or a reboot reverts it.",
                      more)});
}

v1::Remedy DeleteDuplicateAddress(std::string_view address, std::string_view netdev) {
  return ToRemedy(
      {.command = Format("ip address del {} dev {}", address, netdev),
       .interrupts_traffic = true,
       .note = "On the port that should not have it. Then add the port's own address."});
}

v1::Remedy SetSysctl(std::string_view assignments, std::string_view more) {
  return ToRemedy({.command = Format("sysctl -w {}", assignments),
                   .note = Joined("Also set it in /etc/sysctl.d, or a reboot reverts it.", more)});
}

v1::Remedy LoadModule(std::string_view module, std::string_view more) {
  return ToRemedy(
      {.command = Format("modprobe {}", module),
       .note = Joined("Also list it in /etc/modules-load.d, or a reboot reverts it.", more)});
}

v1::Remedy AddKernelParameters(std::string_view parameters, std::string_view more) {
  return KernelParameters("args", parameters, more);
}

v1::Remedy RemoveKernelParameters(std::string_view parameters, std::string_view more) {
  return KernelParameters("remove-args", parameters, more);
}

}  // namespace fabric::rules
