#include "tests/testing/lossless.h"

#include "base/text.h"

namespace fabric::testing {
namespace {

constexpr std::uint32_t kPriorities = 8;
constexpr std::uint32_t kLossless = 3;

void FillEts(v1::Ets& ets) {
  constexpr std::uint32_t kTsaEts = 2;
  ets.set_capability(kPriorities);
  for (std::uint32_t priority = 0; priority < kPriorities; ++priority) {
    ets.add_priority_to_tc(priority);
    ets.add_tc_algorithm(kTsaEts);
    ets.add_tc_tx_bandwidth_percent(12 + priority % 2);
  }
}

void AddParameter(v1::CongestionControl& control, const char* name, std::uint64_t value,
                  const char* unit) {
  v1::CongestionParameter& parameter = *control.add_parameters();
  parameter.set_name(name);
  parameter.set_value(value);
  parameter.set_unit(unit);
}

void FillMlx5(const std::string& netdev, v1::CongestionControl& control) {
  control.set_source(Format("sys/class/net/{}/ecn", netdev));
  for (std::uint32_t priority = 0; priority < kPriorities; ++priority) {
    control.add_notification_point_enabled(true);
    control.add_reaction_point_enabled(true);
  }
  control.set_min_time_between_cnps_us(4);
  AddParameter(control, "rpg_ai_rate", 5, "Mbit/s");
  AddParameter(control, "rpg_hai_rate", 50, "Mbit/s");
}

void FillBnxt(v1::CongestionControl& control) {
  control.set_source("sys/kernel/config/bnxt_re/bnxt_re0/ports/1/cc");
  control.set_ecn_enabled(true);
  control.set_mode("dcqcn-p");
  control.set_roce_dscp(26);
  control.set_roce_priority(kLossless);
}

}  // namespace

void LayOutBuffers(v1::DcbConfig& dcb, std::uint32_t lossless_mask) {
  if (!dcb.has_buffers()) return;
  dcb.mutable_buffers()->clear_priority_to_buffer();
  for (std::uint32_t priority = 0; priority < kPriorities; ++priority)
    dcb.mutable_buffers()->add_priority_to_buffer(lossless_mask >> priority & 1U);
}

void AddLosslessSettings(v1::NetInterface& netdev) {
  v1::DcbConfig& dcb = *netdev.mutable_dcb();
  dcb.set_source("dcb netlink");
  FillEts(*dcb.mutable_ets());
  for (std::uint32_t tc = 0; tc < kPriorities; ++tc) dcb.add_max_rate_bps(0);
  netdev.mutable_global_pause()->set_rx(false);
  v1::CongestionControl& control = *netdev.mutable_congestion_control();
  control.set_cnp_dscp(48);
  control.set_cnp_priority(6);
  if (!netdev.driver().starts_with("mlx5")) {
    FillBnxt(control);
    dcb.set_roce_v2_priority(kLossless);
    return;
  }
  FillMlx5(netdev.name(), control);
  netdev.set_pfc_storm_prevention_ms(100);
  dcb.set_cable_length_m(7);
  for (const std::uint32_t bytes : {130'944U, 131'072U, 0U, 0U, 0U, 0U, 0U, 0U})
    dcb.mutable_buffers()->add_size_bytes(bytes);
  LayOutBuffers(dcb, 1U << kLossless);
}

}  // namespace fabric::testing
