// Rules on lines of the kernel log. Each rule is a table of line patterns and a remedy.
#include <algorithm>
#include <map>
#include <span>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::int64_t kRecentSeconds = 24 * 3600;

struct Pattern {
  std::string_view category;  // Of KernelLogLine
  std::string_view text;      // Part of the line
};

struct LogFault {
  std::span<const Pattern> patterns;
  std::string_view except = {};  // A line that also contains this belongs to another rule.
  std::string_view what;         // Title of the finding
  std::vector<v1::Remedy> (*remedies)(std::string_view address) = nullptr;
};

std::int64_t ReferenceTime(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.captured()) return snapshot.taken_at().seconds();
  std::int64_t last = 0;
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    last = std::max(last, line.last_at().seconds());
  return last;
}

// Written in the last day before the snapshot. A capture may be read years later: there, in the
// last day before its last dated line, and lines without a date count.
bool IsRecent(const v1::NodeSnapshot& snapshot, const v1::KernelLogLine& line) {
  if (!line.has_last_at()) return snapshot.captured();
  return line.last_at().seconds() + kRecentSeconds >= ReferenceTime(snapshot);
}

bool Matches(const LogFault& fault, const v1::KernelLogLine& line) {
  const std::string_view text = line.text();
  if (!fault.except.empty() && text.find(fault.except) != std::string_view::npos) return false;
  return std::any_of(fault.patterns.begin(), fault.patterns.end(), [&](const Pattern& pattern) {
    return line.category() == pattern.category && text.find(pattern.text) != std::string_view::npos;
  });
}

// The port on the card that the line names; nullptr if there is none or it is unknown.
const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  for (const fleet::PortView& port : node.ports)
    if ((line.has_pci_address() && port.device->pci_address() == line.pci_address()) ||
        (line.has_device() &&
         (port.device->name() == line.device() || port.port->netdev() == line.device())))
      return &port;
  return nullptr;
}

using Lines = std::vector<const v1::KernelLogLine*>;

void Fail(const fleet::NodeView& node, const LogFault& fault, const std::string& place,
          const Lines& lines, Verdicts& out) {
  const fleet::PortView* const port = PortOf(node, *lines[0]);
  const std::string& address = lines[0]->pci_address();
  std::string where = port != nullptr    ? port->device->name()
                      : !address.empty() ? address
                                         : lines[0]->device();
  if (port != nullptr && !address.empty()) where += Format(" ({})", address);
  std::vector<v1::Evidence> evidence;
  for (const v1::KernelLogLine* line : lines)
    if (evidence.size() < kListedMax)
      evidence.push_back(ToEvidence(
          *node.node,
          {.what = Format("kernel log, {} time{}", line->count(), line->count() == 1 ? "" : "s"),
           .expected = "no such line",
           .seen = line->text(),
           .source = "kernel log",
           .basis = "rule"}));
  out.Fail(port != nullptr ? DeviceSubject(*port) : SubjectOf(node),
           Format("{}, expected none{}{}", fault.what, where.empty() ? "" : ": ", where),
           std::move(evidence), fault.remedies(address),
           port != nullptr ? std::string_view() : std::string_view(place));
}

// One finding for each device that recent lines name. A node with a log and without such lines
// passes.
void JudgeLog(const fleet::NodeView& node, const LogFault& fault, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.kernel_log().empty() || node.ports.empty()) return;
  std::map<std::string, Lines> by_place;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    if (!Matches(fault, line) || !IsRecent(snapshot, line)) continue;
    // Both functions of a card log the same line.
    const std::string_view place =
        line.has_pci_address() ? CardOf(line.pci_address()) : std::string_view(line.device());
    by_place[std::string(place)].push_back(&line);
  }
  if (by_place.empty()) return out.Pass();
  for (const auto& [place, lines] : by_place) Fail(node, fault, place, lines, out);
}

template <const LogFault& kFault>
void Judge(const fleet::NodeView& node, Verdicts& out) {
  JudgeLog(node, kFault, out);
}

constexpr Pattern kFirmwarePatterns[] = {
    {"mlx5", "health compromised"},      {"mlx5", "Fatal error"},
    {"mlx5", "Health issue observed"},   {"mlx5", "handling bad device"},
    {"mlx5", "PCI slot is unavailable"}, {"bnxt", "Firmware heartbeat stalled"},
    {"bnxt", "FW fatal error"},          {"bnxt", "Firmware fatal reset"}};

std::vector<v1::Remedy> ResetFirmware(std::string_view address) {
  return {ToRemedy({.command = Format("devlink health show pci/{}", address),
                    .note = "'state error' of reporter fw or fw_fatal confirms the failure."}),
          ToRemedy({.platform = "mlx5",
                    .command = Format("mlxfwreset -d {} reset", address),
                    .interrupts_traffic = true,
                    .note = "Drain the node first. If the reset does not help, do a cold boot. "
                            "Send the lines to the vendor, and update the firmware."})};
}

constexpr LogFault kFirmware = {.patterns = kFirmwarePatterns,
                                .except = "emperature",  // log_no_overtemperature
                                .what = "NIC firmware reported a health failure",
                                .remedies = ResetFirmware};

// Xids after which RDMA cannot reach the memory of the GPU, or not its former content. Others end a
// program or belong to NVLink.
constexpr Pattern kGpuPatterns[] = {
    {"xid", "): 79,"},   // Fallen off the bus
    {"xid", "): 95,"},   // Uncontained memory error
    {"xid", "): 119,"},  // GSP timeout
    {"xid", "): 120,"},  // GSP error
};

std::vector<v1::Remedy> ResetGpu(std::string_view address) {
  return {ToRemedy({.command = Format("nvidia-smi --gpu-reset -i {}", address),
                    .interrupts_traffic = true,
                    .note = "Drain the node first. A GPU that fell off the bus needs a cold boot. "
                            "If it fails again, it needs a repair."})};
}

constexpr LogFault kGpu = {.patterns = kGpuPatterns,
                           .what = "Xid after which RDMA cannot reach the GPU's memory",
                           .remedies = ResetGpu};

constexpr Pattern kTimeoutPatterns[] = {{"mlx5", "Will cause a leak of a command resource"},
                                        {"bnxt", "Error (timeout: "},
                                        {"bnxt", "timedout ("},
                                        {"irdma", "CQP timed out"}};

std::vector<v1::Remedy> BootCold(std::string_view address) {
  return {ToRemedy({.command = Format("devlink health show pci/{}", address),
                    .note = "Drain the node and do a cold boot. If timeouts come back, update the "
                            "firmware and check the card for PCIe errors."})};
}

constexpr LogFault kTimeouts = {.patterns = kTimeoutPatterns,
                                .what = "commands to the NIC's firmware timed out",
                                .remedies = BootCold};

constexpr Pattern kTemperaturePatterns[] = {{"mlx5", "High Temperature"},  // Of the cable module
                                            {"mlx5", "High temperature"},  // Of the card
                                            {"bnxt", "temperature threshold"}};

std::vector<v1::Remedy> CheckCooling(std::string_view address) {
  return {ToRemedy({.command = "ethtool -m NETDEV",
                    .note = "Shows temperature and limits of the module. 'Cable error' in the line "
                            "means the module, 'sensors' the card."}),
          ToRemedy({.platform = "mlx5",
                    .command = Format("mget_temp -d {}", address),
                    .note = "Temperature of the card. Check fans, blanking panels and airflow."})};
}

constexpr LogFault kTemperature = {.patterns = kTemperaturePatterns,
                                   .what = "a NIC or its module was too hot",
                                   .remedies = CheckCooling};

constexpr Pattern kPeermemPatterns[] = {{"peermem", "detected invalid context"}};

std::vector<v1::Remedy> UpdateGpuDriver(std::string_view) {
  return {ToRemedy({.command = "cat /sys/module/nvidia/version",
                    .interrupts_traffic = true,
                    .note = "Update the GPU driver. Until then, end the job and reload "
                            "nvidia_peermem, or let jobs use dma-buf."})};
}

constexpr LogFault kPeermem = {.patterns = kPeermemPatterns,
                               .what = "nvidia-peermem detected an invalid context",
                               .remedies = UpdateGpuDriver};

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
    .fix = "devlink health show; reset or update the firmware",
    .evaluate_node = Judge<kFirmware>,
};

extern const Rule log_gpu_reachable = {
    .id = "log_gpu_reachable",
    .title = "The kernel has logged no loss of a GPU in the last day (Xid 79, 95, 119, 120)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "If a GPU fell off the bus, or its firmware or memory failed, its peers see remote access "
        "and transport errors that look like faults of the fabric. The cause is the GPU.",
    .source = "NVIDIA XID errors (docs.nvidia.com/deploy/xid-errors)",
    .needs = {Input::kKernelLog},
    .fix = "reset the GPU; cold-boot the node",
    .evaluate_node = Judge<kGpu>,
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
    .fix = "cold-boot the node; update the firmware",
    .evaluate_node = Judge<kTimeouts>,
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
    .fix = "cooling of the node; then the module",
    .evaluate_node = Judge<kTemperature>,
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
    .fix = "update the GPU driver",
    .evaluate_node = Judge<kPeermem>,
};

}  // namespace fabric::rules
