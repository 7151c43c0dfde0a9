#include "proto/names.h"

#include <array>
#include <vector>

#include "base/text.h"

namespace fabric {
namespace {

template <class Enum, std::size_t N>
std::string_view Pick(Enum value, const std::array<std::string_view, N>& names) {
  const auto index = static_cast<std::size_t>(value);
  return index < N && !names[index].empty() ? names[index] : std::string_view("?");
}

}  // namespace

std::string_view Name(v1::PortState state) {
  return Pick(state, std::to_array<std::string_view>(
                         {"", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}));
}
std::string_view Name(v1::PhysicalState state) {
  return Pick(state, std::to_array<std::string_view>({"", "Sleep", "Polling", "Disabled",
                                                      "PortConfigurationTraining", "LinkUp",
                                                      "LinkErrorRecovery", "Phy Test"}));
}
std::string_view Name(v1::LinkLayer layer) {
  return Pick(layer, std::to_array<std::string_view>({"", "InfiniBand", "Ethernet"}));
}
std::string_view Name(v1::Protocol protocol) {
  return Pick(protocol,
              std::to_array<std::string_view>({"", "InfiniBand", "RoCE", "iWARP", "OPA", "usNIC"}));
}
std::string_view Name(v1::GidType type) {
  return Pick(type, std::to_array<std::string_view>({"", "IB", "RoCE v1", "RoCE v2"}));
}
std::string_view Name(v1::NodeType type) {
  return Pick(type, std::to_array<std::string_view>({"", "CA", "switch", "router", "RNIC", "usNIC",
                                                     "usNIC UDP", "unspecified"}));
}
std::string_view Name(v1::OperState state) {
  return Pick(
      state, std::to_array<std::string_view>({"", "unknown", "notpresent", "down", "lowerlayerdown",
                                              "testing", "dormant", "up"}));
}
std::string_view Name(v1::Trust trust) {
  return Pick(trust, std::to_array<std::string_view>({"", "pcp", "dscp"}));
}
std::string_view Name(v1::StorageKind kind) {
  return Pick(kind, std::to_array<std::string_view>(
                        {"", "NFS over RDMA", "NVMe over RDMA", "Lustre over o2ib", "Ceph",
                         "GPUDirect Storage", "NFS over TCP", "NVMe over TCP", "SMB Direct", "iSER",
                         "SRP", "Lustre over TCP", "BeeGFS", "WEKA", "GPFS"}));
}
std::string_view Name(v1::Verdict verdict) {
  return Pick(verdict, std::to_array<std::string_view>({"", "PASS", "FAIL", "UNKNOWN"}));
}
std::string_view Name(v1::Severity severity) {
  return Pick(severity,
              std::to_array<std::string_view>({"", "info", "warning", "error", "critical"}));
}
std::string_view Name(v1::Scope scope) {
  return Pick(scope, std::to_array<std::string_view>(
                         {"", "port", "device", "node", "rail", "fleet", "link", "switch"}));
}
std::string_view Name(v1::RemedyReach reach) {
  return Pick(reach, std::to_array<std::string_view>({"", "nothing", "job", "port", "NIC", "node",
                                                      "switch port", "switch", "subnet"}));
}
std::string_view Name(v1::FindingState state) {
  return Pick(state, std::to_array<std::string_view>({"", "open", "resolved"}));
}
std::string_view Name(v1::ProbeStatus status) {
  return Pick(status,
              std::to_array<std::string_view>({"", "ok", "refused", "unreachable", "setup failed",
                                               "timed out", "failed", "cancelled"}));
}
std::string_view Name(v1::CampaignState state) {
  return Pick(state, std::to_array<std::string_view>({"", "running", "done", "cancelled"}));
}
std::string_view Name(v1::GapCode code) {
  return CodeName(static_cast<Code>(code));
}

std::string_view ProbeKindName(const v1::ProbeSpec& spec) {
  const auto* field = v1::ProbeSpec::descriptor()->FindFieldByNumber(spec.kind_case());
  return field == nullptr ? std::string_view() : std::string_view(field->name());
}

std::string SubjectName(const v1::Subject& subject) {
  if (!subject.device().empty() && subject.port() != 0)
    return Format("{}/{}/{}", subject.node(), subject.device(), subject.port());
  if (!subject.device().empty()) return Format("{}/{}", subject.node(), subject.device());
  if (!subject.netdev().empty()) return Format("{}/{}", subject.node(), subject.netdev());
  if (!subject.node().empty()) return subject.node();
  if (subject.has_rail()) return Format("rail {}", subject.rail());
  if (!subject.switch_name().empty()) return "switch " + subject.switch_name();
  return "fleet";
}

std::string BitRate(double bits_per_second) {
  constexpr std::array<std::string_view, 5> kUnits = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  std::size_t unit = 0;
  while (bits_per_second >= 999.5 && unit + 1 < kUnits.size()) {
    bits_per_second /= 1000;
    ++unit;
  }
  return Format("{:.3g} {}", bits_per_second, kUnits[unit]);
}

}  // namespace fabric
