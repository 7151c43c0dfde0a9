#include "daemon/rules/lossless/lossless.h"

#include <bit>
#include <utility>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "proto/ports.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

constexpr int kDscps = 64;

bool Announced(const v1::DcbConfig& dcb) {
  return !dcb.source().empty() || dcb.has_pfc() || dcb.has_trust() || dcb.has_ets();
}

}  // namespace

std::optional<Group> ByRailAndDriver(const Member& port) {
  if (!port.port->rail) return {};
  return Group{
      .rail = port.port->rail->value(), .like = DriverOf(*port.port), .part = KindOf(*port.port)};
}

const std::string& WireName(const PortView& port) {
  const v1::NetInterface* const wire = WireOf(port);
  return wire != nullptr ? wire->name() : port.port->netdev();
}

const v1::DcbConfig* DcbOf(const PortView& port) {
  if (!CarriesRoce(port)) return nullptr;
  const v1::DcbConfig* const dcb = SettingsOf(port);
  return dcb != nullptr && Announced(*dcb) ? dcb : nullptr;
}

const v1::CongestionControl* CongestionOf(const PortView& port) {
  if (!CarriesRoce(port)) return nullptr;
  const v1::NetInterface* const wire = WireOf(port);
  return wire != nullptr && wire->has_congestion_control() ? &wire->congestion_control() : nullptr;
}

std::optional<std::uint32_t> LosslessMask(const PortView& port) {
  if (!CarriesRoce(port)) return {};
  const auto mask = PfcMask(port);
  return mask ? std::optional(static_cast<std::uint32_t>(*mask)) : std::nullopt;
}

bool Has(std::uint32_t mask, std::uint32_t priority) {
  return priority < 8 && (mask >> priority & 1U) != 0;
}

bool PfcAlikeOnNode(const PortView& port) {
  const auto mask = LosslessMask(port);
  if (!mask) return false;
  int alike = 0;
  // Found by the ports of the record: a PortView does not know its NodeView.
  for (const v1::RdmaDevice& device : port.node->snapshot.rdma_devices())
    for (const v1::Port& other : device.ports()) {
      if (other.state() != v1::PORT_STATE_ACTIVE || !fleet::IsRoce(device, other)) continue;
      const v1::NetInterface* const netdev = FindNetdev(port.node->snapshot, other.netdev());
      if (netdev == nullptr || !netdev->dcb().has_pfc()) continue;
      if ((netdev->dcb().pfc().enabled_mask() & 0xffU) != *mask) return false;
      ++alike;
    }
  return alike > 1;
}

std::optional<std::uint32_t> PriorityOfDscp(const v1::DcbConfig& dcb, std::uint32_t dscp) {
  if (dcb.trust() != v1::TRUST_DSCP || dcb.dscp_to_priority_size() != kDscps || dscp >= kDscps)
    return {};
  return dcb.dscp_to_priority(static_cast<int>(dscp));
}

std::optional<std::uint32_t> DataDscp(const PortView& port) {
  if (port.expected().has_data_dscp()) return port.expected().data_dscp();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_roce_dscp()) return control->roce_dscp();
  return {};
}

std::optional<std::uint32_t> DataPriority(const PortView& port) {
  if (port.expected().has_data_priority()) return port.expected().data_priority();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_roce_priority()) return control->roce_priority();
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto mask = LosslessMask(port);
  if (dcb == nullptr || !mask || *mask == 0) return {};
  const auto usual = PriorityOfDscp(*dcb, DataDscp(port).value_or(kUsualDataDscp));
  if (usual && Has(*mask, *usual)) return usual;
  if (std::popcount(*mask) == 1 && PfcAlikeOnNode(port))
    return static_cast<std::uint32_t>(std::countr_zero(*mask));
  return {};
}

std::optional<std::uint32_t> ClassOf(const v1::Ets& ets, std::uint32_t priority) {
  if (priority >= static_cast<std::uint32_t>(ets.priority_to_tc_size())) return {};
  return ets.priority_to_tc(static_cast<int>(priority));
}

std::optional<std::uint32_t> ShareOf(const v1::Ets& ets, std::uint32_t traffic_class) {
  const int index = static_cast<int>(traffic_class);
  if (index < 0 || index >= ets.tc_algorithm_size() || index >= ets.tc_tx_bandwidth_percent_size())
    return {};
  if (ets.tc_algorithm(index) != kTsaEts) return {};
  return ets.tc_tx_bandwidth_percent(index);
}

Pause PauseOf(const PortView& port) {
  const v1::NetInterface* const wire = WireOf(port);
  if (wire == nullptr || !wire->has_global_pause()) return Pause::kUnknown;
  return wire->global_pause().rx() || wire->global_pause().tx() ? Pause::kOn : Pause::kOff;
}

bool LacksPfcUnderLossless(const PortView& port) {
  return port.expected().lossless() && LosslessMask(port) == 0U && PauseOf(port) != Pause::kUnknown;
}

std::string QosSource(const PortView& port) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb != nullptr && dcb->source().starts_with("sys/")) return dcb->source();
  return "netlink dcb " + WireName(port);
}

std::string QosSource(const Member& member) {
  return QosSource(*member.port);
}

std::string CongestionSource(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control != nullptr && !control->source().empty()) return control->source();
  return Format("congestion control of {}", WireName(*member.port));
}

std::string PauseSource(const PortView& port) {
  return "ethtool pause " + WireName(port);
}

void FailOn(const PortView& port, Mismatch mismatch, std::vector<v1::Remedy> remedies,
            Verdicts& out) {
  std::string title = Format("{} {}, expected {} ({})", mismatch.what, mismatch.seen,
                             mismatch.expected, mismatch.basis);
  out.Fail(port.Subject(), std::move(title),
           {ToEvidence(*port.node, {.what = std::string(mismatch.what),
                                    .expected = std::move(mismatch.expected),
                                    .seen = std::move(mismatch.seen),
                                    .source = std::move(mismatch.source),
                                    .basis = std::move(mismatch.basis)})},
           std::move(remedies));
}

std::vector<v1::Remedy> WithMlnxQos(const PortView& port, RemedyText any,
                                    std::string mlnx_qos_options) {
  const bool interrupts = any.interrupts_traffic;
  std::vector<v1::Remedy> remedies = {ToRemedy(std::move(any))};
  if (DriverOf(port).starts_with("mlx5"))
    remedies.push_back(
        ToRemedy({.platform = "mlx5",
                  .command = Format("mlnx_qos -i {} {}", WireName(port), mlnx_qos_options),
                  .interrupts_traffic = interrupts,
                  .note = "The same with NVIDIA's tool."}));
  return remedies;
}

std::vector<v1::Remedy> SetCongestion(const PortView& port, std::string_view mlx5,
                                      std::string_view bnxt, std::uint64_t number) {
  const v1::CongestionControl* const control = CongestionOf(port);
  const std::string source = control != nullptr ? control->source() : std::string();
  if (DriverOf(port).starts_with("bnxt"))
    return {ToRemedy({.platform = "bnxt",
                      .command = Format("cd / && echo {0} > {1}/{2} && echo 1 > {1}/apply", number,
                                        source, bnxt)})};
  if (mlx5.empty()) return {};
  // The kernel's own files below debugfs have names of their own: np_cnp_dscp.
  if (source.find("debug") != std::string::npos)
    return {ToRemedy({.platform = "mlx5",
                      .command = Format("cd / && grep . {}/*", source),
                      .note = "Compare with a good port, then write the number that differs."})};
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("cd / && echo {} > {}/{}", number, source, mlx5),
                    .note = "MLNX_OFED's file; lost at reboot unless a script sets it."})};
}

}  // namespace fabric::rules
