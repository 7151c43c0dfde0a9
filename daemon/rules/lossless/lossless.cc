#include "daemon/rules/lossless/lossless.h"

#include <utility>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "proto/ports.h"

namespace fabric::rules {

using fleet::PortView;

namespace {

constexpr int kDscps = 64;

std::optional<PriorityMask> MaskOf(const v1::DcbConfig* dcb) {
  if (dcb == nullptr || !dcb->has_pfc()) return {};
  return PriorityMask(dcb->pfc().enabled_mask());
}

}  // namespace

std::optional<Group> ByRailAndDriver(const Member& port) {
  if (!port.port->rail) return {};
  return Group{
      .rail = port.port->rail->value(), .like = DriverOf(*port.port), .part = KindOf(*port.port)};
}

const std::string& WireName(const PortView& port) {
  return port.wire != nullptr ? port.wire->name() : port.port->netdev();
}

const v1::DcbConfig* DcbOf(const PortView& port) {
  return CarriesRoce(port) ? port.Dcb() : nullptr;
}

const v1::CongestionControl* CongestionOf(const PortView& port) {
  if (!CarriesRoce(port) || port.wire == nullptr || !port.wire->has_congestion_control())
    return nullptr;
  return &port.wire->congestion_control();
}

std::optional<PriorityMask> PfcMask(const PortView& port) {
  return MaskOf(DcbOf(port));
}

bool HasPfc(const PortView& port) {
  const auto mask = PfcMask(port);
  return mask && !mask->empty();
}

bool PfcIsEqualOnNode(const PortView& port) {
  const auto mask = PfcMask(port);
  if (!mask) return false;
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  int equal = 0;
  // Reads the ports of the record: a PortView does not know its NodeView.
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& other : device.ports()) {
      if (other.state() != v1::PORT_STATE_ACTIVE || !fleet::IsRoce(device, other)) continue;
      const auto seen = MaskOf(fleet::DcbOf(snapshot, FindNetdev(snapshot, other.netdev())));
      if (!seen) continue;
      if (*seen != *mask) return false;
      ++equal;
    }
  return equal > 1;
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
  const auto mask = PfcMask(port);
  if (dcb == nullptr || !mask || mask->empty()) return {};
  const auto usual = PriorityOfDscp(*dcb, DataDscp(port).value_or(kUsualDataDscp));
  if (usual && mask->Has(*usual)) return usual;
  if (mask->count() == 1 && PfcIsEqualOnNode(port)) return mask->lowest();
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
  if (port.wire == nullptr || !port.wire->has_global_pause()) return Pause::kUnknown;
  const v1::GlobalPause& pause = port.wire->global_pause();
  return pause.rx() || pause.tx() ? Pause::kOn : Pause::kOff;
}

bool LacksPfcUnderLossless(const PortView& port) {
  return port.expected().lossless() && PfcMask(port) == PriorityMask() &&
         PauseOf(port) != Pause::kUnknown;
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

}  // namespace fabric::rules
