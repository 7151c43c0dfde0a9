#include "agents/inspect/counter_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint64_t Max(unsigned bits) {
  return (std::uint64_t{1} << bits) - 1;
}

constexpr std::uint64_t kWide = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kWordBytes = 4;

constexpr PortRegister kPortRegisters[] = {
    {"VL15_dropped", Max(16), 1, "packets"},
    {"excessive_buffer_overrun_errors", Max(4), 1, "events"},
    {"link_downed", Max(8), 1, "events"},
    {"link_error_recovery", Max(8), 1, "events"},
    {"local_link_integrity_errors", Max(4), 1, "events"},
    {"multicast_rcv_packets", kWide, 1, "packets"},
    {"multicast_xmit_packets", kWide, 1, "packets"},
    {"port_rcv_constraint_errors", Max(8), 1, "packets"},
    {"port_rcv_data", kWide, kWordBytes, "bytes"},
    {"port_rcv_errors", Max(16), 1, "packets"},
    {"port_rcv_packets", kWide, 1, "packets"},
    {"port_rcv_remote_physical_errors", Max(16), 1, "packets"},
    {"port_rcv_switch_relay_errors", Max(16), 1, "packets"},
    {"port_xmit_constraint_errors", Max(8), 1, "packets"},
    {"port_xmit_data", kWide, kWordBytes, "bytes"},
    {"port_xmit_discards", Max(16), 1, "packets"},
    {"port_xmit_packets", kWide, 1, "packets"},
    {"port_xmit_wait", Max(32), 1, ""},  // Ticks, whose length depends on the device.
    {"symbol_error", Max(16), 1, "events"},
    {"unicast_rcv_packets", kWide, 1, "packets"},
    {"unicast_xmit_packets", kWide, 1, "packets"},
};

// A name of ethtool -S; '#' stands for the digit of a priority or class, '?' for r or t of rx, tx.
constexpr std::string_view kPauseCounters[] = {
    // mlx5
    "?x_prio#_bytes",
    "?x_bytes_phy",
    "rx_prio#_discards",
    "rx_prio#_buf_discard",
    "rx_prio#_cong_discard",
    "rx_prio#_marked",
    "?x_prio#_pause",
    "?x_prio#_pause_duration",
    "rx_prio#_pause_transition",
    "?x_global_pause",
    "?x_global_pause_duration",
    "rx_global_pause_transition",
    "tx_pause_storm_warning_events",
    "tx_pause_storm_error_events",
    "?x_discards_phy",
    "tx_errors_phy",
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
    "rx_pcs_symbol_err_phy",
    "link_down_events_phy",
    "?x_pause_ctrl_phy",
    "rx_oversize_pkts_phy",
    "rx_buffer_passed_thres_phy",
    "rx_out_of_buffer",
    "rx_steer_missed_packets",
    // mlx4
    "?x_pause_prio_#",
    "?x_pause_duration_prio_#",
    "?x_pause_transition_prio_#",
    "?x_pause",
    "?x_pause_duration",
    "?x_pause_transition",
    "rx_crc_errors",
    // bnxt_en
    "?x_pfc_ena_frames_pri#",
    "?x_pfc_frames",
    "?x_pause_frames",
    "pfc_pri#_?x_duration_us",
    "pfc_pri#_?x_transitions",
    "continuous_pause_events",
    "resume_pause_events",
    "continuous_roce_pause_events",
    "resume_roce_pause_events",
    "link_down_events",
    "rx_discard_packets_cos#",
    "rx_fcs_err_frames",
    "?x_stat_discard",
    "rx_pcs_symbol_err",
    "rx_buffer_passed_threshold",
    // ice
    "?x_priority_#_xon.nic",
    "?x_priority_#_xoff.nic",
    "link_xon_?x.nic",
    "link_xoff_?x.nic",
    "rx_dropped.nic",
    "rx_crc_errors.nic",
    "tx_dropped_link_down.nic",
    // ionic
    "frames_?x_pripause",
    "?x_pripause_#_1us_count",
    "rx_pause_1us_count",
    "hw_rx_dropped",
    "frames_rx_dropped",
    "frames_rx_bad_fcs",
    // hns3
    "mac_?x_pfc_pri#_pkt_num",
    "mac_?x_pfc_pri#_xoff_time",
    "mac_?x_mac_pause_num",
    "mac_rx_fcs_err_pkt_num",
    // qede
    "brb_discards",
    "no_buff_discards",
};

bool Matches(std::string_view pattern, std::string_view name) {
  return std::equal(pattern.begin(), pattern.end(), name.begin(), name.end(), [](char p, char c) {
    if (p == '#') return c >= '0' && c <= '7';
    if (p == '?') return c == 'r' || c == 't';
    return p == c;
  });
}

struct UnitRule {
  std::string_view part;
  std::string_view unit;
};

// The first part that a name holds decides: durations of pauses before pauses.
constexpr UnitRule kUnitRules[] = {
    {"_duration", "microseconds"},
    {"_1us_count", "microseconds"},
    {"xoff_time", ""},  // Not stated by the driver.
    {"transition", "events"},
    {"_events", "events"},
    {"bytes", "bytes"},
    {"Octets", "bytes"},
    {"pause", "frames"},
    {"pfc_", "frames"},
    {"xon", "frames"},
    {"xoff", "frames"},
    {"_pkt", "packets"},
    {"packets", "packets"},
    {"Pkts", "packets"},
    {"discard", "packets"},
    {"dropped", "packets"},
    {"crc_err", "packets"},
    {"fcs_err", "packets"},
    {"bad_fcs", "packets"},
    {"_marked", "packets"},
    {"cnp_sent", "packets"},
    {"cnp_handled", "packets"},
    {"cnp_ignored", "packets"},
    {"out_of_sequence", "packets"},
    {"_err", "events"},
    {"_exceeded", "events"},
    {"_retrans", "events"},
    {"out_of_buffer", "events"},
    {"_request", "events"},
    {"link_downed", "events"},
    {"_nak", "events"},
};

}  // namespace

const PortRegister* FindPortRegister(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPortRegisters), std::end(kPortRegisters),
                                         [&](const PortRegister& row) { return row.name == name; });
  return found == std::end(kPortRegisters) ? nullptr : found;
}

Result<v1::Counter> ParsePortCounter(std::string_view name, std::string_view text) {
  // Ports without a performance management agent; old kernels print this instead of failing.
  if (text.starts_with("N/A"))
    return Status(Code::kUnimplemented, "the port has no counters: " + Quoted(text));
  ASSIGN_OR_RETURN(const auto value, ParseNumber<std::uint64_t>(text));
  v1::Counter counter;
  counter.set_name(std::string(name));
  counter.set_source(v1::COUNTER_SOURCE_PORT);
  counter.set_value(value);
  const PortRegister* const row = FindPortRegister(name);
  if (row == nullptr) return counter;
  if (value > kWide / row->factor)
    return Status(Code::kDataLoss,
                  Format("expected at most {}, saw {}", kWide / row->factor, value));
  counter.set_value(value * row->factor);
  counter.set_unit(std::string(row->unit));
  // Beyond the maximum: a driver that has wider registers. Wide ones have 32 bits where the device
  // lacks the extended counters, and stop there too.
  counter.set_saturated(value == row->max || (row->max == kWide && value == Max(32)));
  return counter;
}

std::string_view UnitOf(std::string_view counter) {
  for (const auto& [part, unit] : kUnitRules)
    if (counter.find(part) != std::string_view::npos) return unit;
  return {};
}

bool IsPauseCounter(std::string_view name) {
  return std::any_of(std::begin(kPauseCounters), std::end(kPauseCounters),
                     [&](std::string_view pattern) { return Matches(pattern, name); });
}

}  // namespace fabric::inspect
