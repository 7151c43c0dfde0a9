// Lines of the kernel log about queues, modules and resources of NICs, and errors that no rule
// knows.
#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kernel_log/log_fault.h"

namespace fabric::rules {
namespace {

std::vector<v1::Remedy> FindStoppedQueue(const LogPlace& place) {
  std::vector<v1::Remedy> remedies;
  if (place.port != nullptr && !place.port->port->netdev().empty())
    remedies.push_back(
        Query({.command = Format("ethtool -S {} | grep -i -e pause -e timeout",
                                 place.port->port->netdev()),
               .note = "Pause frames that increase all the time: the switch stops the port. Look "
                       "for a PFC storm there."}));
  remedies.push_back(
      Advice("Drain the node. If the lines come back without pause frames, check the card for PCIe "
             "errors and update its firmware."));
  return remedies;
}

constexpr LogFault kStoppedQueue = {.topic = LogTopic::kTransmit,
                                    .what = "a NIC stopped sending for seconds",
                                    .remedies = FindStoppedQueue};

std::vector<v1::Remedy> CheckModule(const LogPlace& place) {
  std::vector<v1::Remedy> remedies;
  if (place.port != nullptr && !place.port->port->netdev().empty() && !IsInfiniband(*place.port))
    remedies.push_back(Query({.command = Format("ethtool -m {}", place.port->port->netdev()),
                              .note = "Shows vendor, type and power class of the module."}));
  remedies.push_back(
      Advice("Reseat the module or cable. If the line comes back, use one from the card vendor's "
             "list of supported modules."));
  return remedies;
}

// A port with link works with the module, and a card without RDMA does not matter.
bool IsModuleMissed(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  return IsOfRdmaCard(node, line) && HasNoLink(node, line);
}

constexpr LogFault kRefusedLinkModule = {.topic = LogTopic::kLinkModule,
                                         .what = "a NIC refused the module or cable of a port",
                                         .remedies = CheckModule,
                                         .applies = IsModuleMissed};

std::vector<v1::Remedy> FindUsers(const LogPlace&) {
  return {Query({.command = "rdma resource show",
                 .note = "Shows queue pairs, completion queues and memory regions of each device. "
                         "'rdma resource show qp' names the processes."}),
          Advice("End processes that hold many of them, or give the function more: number of "
                 "virtual functions, limits in the firmware, vectors of interrupts.")};
}

constexpr LogFault kExhausted = {
    .topic = LogTopic::kResources, .what = "a NIC had no more resources", .remedies = FindUsers};

// A line without severity has 0; no driver of a NIC logs emergencies.
bool IsError(const v1::KernelLogLine& line) {
  constexpr std::uint32_t kErrorSeverity = 3;
  return line.severity() != 0 && line.severity() <= kErrorSeverity;
}

// A failed card makes its driver log all kinds of errors, which follow from the failure.
bool IsOfFailure(LogTopic topic) {
  return topic == LogTopic::kFirmware || topic == LogTopic::kPcie || topic == LogTopic::kStart ||
         topic == LogTopic::kCommandTimeout || topic == LogTopic::kTooHot;
}

// An error for the driver, but what it means for RDMA is open.
void JudgeUnknownErrors(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.kernel_log().empty() || node.ports.empty()) return;
  LinesByPlace by_place;
  LinesByPlace failed;
  for (const v1::KernelLogLine& line : snapshot.kernel_log()) {
    if (!IsOfNicDriver(line) || !IsRecent(snapshot, line)) continue;
    const LogTopic topic = TopicOf(line);
    if (IsOfFailure(topic)) AddByPlace(node, line, failed);
    if (topic == LogTopic::kNone && IsError(line)) AddByPlace(node, line, by_place);
  }
  for (const auto& [place, lines] : failed) by_place.erase(place);
  if (by_place.empty()) return out.Pass();
  for (const auto& [place, lines] : by_place) {
    const fleet::PortView* const port = PortOf(node, *lines[0]);
    const std::string where = WhereOf(node, *lines[0]);
    out.Unknown(port != nullptr ? DeviceSubject(*port) : SubjectOf(node),
                Format("the driver logged {} kind{} of errors that no rule knows{}{}", lines.size(),
                       lines.size() == 1 ? "" : "s", where.empty() ? "" : ": ", where),
                LogEvidence(node, lines), port != nullptr ? std::string_view() : place);
  }
}

}  // namespace

extern const Rule log_no_transmit_timeouts = {
    .id = "log_no_transmit_timeouts",
    .title = "The kernel has logged no transmit timeout of an RDMA NIC in the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A queue of the NIC sent nothing for seconds: its firmware or PCIe stopped, or the switch "
        "paused the port all the time. RDMA on the port can stop too: peers see retries exceeded.",
    .source =
        "kernel net/sched/sch_generic.c (dev_watchdog); drivers/net/ethernet (ndo_tx_timeout)",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "look for pause frames, PCIe errors and old firmware",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kStoppedQueue, out); },
};

extern const Rule log_no_module_faults = {
    .id = "log_no_module_faults",
    .title = "The kernel has logged no refused module of a port without link in the last day",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The card does not supply or enable a module that it cannot read, that needs too much "
        "power, or that its firmware does not allow. The link stays down.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/events.c (port module events); "
        "drivers/net/ethernet/broadcom/bnxt/bnxt.c; drivers/net/ethernet/intel/ice/ice_main.c",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "reseat or replace the module",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kRefusedLinkModule, out); },
};

extern const Rule log_nic_has_resources = {
    .id = "log_nic_has_resources",
    .title = "The kernel has logged no NIC without free resources in the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The firmware refused another queue pair, key, ring or vector. Programs that start on the "
        "node fail to create queue pairs or to register memory, or DMA of the NIC fails.",
    .source =
        "kernel drivers/net/ethernet/mellanox/mlx5/core/cmd.c (status limits exceeded); "
        "drivers/infiniband/hw/{bnxt_re,efa,hns}",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "end processes that leak resources; raise the limits of the function",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kExhausted, out); },
};

extern const Rule log_errors_known = {
    .id = "log_errors_known",
    .title = "The kernel logged no unrecognized NIC driver error in the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The driver reports an error, and no rule says what it means for RDMA. The verdict is "
        "UNKNOWN: read the lines.",
    .source = "kernel include/linux/kern_levels.h",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "read the lines; send them to the vendor of the card",
    .evaluate_node = JudgeUnknownErrors,
};

}  // namespace fabric::rules
