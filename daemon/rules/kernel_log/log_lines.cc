#include "daemon/rules/kernel_log/log_lines.h"

#include <algorithm>
#include <iterator>

namespace fabric::rules {
namespace {

using Topic = LogTopic;

struct LogRow {
  std::string_view category;  // Of KernelLogLine; empty: all of drivers of NICs
  std::string_view text;      // Part of the line
  LogTopic topic;
  std::string_view also = {};  // Another part of the line
};

// The words ", Fatal" do not match "Non-fatal". Rows with fewer words come after those with more.
constexpr LogRow kRows[] = {
    {"bnxt", "has gone below", Topic::kCooled},
    {"mlx5", "health recovery succeeded", Topic::kRecovered},
    {"pcie", "device recovery successful", Topic::kRecovered},
    {"ionic", "FW Up: ", Topic::kRecovered},
    {"ionic", "FW heartbeat restored", Topic::kRecovered},
    {"ena", "reset completed successfully", Topic::kRecovered},
    {"amdgpu", "GPU reset", Topic::kRecovered, "succe"},
    {"bnxt", "Solicited firmware reset", Topic::kHarmless},
    {"bnxt", "Error recovery info", Topic::kHarmless},
    {"bnxt", "Device requests max timeout", Topic::kHarmless},
    {"mlx5", "CQE on ", Topic::kHarmless},  // A queue of Ethernet, which the driver recovers
    {"mlx5", "failed to query module num", Topic::kHarmless},
    {"ionic", "retrying", Topic::kHarmless},
    {"ib_core", "cma_listen_on_dev", Topic::kHarmless},
    {"", "dump_cqe", Topic::kHarmless},  // Of a program. transport_retries and others count them.
    {"", "bnormal ae_id", Topic::kHarmless},     // The same of irdma
    {"", "work queue 0x", Topic::kHarmless},     // The same of hns
    {"", "Malicious Driver", Topic::kHarmless},  // Of a virtual machine
    {"", "WR flushed", Topic::kHarmless},
    {"pcie", "can't recover", Topic::kHarmless},  // Another line has the error.
    {"nvidia", "module verification", Topic::kHarmless},

    {"mlx5", "High Temp", Topic::kTooHot},  // Of the module
    {"mlx5", "High temp", Topic::kTooHot},  // Of the card
    {"bnxt", "thermal threshold!", Topic::kTooHot},
    {"ionic", "emperature exceed", Topic::kTooHot},

    {"mlx5", "powered down due to", Topic::kPcie},
    {"", "insufficient power", Topic::kPcie},
    {"pcie", "insufficient power", Topic::kPcie},

    {"mlx5", "Port module event[error]", Topic::kLinkModule},
    {"bnxt", "module detected on port", Topic::kLinkModule},
    {"bnxt", "module is shutdown", Topic::kLinkModule},
    {"", "unsupported module", Topic::kLinkModule},
    {"cxgb4", "port module inserted", Topic::kLinkModule, "un"},
    {"", "unsupported SFP", Topic::kLinkModule},
    {"ice", "module is incompatible", Topic::kLinkModule},
    {"ice", "power requirements exceed", Topic::kLinkModule},
    {"ice", "mis-configuration of the Ethernet port", Topic::kLinkModule},

    {"ice", "Entering Safe Mode", Topic::kSafeMode},
    {"ice", "now in Safe Mode", Topic::kSafeMode},

    {"mlx5", "Will cause a leak of a command resource", Topic::kCommandTimeout},
    {"mlx5", "No done completion", Topic::kCommandTimeout},
    {"mlx5", "canceled on out of queue timeout", Topic::kCommandTimeout},
    {"mlx5", "completion arrived after timeout", Topic::kCommandTimeout},
    {"bnxt", "Error (timeout: ", Topic::kCommandTimeout},
    {"bnxt", "timedout (", Topic::kCommandTimeout},
    {"bnxt", "bandoning msg", Topic::kCommandTimeout},
    {"bnxt", "FW STALL Detected", Topic::kCommandTimeout},
    {"", "CQP timed out", Topic::kCommandTimeout},
    {"cxgb4", "timed out", Topic::kCommandTimeout, "in mailbox"},
    {"bnxt", "send failed", Topic::kCommandTimeout, "cmdq["},
    {"erdma", "timeout", Topic::kCommandTimeout},
    {"mana", " HWC: -", Topic::kStart, "Failed to "},
    {"", "admin command timed out", Topic::kCommandTimeout},
    {"ionic", ") timeout after ", Topic::kCommandTimeout},
    {"ionic", ") failed: TIMEOUT", Topic::kCommandTimeout},
    {"hns", " timeout.", Topic::kCommandTimeout},
    {"mana", "Request timed out", Topic::kCommandTimeout},
    {"", "Wait for completion (polling) timeout", Topic::kCommandTimeout},
    {"", "send any completion", Topic::kCommandTimeout},
    {"", "send a completion", Topic::kCommandTimeout},
    {"", "sent a completion but the driver didn't receive", Topic::kCommandTimeout},
    {"", "Reading reg failed for timeout", Topic::kCommandTimeout},
    {"", "timed out. state ", Topic::kCommandTimeout, "cm_destroy_id"},

    {"mlx5", "PCI slot is unavailable", Topic::kFirmware},
    {"mlx5", "PCI link not ready", Topic::kPcie},
    {"mlx5", "mlx5_pci_link_toggle failed", Topic::kPcie},
    {"mlx5", "mlx5_pci_err_detected", Topic::kPcie},
    {"mlx5", "wait vital failed", Topic::kPcie},
    {"mlx5", ", disconnect", Topic::kPcie},
    {"bnxt", "PCI I/O error detected", Topic::kPcie},
    {"", "re-enable PCI device after reset", Topic::kPcie},
    {"", "device inaccessible", Topic::kPcie},
    {"", "after FLR; giving up", Topic::kPcie},
    {"pcie", "Uncorrected (Fatal)", Topic::kPcie},
    {"pcie", "Uncorrectable (Fatal)", Topic::kPcie},
    {"pcie", "Uncorrected (Non-Fatal)", Topic::kPcieNonfatal},
    {"pcie", "Uncorrectable (Non-Fatal)", Topic::kPcieNonfatal},
    {"pcie", "device recovery failed", Topic::kPcie},
    {"pcie", "DPC: containment event", Topic::kPcie},
    {"pcie", "retraining failed", Topic::kPcie},
    {"iommu", "VT-d detected Invalidation Time-out", Topic::kPcie},
    {"iommu", "Completion-Wait loop timed out", Topic::kPcie},

    {"mlx5", "mlx5_init_one failed", Topic::kFirmware},
    {"mlx5", "Waiting for FW initialization, timeout", Topic::kStart},
    {"mlx5", "initializing state", Topic::kStart},
    {"mlx5", "mlx5_load_one", Topic::kStart, "failed with error code"},
    {"", "failed with error -", Topic::kStart, "probe"},
    {"", "hardware initialization FAILED", Topic::kStart},
    {"", "Missing registers BAR", Topic::kStart},
    {"", "Incompatible firmware signature", Topic::kStart},
    {"", "Cannot identify device", Topic::kStart},
    {"ice", "NVM image is newer", Topic::kStart, "stopped"},
    {"", "egister with Ethernet driver", Topic::kStart},

    {"", "health compromised", Topic::kFirmware},
    {"mlx5", "Fatal error", Topic::kFirmware},
    {"mlx5", "Health issue observed", Topic::kFirmware},
    {"mlx5", "handling bad device", Topic::kFirmware},
    {"mlx5", "health recovery f", Topic::kFirmware},
    {"mlx5", "firmware internal error", Topic::kFirmware},
    {"mlx5", "irisc not responding", Topic::kFirmware},
    {"mlx5", "hardware error", Topic::kFirmware},
    {"mlx5", "firmware CRC error", Topic::kFirmware},
    {"mlx5", "ICM fetch PCI", Topic::kFirmware},
    {"mlx5", "HW fatal", Topic::kFirmware},
    {"mlx5", "HW ftl", Topic::kFirmware},
    {"mlx5", "EQ buffer overrun", Topic::kFirmware},
    {"mlx5", "FFSER error", Topic::kFirmware},
    {"mlx5", "Driver is in error state", Topic::kFirmware},
    {"mlx5", "NIC IFC still", Topic::kFirmware},
    {"mlx5", "NIC SW reset in progress", Topic::kFirmware},
    {"mlx5", "mlx5_error_sw_reset", Topic::kFirmware},
    {"mlx5", "ssuing FW ", Topic::kFirmware},
    {"mlx5", "fast mode failed", Topic::kFirmware},
    {"mlx5", "FW sync reset timeout", Topic::kFirmware},
    {"mlx5", "failed reclaiming pages", Topic::kFirmware},
    {"mlx5", "ailed, no reset done", Topic::kFirmware},
    {"mlx5", "failed, status internal error", Topic::kFirmware},
    {"mlx5", "failed, status bad system", Topic::kFirmware},
    {"bnxt", "Firmware heartbeat stalled", Topic::kFirmware},
    {"bnxt", "FW fatal error", Topic::kFirmware},
    {"bnxt", "irmware fatal ", Topic::kFirmware},
    {"bnxt", "atal firmware ", Topic::kFirmware},
    {"bnxt", "Firmware not responding", Topic::kFirmware},
    {"bnxt", "Firmware reset aborted", Topic::kFirmware},
    {"bnxt", "Firmware init phase failed", Topic::kFirmware},
    {"bnxt", "firmware status after reset", Topic::kFirmware},
    {"bnxt", "doorbells dropped", Topic::kFirmware},
    {"", "evice fatal", Topic::kFirmware},
    {"", "irmware recovery mode", Topic::kFirmware},
    {"ice", "Requesting a reset", Topic::kFirmware},
    {"ice", "Rebuild failed", Topic::kFirmware},
    {"ice", "rebuild failed", Topic::kFirmware},
    {"ice", "init_nvm failed", Topic::kFirmware},
    {"ice", "reset ", Topic::kFirmware, " failed"},
    {"ice", "PFR", Topic::kFirmware, "ailed"},
    {"", "critical PE Error", Topic::kFirmware},
    {"", "HMC Error", Topic::kFirmware},
    {"", "PE Push Error", Topic::kFirmware},
    {"ionic", "FW heartbeat stalled", Topic::kFirmware},
    {"ionic", "FW Down: ", Topic::kFirmware},
    {"ionic", "Surprise FW stop", Topic::kFirmware},
    {"ionic", "FW restart failed", Topic::kFirmware},
    {"ionic", "reset failed", Topic::kFirmware},
    {"ionic", "reset timed out", Topic::kFirmware},
    {"ionic", "state killed", Topic::kFirmware},
    {"hns", "Reset fail!", Topic::kFirmware},
    {"hns", "reset failed", Topic::kFirmware},
    {"hns", "_mbit_err found", Topic::kFirmware},
    {"hns", "Cmdq IO error", Topic::kFirmware},
    {"hns", "EQ overflow", Topic::kFirmware},
    {"hns", "func clear", Topic::kFirmware, "fail"},
    {"", "Admin queue is closed", Topic::kFirmware},
    {"", "admin queue is not in running state", Topic::kFirmware},
    {"", "Keep alive watchdog timeout", Topic::kFirmware},
    {"", "Device isn't ready", Topic::kFirmware},
    {"", "indication didn't turn", Topic::kFirmware},
    {"cxgb4", "irmware reports ", Topic::kFirmware},
    {"cxgb4", "encountered fatal error", Topic::kFirmware},
    {"qed", "MFW failed to respond", Topic::kCommandTimeout},
    {"qed", "MFW is not responsive", Topic::kFirmware},
    {"qed", "HW attention", Topic::kFirmware},
    {"mlx5", "FW did not return all pages", Topic::kFirmware},
    {"hfi1", "DC8051 access timed out", Topic::kFirmware},

    {"watchdog", "(mlx5_core)", Topic::kTransmit},
    {"watchdog", "(bnxt_en)", Topic::kTransmit},
    {"watchdog", "(ice)", Topic::kTransmit},
    {"watchdog", "(ionic)", Topic::kTransmit},
    {"watchdog", "(hns3)", Topic::kTransmit},
    {"watchdog", "(ena)", Topic::kTransmit},
    {"watchdog", "(mana)", Topic::kTransmit},
    {"watchdog", "", Topic::kHarmless},  // Of a NIC without RDMA
    {"", "Pause Storm detected", Topic::kTransmit},
    {"", "TX timeout", Topic::kTransmit},
    {"", "Tx Timeout triggered", Topic::kTransmit},
    {"", "tx_timeout: ", Topic::kTransmit},
    {"", "lost tx completions is above", Topic::kTransmit},

    {"mlx5", "failed, status limits exceeded", Topic::kResources},
    {"mlx5", "failed, status no resources", Topic::kResources},
    {"mlx5", "failed, status ", Topic::kHarmless},  // A command that this firmware does not support
    {"bnxt", "nable to reserve ", Topic::kResources},
    {"bnxt", "_alloc", Topic::kResources, "err:4"},
    {"ib_core", "Failed to add GID: 0xfffffff4", Topic::kResources},  // ENOMEM
    {"ib_core", "Failed to add GID: 0xffffffe4", Topic::kResources},  // ENOSPC
    {"ib_core", "unable to add gid", Topic::kResources, "error=-28"},
    {"", "max exceeded", Topic::kResources},
    {"bnxt", "_alloc", Topic::kResources, "ffffffe4"},
    {"", "Max CQs", Topic::kResources, "exceeded"},
    {"", "comp_status 1 err -12", Topic::kResources},
    {"hns", "ret = -12", Topic::kResources},
    {"", "no free resource", Topic::kResources},
    {"ionic", "ENOSPC", Topic::kResources},
    {"", "Not enough OS MSI-X vectors", Topic::kResources},
    {"iommu", "swiotlb buffer is full", Topic::kResources},

    {"iommu", "DMAR: [DMA", Topic::kIommu},
    {"iommu", "DMAR: [INTR-REMAP]", Topic::kIommu},
    {"iommu", "IO_PAGE_FAULT", Topic::kIommu},
    {"iommu", "Unhandled context fault", Topic::kIommu},
    {"iommu", "event: F_", Topic::kIommu},
    {"iommu", "event 0x10 received", Topic::kIommu},  // F_TRANSLATION of SMMUv3

    // Xids after which RDMA cannot reach the memory of the GPU, or not its former content. Others
    // end a program, or are contained.
    {"xid", "): 38,", Topic::kGpu},   // Firmware error
    {"xid", "): 48,", Topic::kGpu},   // Double-bit error
    {"xid", "): 62,", Topic::kGpu},   // Firmware of the power management stopped
    {"xid", "): 64,", Topic::kGpu},   // Faulty memory could not be replaced
    {"xid", "): 79,", Topic::kGpu},   // Fallen off the bus
    {"xid", "): 95,", Topic::kGpu},   // Uncontained memory error
    {"xid", "): 109,", Topic::kGpu},  // Timeout of a context switch
    {"xid", "): 119,", Topic::kGpu},  // GSP timeout
    {"xid", "): 120,", Topic::kGpu},  // GSP error
    {"xid", "): 140,", Topic::kGpu},  // Unrecovered ECC error
    {"xid", "): 154,", Topic::kHarmless, "to 0x0 ("},
    {"xid", "): 154,", Topic::kGpu},  // Needs a reset or a boot
    {"nvidia", "API mismatch", Topic::kGpuVersion},
    {"nvidia", "fallen off the bus", Topic::kGpu},
    {"nvidia", "GPU lost from the bus", Topic::kGpu},
    {"nvidia", "RmInitAdapter failed", Topic::kGpu},
    {"nvidia", "necessary power cables", Topic::kGpu},
    {"amdgpu", "GPU reset begin", Topic::kGpu},
    {"amdgpu", "reset failed", Topic::kGpu},
    {"amdgpu", "GPU reset(", Topic::kGpu, "failed"},
    {"amdgpu", "poison is consumed", Topic::kGpu},
    {"amdgpu", "ncorrectable hardware error", Topic::kGpu},
    {"amdgpu", " timeout, signaled seq", Topic::kGpu},

    {"xid", "Nonfatal", Topic::kHarmless},
    {"xid", "): 74,", Topic::kNvlink},
    {"xid", "): 144,", Topic::kNvlink},
    {"xid", "): 145,", Topic::kNvlink},
    {"xid", "): 146,", Topic::kNvlink},
    {"xid", "): 147,", Topic::kNvlink},
    {"xid", "): 148,", Topic::kNvlink},
    {"xid", "): 149,", Topic::kNvlink},
    {"xid", "): 150,", Topic::kNvlink},
    {"sxid", ", Fatal", Topic::kNvlink},

    {"peermem", "detected invalid context", Topic::kPeermem},
    {"peermem", "disagrees about version of symbol", Topic::kRefusedModule},
    {"peermem", "Unknown symbol", Topic::kRefusedModule},
    {"", "disagrees about version of symbol", Topic::kRefusedModule},
    {"", "Unknown symbol", Topic::kRefusedModule},

    {"net", "", Topic::kNet},
    {"host", "emory cgroup out of memory", Topic::kHarmless},  // The limit of a job or container
    {"host", "traps: ", Topic::kHarmless},                     // The fault of a program
    {"host", "", Topic::kHost},
};

// In the order of the table of the agent.
constexpr std::string_view kNicDrivers[] = {
    "mlx5",  "mlx4", "bnxt", "irdma",   "ice",        "i40e",    "ionic",
    "hns",   "efa",  "ena",  "qed",     "cxgb4",      "mana",    "hfi1",
    "erdma", "rxe",  "siw",  "ib_core", "nvmet_rdma", "rpcrdma", "rds"};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool Fits(const LogRow& row, const v1::KernelLogLine& line) {
  if (row.category.empty() ? !IsOfNicDriver(line) : line.category() != row.category) return false;
  return Contains(line.text(), row.text) && Contains(line.text(), row.also);
}

}  // namespace

LogTopic TopicOf(const v1::KernelLogLine& line) {
  const LogRow* const found = std::find_if(std::begin(kRows), std::end(kRows),
                                           [&](const LogRow& row) { return Fits(row, line); });
  return found == std::end(kRows) ? Topic::kNone : found->topic;
}

bool IsAbout(const v1::KernelLogLine& line, LogTopic topic) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const LogRow& row) { return row.topic == topic && Fits(row, line); }) &&
         TopicOf(line) == topic;
}

bool IsOfNicDriver(const v1::KernelLogLine& line) {
  return std::find(std::begin(kNicDrivers), std::end(kNicDrivers), line.category()) !=
         std::end(kNicDrivers);
}

}  // namespace fabric::rules
