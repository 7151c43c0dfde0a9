#include <algorithm>
#include <vector>

#include "agents/inspect/rdma.h"
#include "agents/inspect/report/field_table.h"
#include "base/priority_mask.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

std::string Bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024;
  constexpr const char* kByteUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kByteUnits) && bytes >= kKib && bytes % kKib == 0) {
    bytes /= kKib;
    ++unit;
  }
  return Format("{} {}", bytes, kByteUnits[unit]);
}

std::string LimitText(bool there, const v1::MemoryLimit& limit) {
  if (!there) return std::string(kAbsent);
  const auto side = [](bool has, std::uint64_t bytes) {
    return has ? Bytes(bytes) : std::string("no limit");
  };
  if (limit.unlimited()) return Format("unlimited, by {}", limit.source());
  return Format("soft {}, hard {}, by {}", side(limit.has_soft_bytes(), limit.soft_bytes()),
                side(limit.has_hard_bytes(), limit.hard_bytes()), limit.source());
}

std::string_view StackName(v1::RdmaStack stack) {
  switch (stack) {
    case v1::RDMA_STACK_INBOX: return "inbox";
    case v1::RDMA_STACK_OFED: return "OFED";
    default: return kAbsent;
  }
}

std::string StackText(const v1::HostFacts& host) {
  if (!host.has_rdma_stack()) return OrAbsent(host.rdma_stack_reason());
  std::string text(StackName(host.rdma_stack()));
  if (host.has_rdma_stack_version()) text += " " + host.rdma_stack_version();
  if (!host.rdma_stack_reason().empty()) text += Format(" ({})", host.rdma_stack_reason());
  return text;
}

std::string IommuText(const v1::HostFacts& host) {
  if (!host.has_iommu_present()) return std::string(kAbsent);
  if (!host.iommu_present()) return "none";
  return "present, " + (host.has_iommu_default_type() ? host.iommu_default_type()
                                                      : std::string("default type unknown"));
}

std::string NetnsText(const v1::HostFacts& host) {
  switch (host.rdma_netns_mode()) {
    case v1::RDMA_NETNS_MODE_SHARED: return "shared";
    case v1::RDMA_NETNS_MODE_EXCLUSIVE: return "exclusive";
    default: return std::string(kAbsent);
  }
}

std::string ClockText(const v1::NodeSnapshot& snapshot) {
  const v1::TimeSync& clock = snapshot.time_sync();
  if (!clock.has_synchronized()) return std::string(kAbsent);
  std::string text = clock.synchronized() ? "synchronized" : "not synchronized";
  if (clock.has_offset_seconds()) text += Format(", offset {:g} s", clock.offset_seconds());
  if (clock.has_max_error_seconds())
    text += Format(", error at most {:g} s", clock.max_error_seconds());
  return text;
}

// "512 x 2 MiB (node 0: 256, node 1: 256)"
std::string HugePagesText(const v1::HostFacts& host) {
  std::vector<std::string> sizes;
  for (const v1::HugePages& whole : host.hugepages()) {
    if (whole.has_numa_node()) continue;
    std::string text =
        Format("{} x {}", NumberIf(whole.has_total(), whole.total()), Bytes(whole.page_bytes()));
    std::vector<std::string> nodes;
    for (const v1::HugePages& part : host.hugepages())
      if (part.has_numa_node() && part.page_bytes() == whole.page_bytes() && part.total() > 0)
        nodes.push_back(Format("node {}: {}", part.numa_node(), part.total()));
    if (!nodes.empty()) text += Format(" ({})", Join(nodes, ", "));
    sizes.push_back(text);
  }
  return OrAbsent(Join(sizes, ", "));
}

std::string ModulesText(const v1::NodeSnapshot& snapshot) {
  return FieldTable("Kernel modules", *v1::KernelModule::descriptor(),
                    ElementsOf(snapshot.host().modules()))
      .Text(NoneOrUnknown(snapshot, {{"rdma_stack", "proc/modules"}},
                          "none for RDMA devices, NICs or GPUs"));
}

std::string SysctlsText(const v1::NodeSnapshot& snapshot) {
  return FieldTable("Sysctls", *v1::Sysctl::descriptor(), ElementsOf(snapshot.host().sysctls()))
      .Text(NoneOrUnknown(snapshot,
                          {{"host_limits", "proc/sys"}, {"host_limits", "proc/sys/net/ipv4"}},
                          "none were read"));
}

std::string SharesText(const v1::LldpEts& ets) {
  constexpr std::uint32_t kStrict = 0;
  std::vector<std::string> shares;
  for (int tc = 0; tc < ets.tc_bandwidth_percent_size() && tc < ets.tc_algorithm_size(); ++tc)
    shares.push_back(ets.tc_algorithm(tc) == kStrict ? "s"
                                                     : Format("{}", ets.tc_bandwidth_percent(tc)));
  return OrAbsent(Join(shares, " "));
}

// The priority that the switch wants RoCE v2 to have.
std::string RocePriority(const v1::LldpNeighbor& neighbor) {
  constexpr std::uint32_t kUdp = 3;
  constexpr std::uint32_t kTcpOrUdp = 4;
  constexpr std::uint32_t kRoceV2 = 4791;
  for (const v1::LldpApp& app : neighbor.applications())
    if (app.protocol() == kRoceV2 && (app.selector() == kUdp || app.selector() == kTcpOrUdp))
      return Format("{}", app.priority());
  return std::string(kAbsent);
}

std::string_view SeverityName(std::uint32_t severity) {
  constexpr std::string_view kNames[] = {"emergency", "alert",  "critical", "error",
                                         "warning",   "notice", "info",     "debug"};
  return severity < std::size(kNames) ? kNames[severity] : kAbsent;
}

bool HasRoce(const v1::NodeSnapshot& snapshot) {
  return std::any_of(
      snapshot.net_interfaces().begin(), snapshot.net_interfaces().end(),
      [&](const v1::NetInterface& netdev) { return IsNetdevOfRoce(snapshot, netdev.name()); });
}

}  // namespace

std::string HostText(const v1::NodeSnapshot& snapshot) {
  const v1::HostFacts& host = snapshot.host();
  constexpr double kGib = 1U << 30;
  std::vector<std::vector<std::string>> rows = {
      {"PRODUCT", OrAbsent(host.product())},
      {"VIRTUALIZATION", OrAbsent(host.virtualization())},
      {"DISTRIBUTION", OrAbsent(host.distribution())},
      {"KERNEL", OrAbsent(host.kernel_version())},
      {"COMMAND LINE", OrAbsent(host.kernel_command_line())},
      {"RDMA STACK", StackText(host)},
      {"RDMA NETNS MODE", NetnsText(host)},
      {"MEMORY", host.has_memory_bytes()
                     ? Format("{:.1f} GiB", static_cast<double>(host.memory_bytes()) / kGib)
                     : std::string(kAbsent)},
      {"NUMA NODES", NumberIf(host.has_numa_nodes(), host.numa_nodes())},
      {"HUGEPAGES", HugePagesText(host)},
      {"IOMMU", IommuText(host)},
      {"MEMLOCK, AGENT", LimitText(host.has_agent_memlock(), host.agent_memlock())},
      {"MEMLOCK, USERS", LimitText(host.has_default_user_memlock(), host.default_user_memlock())},
      {"MEMLOCK, SERVICES",
       LimitText(host.has_default_service_memlock(), host.default_service_memlock())},
      {"CGROUP RDMA", OrAbsent(host.rdma_cgroup_limits())},
      {"CGROUP DEVICES", OrAbsent(host.device_cgroup())},
      {"CLOCK", ClockText(snapshot)}};
  for (auto& row : FieldRows(host)) rows.push_back(std::move(row));
  for (auto& row : FieldRows(snapshot.time_sync())) rows.push_back(std::move(row));
  return KnownRows("Host", std::move(rows), "unknown: see the gaps") + ModulesText(snapshot) +
         SysctlsText(snapshot);
}

std::string LldpText(const v1::NodeSnapshot& snapshot) {
  Section section("LLDP neighbours",
                  {"NETDEV", "SYSTEM", "PORT", "PORT DESCRIPTION", "CHASSIS", "VLAN", "MAX FRAME",
                   "PFC", "ETS PERCENT", "UDP 4791", "SINCE"});
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors())
    section.Row({neighbor.netdev(), OrAbsent(neighbor.system_name()), OrAbsent(neighbor.port_id()),
                 OrAbsent(neighbor.port_description()), OrAbsent(neighbor.chassis_id()),
                 NumberIf(neighbor.has_port_vlan_id(), neighbor.port_vlan_id()),
                 NumberIf(neighbor.has_max_frame_bytes(), neighbor.max_frame_bytes()),
                 neighbor.has_pfc() ? ToText(PriorityMask(neighbor.pfc().enabled_mask()))
                                    : std::string(kAbsent),
                 neighbor.has_ets_configuration() ? SharesText(neighbor.ets_configuration())
                                                  : std::string(kAbsent),
                 RocePriority(neighbor), ToString(neighbor.received_at())});
  AddColumns(ElementsOf(snapshot.lldp_neighbors()), section);
  return section.Text(NoneOrUnknown(snapshot, {{"lldp", ""}, kRdmaClass, kNetClass},
                                    HasRoce(snapshot)
                                        ? "none received (sent every 30 s: --lldp-wait 35)"
                                        : "not listened for: no netdev of RDMA over Ethernet"));
}

std::string KernelLogText(const v1::NodeSnapshot& snapshot) {
  Section section("Kernel log", {"LAST", "COUNT", "CATEGORY", "SEVERITY", "LINE"});
  for (const v1::KernelLogLine& line : snapshot.kernel_log())
    section.Row({ToString(line.last_at()), Format("{}", line.count()), line.category(),
                 std::string(SeverityName(line.severity())), line.text()});
  AddColumns(ElementsOf(snapshot.kernel_log()), section);
  return section.Text(
      NoneOrUnknown(snapshot, {{"kernel_log", ""}}, "nothing of RDMA, NICs, GPUs, PCIe or IOMMU"));
}

}  // namespace fabric::inspect
