// A NIC that its driver started without RDMA, by lines of the kernel log.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kernel_log/log_fault.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

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

// A later attempt may have succeeded.
bool HasNoDevice(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const auto& devices = node.node->snapshot.rdma_devices();
  return !line.has_pci_address() ||
         std::none_of(devices.begin(), devices.end(), [&](const v1::RdmaDevice& device) {
           return device.pci_address() == line.pci_address();
         });
}

constexpr LogFault kSafeMode = {.topic = LogTopic::kSafeMode,
                                .what = "a NIC runs in safe mode, without RDMA",
                                .remedies = InstallPackage,
                                .applies = HasNoDevice,
                                .without_ports = true};

std::vector<v1::Remedy> FindReason(const LogPlace& place) {
  return {
      Query({.command = place.address.empty() ? std::string("dmesg -T | grep -e firmware -e probe")
                                              : Format("dmesg -T | grep {}; lspci -vv -s {}",
                                                       place.address, place.address),
             .note = "The lines before it have the reason. 'rev ff' in lspci: the card does not "
                     "answer on PCIe."}),
      Advice("Drain the node and do a cold boot. If the driver still cannot start the card, "
             "install the driver for this kernel, and the firmware for this driver.")};
}

constexpr LogFault kFailedStart = {.topic = LogTopic::kStart,
                                   .what = "a driver could not start its NIC",
                                   .remedies = FindReason,
                                   .applies = HasNoDevice,
                                   .without_ports = true};

void JudgeStart(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node, kSafeMode, out);
  JudgeLog(node, kFailedStart, out);
}

}  // namespace

extern const Rule log_nic_starts_completely = {
    .id = "log_nic_starts_completely",
    .title = "The kernel has logged no NIC that started in safe mode or not at all in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Without its DDP package an Intel E800 card starts in safe mode: the link comes up, and "
        "the card has no RDMA device and no DCB. Usual causes are an image or an initramfs without "
        "the file, or a package that does not fit the driver. A driver that gives a card up leaves "
        "no RDMA device either: its firmware or PCIe does not answer, or versions do not fit.",
    .source =
        "kernel drivers/net/ethernet/intel/ice/ice_main.c, drivers/base/dd.c; "
        "github.com/lxc/incus-os/issues/1305",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "install the DDP package of the ice driver; driver and firmware of the card",
    .evaluate_node = JudgeStart,
};

}  // namespace fabric::rules
