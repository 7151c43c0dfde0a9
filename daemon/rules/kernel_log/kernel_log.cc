// Rules on lines of the kernel log. Each rule is a table of line patterns and a remedy.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kernel_log/log_fault.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

template <const LogFault& kFault>
void Judge(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node, kFault, out);
}

// All devices where the line names none.
v1::Remedy ShowHealth(const LogPlace& place, std::string_view note) {
  return Query({.command = place.address.empty()
                               ? std::string("devlink health show")
                               : Format("devlink health show pci/{}", place.address),
                .note = std::string(note)});
}

bool IsMlx5(const LogPlace& place) {
  return place.port != nullptr && place.port->device->driver().starts_with("mlx5") &&
         !place.address.empty();
}

std::vector<v1::Remedy> ResetFirmware(const LogPlace& place) {
  std::vector<v1::Remedy> remedies = {
      ShowHealth(place, "'state error' of reporter fw or fw_fatal confirms the failure.")};
  constexpr std::string_view kNext =
      "Drain the node first. If the failure comes back, do a cold boot. Send the lines to the "
      "vendor, and update the firmware.";
  if (IsMlx5(place))
    remedies.push_back(Change({.platform = "mlx5",
                               .command = Format("mlxfwreset -y -d {} reset", place.address),
                               .affects = v1::REMEDY_REACH_NIC,
                               .interrupts = kInterruptsCard,
                               .lasts = Permanently(),
                               .undo = "Nothing to undo",
                               .note = std::string(kNext)}));
  else
    remedies.push_back(Advice(std::string(kNext)));
  return remedies;
}

constexpr LogFault kFirmwareFault = {.topic = LogTopic::kFirmware,
                                     .what = "NIC firmware reported a health failure",
                                     .remedies = ResetFirmware,
                                     .recovered_by = LogTopic::kRecovered};

std::vector<v1::Remedy> ResetGpu(const LogPlace& place) {
  constexpr std::string_view kNote =
      "Drain the node first. A GPU that fell off the bus needs a cold boot. If it fails again, it "
      "needs a repair.";
  if (place.address.empty()) return {Advice(std::string(kNote))};
  return {Change({.command = Format("nvidia-smi --gpu-reset -i {}", place.address),
                  .affects = v1::REMEDY_REACH_NODE,
                  .interrupts = "programs that use the GPU; with NVSwitch, those on all GPUs of "
                                "the node",
                  .lasts = Permanently(),
                  .undo = "Nothing to undo",
                  .note = std::string(kNote)})};
}

constexpr LogFault kGpu = {.topic = LogTopic::kGpu,
                           .what = "RDMA cannot reach the memory of a GPU that failed",
                           .remedies = ResetGpu,
                           .with = LogTopic::kPcie,
                           .recovered_by = LogTopic::kRecovered};

std::vector<v1::Remedy> BootCold(const LogPlace& place) {
  return {ShowHealth(place,
                     "Drain the node and do a cold boot. If timeouts come back, update the "
                     "firmware and check the card for PCIe errors.")};
}

constexpr LogFault kTimeouts = {.topic = LogTopic::kCommandTimeout,
                                .what = "commands to the NIC's firmware timed out",
                                .remedies = BootCold,
                                .recovered_by = LogTopic::kRecovered};

std::vector<v1::Remedy> CheckCooling(const LogPlace& place) {
  constexpr std::string_view kAir = "Check fans, blanking panels and airflow.";
  std::vector<v1::Remedy> remedies;
  if (place.port != nullptr && !place.port->port->netdev().empty() && !IsInfiniband(*place.port))
    remedies.push_back(Query({.command = Format("ethtool -m {}", place.port->port->netdev()),
                              .note = "Shows temperature and limits of the module. 'Cable error' "
                                      "in the line means the module, 'sensors' the card."}));
  if (IsMlx5(place))
    remedies.push_back(Query({.platform = "mlx5",
                              .command = Format("mget_temp -d {}", place.address),
                              .note = Format("Temperature of the card. {}", kAir)}));
  if (remedies.empty())
    remedies.push_back(Query({.command = "sensors", .note = std::string(kAir)}));
  return remedies;
}

constexpr LogFault kTemperature = {.topic = LogTopic::kTooHot,
                                   .what = "a NIC or its module was too hot",
                                   .remedies = CheckCooling,
                                   .recovered_by = LogTopic::kCooled};

std::vector<v1::Remedy> ResetLinks(const LogPlace&) {
  return {Query({.command = "nvidia-smi nvlink -s; systemctl status nvidia-fabricmanager",
                 .note = "Drain the node, reset all GPUs, and restart Fabric Manager. If the "
                         "lines come back, the GPU board needs a repair."})};
}

constexpr LogFault kNvlink = {
    .topic = LogTopic::kNvlink, .what = "an NVLink or NVSwitch failed", .remedies = ResetLinks};

std::vector<v1::Remedy> UpdateGpuDriver(const LogPlace&) {
  return {Query({.command = "cat /sys/module/nvidia/version",
                 .note = "Update the GPU driver. Until then, end the job and reload "
                         "nvidia_peermem, or let jobs use dma-buf."})};
}

constexpr LogFault kPeermem = {.topic = LogTopic::kPeermem,
                               .what = "nvidia-peermem detected an invalid context",
                               .remedies = UpdateGpuDriver};

std::vector<v1::Remedy> FindDmaFault(const LogPlace& place) {
  constexpr std::string_view kFaults = "dmesg -T | grep -i -e DMAR -e IO_PAGE_FAULT -e smmu";
  return {Query({.command = place.address.empty() ? std::string(kFaults)
                                                  : Format("{} -e {}", kFaults, place.address),
                 .note = "An access to memory that is not mapped for the device: a driver or "
                         "firmware defect, or peer traffic through the IOMMU. Check ACS and "
                         "the IOMMU mode, then update driver and firmware."})};
}

constexpr LogFault kIommu = {
    .topic = LogTopic::kIommu, .what = "the IOMMU blocked accesses", .remedies = FindDmaFault};

// Many slots announce less power than they give: only a fault if no port of the card is up.
bool IsPowerMissing(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  return line.text().find("insufficient power") == std::string::npos || HasNoLink(node, line);
}

std::vector<v1::Remedy> CheckSlot(const LogPlace& place) {
  return {Query({.command = place.address.empty()
                                ? std::string("dmesg -T | grep -i -e AER -e pcieport")
                                : Format("lspci -vv -s {} | grep -e UESta -e Slot", place.address),
                 .note = "Drain the node and reseat the card. Check the power of the slot in "
                         "the BIOS. If errors come back, replace card or riser."})};
}

constexpr LogFault kPcie = {.topic = LogTopic::kPcie,
                            .what = "fatal PCIe errors, or too little power in the slot",
                            .remedies = CheckSlot,
                            .applies = IsPowerMissing,
                            .left_to = LogTopic::kGpu,
                            .recovered_by = LogTopic::kRecovered};

bool HasPart(const v1::KernelLogLine& line, std::string_view part) {
  return line.text().find(part) != std::string::npos;
}

// Requests that a device does not support, as at boot, or that ACS blocks, lose no data of RDMA.
// The lines that name the kind come after the error.
bool IsDataLost(const fleet::NodeView& node, const v1::KernelLogLine& error) {
  constexpr std::string_view kMinor[] = {"] UnsupReq", "] ACSViol"};
  constexpr std::string_view kLost[] = {"] CmpltTO", "] CmpltAbrt", "] UnxCmplt", "] MalfTLP",
                                        "] RxOF",    "] FCP",       "] DLP",      "] ECRC",
                                        "] TLP ",    "] Uncorr",    "] Poison"};
  bool minor = false;
  const std::string_view card = NamedCard(node, error);
  for (const v1::KernelLogLine& line : node.node->snapshot.kernel_log()) {
    if (NamedCard(node, line) != card) continue;
    if (IsAbout(line, LogTopic::kGpu)) return false;  // log_gpu_reachable reports the GPU.
    if (line.category() != "pcie") continue;
    const auto has = [&](std::string_view part) { return HasPart(line, part); };
    if (std::ranges::any_of(kLost, has)) return true;
    minor = minor || std::ranges::any_of(kMinor, has);
  }
  return !minor;
}

constexpr LogFault kPcieNonfatal = {.topic = LogTopic::kPcieNonfatal,
                                    .what = "uncorrectable PCIe errors, not fatal",
                                    .remedies = CheckSlot,
                                    .applies = IsDataLost,
                                    .left_to = LogTopic::kPcie,
                                    .recovered_by = LogTopic::kRecovered,
                                    .severity = v1::SEVERITY_WARNING};

void JudgePcie(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node, kPcie, out);
  JudgeLog(node, kPcieNonfatal, out);
}

std::vector<v1::Remedy> InstallModules(const LogPlace&) {
  return {Query({.command = "dkms status; modinfo -n ib_core mlx5_core nvidia_peermem",
                 .note = "Modules of OFED are below updates/dkms or extra, those of the kernel "
                         "below kernel/drivers."}),
          Advice("Drain the node. Install the RDMA stack for the running kernel, then the GPU "
                 "driver, so that nvidia_peermem is built against it, and reboot. With the GPU "
                 "operator, set driver.rdma.useHostMofed if OFED is installed on the host.")};
}

// Another build of the module may have been loaded since.
bool IsModuleMissing(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  std::string name = line.text().substr(0, line.text().find(':'));
  std::ranges::replace(name, '-', '_');
  return std::ranges::none_of(
      node.node->snapshot.host().modules(),
      [&](const v1::KernelModule& module) { return module.name() == name; });
}

constexpr LogFault kModules = {
    .topic = LogTopic::kRefusedModule,
    .what = "the kernel refused a module that was built against another RDMA stack",
    .remedies = InstallModules,
    .applies = IsModuleMissing};

}  // namespace

extern const Rule log_firmware_healthy = {
    .id = "log_firmware_healthy",
    .title = "The kernel has logged no firmware failure of a NIC in the last day",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The driver resets a NIC with failed firmware, or the NIC is lost until the next boot. "
        "All connections of jobs on it break.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/health.c; "
        "drivers/net/ethernet/broadcom/bnxt/bnxt.c",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "devlink health show; reset or update the firmware",
    .evaluate_node = Judge<kFirmwareFault>,
};

extern const Rule log_gpu_reachable = {
    .id = "log_gpu_reachable",
    .title =
        "The kernel has logged no loss of a GPU in the last day (Xid 79, 95, 119, 120, resets)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "If a GPU fell off the bus, or its firmware or memory failed, its peers see remote access "
        "and transport errors that look like faults of the fabric. The cause is the GPU.",
    .source = "NVIDIA XID errors (docs.nvidia.com/deploy/xid-errors)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reset the GPU; cold-boot the node",
    .evaluate_node = Judge<kGpu>,
};

extern const Rule log_modules_fit = {
    .id = "log_modules_fit",
    .title = "The kernel has refused no module of the RDMA stack in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A module that was built against another RDMA stack or kernel is not loaded: the RDMA "
        "device or GPUDirect RDMA is missing. Loading it again by hand fails in the same way.",
    .source = "kernel kernel/module/version.c; github.com/NVIDIA/gpu-operator/issues/2868",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "install RDMA stack and GPU driver again for the running kernel",
    .evaluate_node = Judge<kModules>,
};

extern const Rule log_no_command_timeouts = {
    .id = "log_no_command_timeouts",
    .title = "The kernel has logged no command timeout of NIC firmware in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Connections are made by commands to the firmware. A command without an answer makes jobs "
        "hang when they start or end, and its resources are lost until the next boot. It is often "
        "the first sign of a failing card.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/cmd.c; "
        "drivers/net/ethernet/broadcom/bnxt/bnxt_hwrm.c",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "cold-boot the node; update the firmware",
    .evaluate_node = Judge<kTimeouts>,
};

extern const Rule log_no_iommu_faults = {
    .id = "log_no_iommu_faults",
    .title = "The kernel has logged no access that the IOMMU blocked in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The access does not reach memory: data is missing or the connection fails. With GPUDirect "
        "this happens if peer traffic goes through an IOMMU that does not map the GPU.",
    .source = "kernel drivers/iommu (DMAR faults, AMD-Vi events, SMMU context faults)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "ACS and IOMMU mode; driver and firmware",
    .evaluate_node = Judge<kIommu>,
};

extern const Rule log_no_pcie_faults = {
    .id = "log_no_pcie_faults",
    .title =
        "The kernel has logged no uncorrectable PCIe error and no lack of slot power in the last "
        "day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A fatal error resets the device: all connections on it break. Another uncorrectable error "
        "loses the data of one request: a warning. Not judged: requests that a device does not "
        "support, and those that ACS blocks. A card without enough power switches its ports off or "
        "runs below its rate.",
    .source =
        "kernel drivers/pci/pcie/aer.c; drivers/net/ethernet/mellanox/mlx5/core/events.c (port "
        "module and power events)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reseat the card; power of the slot",
    .evaluate_node = JudgePcie,
};

extern const Rule log_no_overtemperature = {
    .id = "log_no_overtemperature",
    .title = "The kernel has logged no overtemperature of a NIC or module in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A module that is too hot is switched off, and its link goes down during a job, most "
        "often under load. Before that its bit errors increase.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/events.c (port module events, "
        "temp_warn)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "cooling of the node; then the module",
    .evaluate_node = Judge<kTemperature>,
};

extern const Rule log_nvlinks_healthy = {
    .id = "log_nvlinks_healthy",
    .title = "The kernel has logged no failed NVLink or NVSwitch in the last day (Xid 74, SXid)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why = "Programs on the GPUs of the failed part end, and their peers in the fabric time out.",
    .source = "NVIDIA XID errors (docs.nvidia.com/deploy/xid-errors); Fabric Manager user guide",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reset all GPUs; restart Fabric Manager",
    .evaluate_node = Judge<kNvlink>,
};

extern const Rule log_peermem_context_valid = {
    .id = "log_peermem_context_valid",
    .title = "nvidia-peermem has logged no invalid context in the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The module lost track of GPU memory that a NIC has registered, a known fault of older "
        "drivers. Processes hang afterwards, and memory stays pinned.",
    .source = "NVIDIA open GPU kernel modules, nvidia-peermem.c (nv_get_p2p_free_callback)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "update the GPU driver",
    .evaluate_node = Judge<kPeermem>,
};

}  // namespace fabric::rules
