// A NIC that its driver started without RDMA, by lines of the kernel log.
#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kernel_log/log_fault.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr LogPattern kSafeModePatterns[] = {{"ice", "Entering Safe Mode"},
                                            {"ice", "now in Safe Mode"}};

std::vector<v1::Remedy> InstallPackage(const LogPlace& place) {
  constexpr std::string_view kNext =
      "Drain the node. Install the DDP package (Debian: firmware-intel-misc, RHEL: "
      "linux-firmware), also in the initramfs, and reboot.";
  return {Query({.command = place.address.empty()
                                ? std::string("ls /lib/firmware/intel/ice/ddp; devlink dev info")
                                : Format("ls /lib/firmware/intel/ice/ddp; devlink dev info pci/{}",
                                         place.address),
                 .note = "The driver looks for ice.pkg in this folder. 'fw.app' is the version of "
                         "the package that the card runs."}),
          Advice(std::string(kNext))};
}

constexpr LogFault kSafeMode = {.patterns = kSafeModePatterns,
                                .what = "a NIC runs in safe mode, without RDMA",
                                .remedies = InstallPackage,
                                .without_ports = true};

void JudgeStart(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node, kSafeMode, out);
}

}  // namespace

extern const Rule log_nic_starts_completely = {
    .id = "log_nic_starts_completely",
    .title = "The kernel has logged no NIC that started in safe mode in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Without its DDP package an Intel E800 card starts in safe mode: the link comes up, and "
        "the card has no RDMA device and no DCB. Usual causes are an image or an initramfs without "
        "the file, or a package that does not fit the driver.",
    .source =
        "kernel drivers/net/ethernet/intel/ice/ice_main.c; "
        "github.com/lxc/incus-os/issues/1305",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "install the DDP package of the ice driver, and reboot",
    .evaluate_node = JudgeStart,
};

}  // namespace fabric::rules
