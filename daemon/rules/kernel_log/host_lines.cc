// Lines of the kernel log about the host: stalls, memory, hardware, tables of the network stack.
#include <algorithm>
#include <iterator>

#include "daemon/rules/facts.h"
#include "daemon/rules/kernel_log/log_fault.h"

namespace fabric::rules {
namespace {

std::vector<v1::Remedy> ReadHostLog(const LogPlace&) {
  return {
      Query({.command = "journalctl -k --since -1d -p warning",
             .note = "Shows the process or CPU, and what came before. Lines of a NIC, GPU or "
                     "disk before a stall are its cause."}),
      Advice("Out of memory: give the job more, or limit its other processes. Hardware error or "
             "throttling: drain the node, and check memory, CPU and cooling by the log of the "
             "BMC.")};
}

bool IsStall(const v1::KernelLogLine& line) {
  constexpr std::string_view kStalls[] = {"blocked for more than", "lockup", "LOCKUP", "stall"};
  return std::any_of(std::begin(kStalls), std::end(kStalls), [&](std::string_view part) {
    return line.text().find(part) != std::string::npos;
  });
}

bool IsOfFailedDevice(const v1::KernelLogLine& line) {
  constexpr LogTopic kTopics[] = {LogTopic::kFirmware, LogTopic::kCommandTimeout, LogTopic::kPcie,
                                  LogTopic::kGpu};
  return std::any_of(std::begin(kTopics), std::end(kTopics),
                     [&](LogTopic topic) { return IsAbout(line, topic); });
}

// Processes that wait for a failed device hang. Another rule reports the device.
bool IsOwnFault(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const auto& lines = node.node->snapshot.kernel_log();
  return !IsStall(line) || std::none_of(lines.begin(), lines.end(), IsOfFailedDevice);
}

constexpr LogFault kHostFault = {
    .topic = LogTopic::kHost,
    .what = "the host stalled, ran out of memory or reported a hardware error",
    .remedies = ReadHostLog,
    .applies = IsOwnFault};

std::vector<v1::Remedy> ReadNetworkTables(const LogPlace&) {
  return {Query({.command = "sysctl net.ipv4.neigh.default.gc_thresh3 net.ipv6.neigh.default."
                            "gc_thresh3; ip neigh | wc -l",
                 .note = "The table must hold all peers that the node talks to."}),
          Query({.command = "sysctl net.netfilter.nf_conntrack_count net.netfilter."
                            "nf_conntrack_max",
                 .note = "Count at the maximum: the firewall drops new connections."}),
          Query({.command = "ip -6 addr show dadfailed",
                 .note = "Shows addresses that another host has too."})};
}

constexpr LogFault kNetFault = {.topic = LogTopic::kNet,
                                .what =
                                    "the network stack of the host had a full table or a "
                                    "duplicate address",
                                .remedies = ReadNetworkTables};

}  // namespace

extern const Rule log_host_healthy = {
    .id = "log_host_healthy",
    .title =
        "The kernel has logged no stall, lack of memory or hardware error of the host in the last "
        "day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "A process that the kernel kills or that hangs stops answering its peers, which report "
        "retries exceeded as if the fabric had failed. A throttled CPU makes all peers wait.",
    .source =
        "kernel kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/hung_task.c, mm/oom_kill.c, "
        "arch/x86/kernel/cpu/mce; github.com/NVIDIA/nccl/issues/1405",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "read the kernel log; memory, CPU and cooling of the host",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kHostFault, out); },
};

extern const Rule log_network_tables_suffice = {
    .id = "log_network_tables_suffice",
    .title =
        "The kernel has logged no full neighbor or connection table and no duplicate address in "
        "the last day",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "With a full neighbor table, addresses of peers are not resolved and RoCE connections time "
        "out. A full connection table drops the TCP connections by which jobs start. A duplicate "
        "address has no GID.",
    .source = "kernel net/core/neighbour.c, net/netfilter/nf_conntrack_core.c, net/ipv6/addrconf.c",
    .needs = {Input::kKernelLog},
    .reads = {{.field = Field::kKernelLog}},
    .fix = "raise gc_thresh3 or nf_conntrack_max; give each host its own address",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLog(node, kNetFault, out); },
};

}  // namespace fabric::rules
