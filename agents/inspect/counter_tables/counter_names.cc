#include "agents/inspect/counter_tables/counter_names.h"

#include <array>

namespace fabric::inspect {
namespace {

constexpr NeutralCounter kTraffic[] = {
    {"rdma_tx_bytes", "bytes", "transmitted_bytes", "RDMA bytes sent."},
    {"rdma_rx_bytes", "bytes", "received_bytes", "RDMA bytes received."},
    {"rdma_tx_packets", "packets", "transmitted_packets", "RDMA packets sent."},
    {"rdma_rx_packets", "packets", "received_packets", "RDMA packets received."},
    {"unicast_tx_packets", "packets", "unicast_transmitted_packets", "Unicast packets sent."},
    {"unicast_rx_packets", "packets", "unicast_received_packets", "Unicast packets received."},
    {"multicast_tx_bytes", "bytes", "multicast_transmitted_bytes", "Multicast bytes sent."},
    {"multicast_rx_bytes", "bytes", "multicast_received_bytes", "Multicast bytes received."},
    {"multicast_tx_packets", "packets", "multicast_transmitted_packets", "Multicast packets sent."},
    {"multicast_rx_packets", "packets", "multicast_received_packets",
     "Multicast packets received."},
    {"rx_write_requests", "events", "write_requests_received", "RDMA write requests received."},
    {"rx_read_requests", "events", "read_requests_received", "RDMA read requests received."},
    {"rx_atomic_requests", "events", "atomic_requests_received", "Atomic requests received."},
    {"rx_send_requests", "events", "send_requests_received", "Send requests received."},
    {"tx_write_requests", "events", "write_requests_sent", "RDMA write requests sent."},
    {"tx_read_requests", "events", "read_requests_sent", "RDMA read requests sent."},
    {"tx_atomic_requests", "events", "atomic_requests_sent", "Atomic requests sent."},
    {"tx_send_requests", "events", "send_requests_sent", "Send requests sent."},
};

constexpr NeutralCounter kCongestion[] = {
    {"ecn_marked_rx_packets", "packets", "ecn_marked_packets",
     "Packets received with a congestion mark."},
    {"cnp_tx_packets", "packets", "congestion_notifications_sent",
     "Congestion notification packets sent."},
    {"cnp_rx_packets", "packets", "congestion_notifications_received",
     "Congestion notification packets received."},
    {"cnp_rx_handled", "packets", "congestion_notifications_handled",
     "Congestion notification packets that slowed a sender down."},
    {"cnp_rx_ignored", "packets", "congestion_notifications_ignored",
     "Congestion notification packets ignored."},
};

constexpr NeutralCounter kTransport[] = {
    {"out_of_sequence", "packets", "out_of_sequence",
     "Packets that arrived out of order: loss or several paths."},
    {"seq_nak_received", "events", "sequence_naks_received",
     "Negative acknowledgements of the sequence received."},
    {"seq_nak_sent", "events", "sequence_naks_sent",
     "Negative acknowledgements of the sequence sent."},
    {"implied_nak", "events", "implied_naks", "Acknowledgements that skipped an expected answer."},
    {"ack_timeout", "events", "ack_timeouts", "Times the timer of an acknowledgement ran out."},
    {"retransmitted_packets", "packets", "retransmitted_packets", "RDMA packets sent again."},
    {"retransmitted_bytes", "bytes", "retransmitted_bytes", "RDMA bytes sent again."},
    {"adaptive_retrans", "events", "adaptive_retransmissions",
     "Retransmissions that the device made on its own account."},
    {"adaptive_retrans_timeout", "events", "adaptive_retransmission_timeouts",
     "Timeouts of retransmissions that the device made on its own account."},
    {"retry_exceeded", "events", "retries_exceeded", "Work requests given up after all retries."},
    {"rnr_nak_received", "events", "rnr_naks_received", "Receiver-not-ready answers received."},
    {"rnr_nak_sent", "events", "rnr_naks_sent", "Receiver-not-ready answers sent."},
    {"rnr_retry_exceeded", "events", "rnr_retries_exceeded",
     "Work requests given up because the receiver was not ready."},
    {"duplicate_request", "packets", "duplicate_requests", "Duplicate requests received."},
    {"out_of_buffer", "packets", "out_of_buffer", "Packets dropped because no receive was posted."},
    {"remote_access_err", "events", "remote_access_errors", "Remote access errors of requests."},
    {"responder_access_err", "events", "responder_access_errors",
     "Requests received that had no right to the memory they named."},
    {"remote_invalid_request", "events", "remote_invalid_requests",
     "Requests that the other side called invalid."},
    {"remote_operation_err", "events", "remote_operation_errors",
     "Requests that the other side could not complete."},
    {"local_length_err", "events", "local_length_errors",
     "Messages received that were longer than the receive that was posted."},
    {"local_protection_err", "events", "local_protection_errors",
     "Work requests for memory that was not theirs."},
    {"requester_cqe_err", "events", "requester_completion_errors",
     "Completions with an error at the requester. Some devices also count flushed completions."},
    {"responder_cqe_err", "events", "responder_completion_errors",
     "Completions with an error at the responder. Some devices also count flushed completions."},
    {"requester_cqe_flush", "events", "requester_flushed_completions",
     "Completions flushed at the requester; normal when a job ends."},
    {"responder_cqe_flush", "events", "responder_flushed_completions",
     "Completions flushed at the responder; normal when a job ends."},
    {"icrc_errors", "packets", "icrc_errors", "RoCE packets with a bad invariant checksum."},
    {"tcp_retransmitted_segments", "packets", "tcp_retransmitted_segments",
     "Segments that iWARP sent again."},
};

constexpr NeutralCounter kLink[] = {
    {"symbol_errors", "events", "symbol_errors", "Symbol errors on a lane of the link."},
    {"link_error_recoveries", "events", "link_error_recoveries",
     "Times the link recovered by retraining."},
    {"link_down_events", "events", "link_downs", "Times the link went down."},
    {"rx_errors", "packets", "receive_errors", "Packets received with an error."},
    {"rx_remote_physical_errors", "packets", "receive_remote_physical_errors",
     "Packets received that were marked bad upstream."},
    {"rx_switch_relay_errors", "packets", "receive_switch_relay_errors",
     "Packets that a switch could not forward."},
    {"rx_constraint_errors", "packets", "receive_constraint_errors",
     "Packets received against a partition or raw filter."},
    {"tx_constraint_errors", "packets", "transmit_constraint_errors",
     "Packets not sent because of a partition or raw filter."},
    {"tx_errors", "packets", "transmit_errors", "Packets that could not be sent."},
    {"rx_discards", "packets", "receive_discards",
     "Packets dropped on receipt: the port was out of buffers."},
    {"tx_discards", "packets", "transmit_discards",
     "Packets dropped before sending: port down or congested."},
    {"credit_wait", "ticks", "transmit_wait_ticks",
     "Ticks of the device with data to send and no credit."},
    {"local_link_integrity_errors", "events", "local_link_integrity_errors",
     "Times local physical errors passed their threshold."},
    {"buffer_overrun_errors", "events", "buffer_overrun_errors", "Consecutive buffer overruns."},
    {"vl15_drops", "packets", "vl15_drops", "Management packets dropped for lack of a buffer."},
    {"fcs_errors", "packets", "fcs_errors", "Frames received with a bad checksum."},
    {"fec_corrected_bits", "events", "fec_corrected_bits",
     "Bits corrected by forward error correction."},
    {"fec_corrected_blocks", "events", "fec_corrected_blocks",
     "Blocks corrected by forward error correction."},
    {"fec_uncorrectable_blocks", "events", "fec_uncorrectable_blocks",
     "Blocks that forward error correction could not correct."},
    {"link_local_faults", "events", "link_local_faults", "Faults of the link seen by this side."},
    {"link_remote_faults", "events", "link_remote_faults",
     "Faults of the link reported by the other side."},
    {"module_unplugs", "events", "module_unplugs", "Times the module was removed."},
    {"module_high_temperatures", "events", "module_high_temperatures",
     "Times the module grew too hot."},
    {"module_bus_errors", "events", "module_bus_errors",
     "Times the management bus of the module did not answer."},
    {"module_shorts", "events", "module_shorts", "Times a shorted module or cable was found."},
};

constexpr NeutralCounter kWire[] = {
    {"wire_tx_bytes", "bytes", "transmitted_bytes", "Bytes sent on the wire."},
    {"wire_rx_bytes", "bytes", "received_bytes", "Bytes received on the wire."},
    {"wire_tx_packets", "packets", "transmitted_packets", "Packets sent on the wire."},
    {"wire_rx_packets", "packets", "received_packets", "Packets received on the wire."},
    {"tx_bytes_prio#", "bytes", "priority_transmitted_bytes", "Bytes sent on a priority."},
    {"rx_bytes_prio#", "bytes", "priority_received_bytes", "Bytes received on a priority."},
    {"tx_packets_prio#", "packets", "priority_transmitted_packets", "Packets sent on a priority."},
    {"rx_packets_prio#", "packets", "priority_received_packets", "Packets received on a priority."},
    {"rx_discards_prio#", "packets", "priority_receive_discards",
     "Packets of a priority dropped on receipt."},
    {"rx_congestion_discards_prio#", "packets", "priority_receive_congestion_discards",
     "Packets of a priority dropped on receipt because its buffer was congested."},
    {"ecn_marked_prio#", "packets", "priority_ecn_marked_packets",
     "Packets of a priority that this device marked as congested."},
    {"rx_buffer_threshold_events", "events", "receive_buffer_threshold_events",
     "Times the receive buffer filled beyond its threshold."},
};

constexpr NeutralCounter kPause[] = {
    {"pfc_tx_frames_prio#", "frames", "pfc_frames_sent", "PFC frames sent."},
    {"pfc_rx_frames_prio#", "frames", "pfc_frames_received", "PFC frames received."},
    {"pfc_tx_frames", "frames", "pfc_frames_sent_all_priorities",
     "PFC frames sent, of all priorities."},
    {"pfc_rx_frames", "frames", "pfc_frames_received_all_priorities",
     "PFC frames received, of all priorities."},
    {"pfc_tx_duration_us_prio#", "microseconds", "pfc_pauses_sent_seconds",
     "Time that this side paused a priority."},
    {"pfc_rx_duration_us_prio#", "microseconds", "pfc_pauses_received_seconds",
     "Time that a priority was paused by the other side."},
    {"pfc_tx_transitions_prio#", "events", "pfc_pauses_sent",
     "Times that this side began to pause a priority."},
    {"pfc_rx_transitions_prio#", "events", "pfc_pauses_received",
     "Times that a priority went from running to paused."},
    {"pfc_storm_events", "events", "pfc_storms",
     "Pause storms: the card stopped pausing after its watermark."},
    {"pfc_storm_warnings", "events", "pfc_storm_warnings",
     "Times the card was close to a pause storm."},
    {"pause_tx_frames", "frames", "pause_frames_sent", "Global pause frames sent (802.3x)."},
    {"pause_rx_frames", "frames", "pause_frames_received",
     "Global pause frames received (802.3x)."},
    {"pause_tx_duration_us", "microseconds", "pauses_sent_seconds",
     "Time that this side paused the whole link."},
    {"pause_rx_duration_us", "microseconds", "pauses_received_seconds",
     "Time that the whole link was paused by the other side."},
    {"pause_tx_transitions", "events", "pauses_sent",
     "Times that this side began to pause the whole link."},
    {"pause_rx_transitions", "events", "pauses_received",
     "Times that the whole link went from running to paused."},
};

constexpr NeutralCounter kPcie[] = {
    {"pcie_read_stalled_percent", "percent", "pcie_read_stalled_ratio",
     "Part of the last second with a PCIe read waiting for credits."},
    {"pcie_write_stalled_percent", "percent", "pcie_write_stalled_ratio",
     "Part of the last second with a PCIe write waiting for credits."},
    {"pcie_read_stall_events", "events", "pcie_read_stalls",
     "Seconds in which PCIe reads were stalled for more than 30 percent."},
    {"pcie_write_stall_events", "events", "pcie_write_stalls",
     "Seconds in which PCIe writes were stalled for more than 30 percent."},
    {"pcie_rx_signal_errors", "events", "pcie_receive_signal_errors",
     "Times the PCIe link retrained because of errors in what was received."},
    {"pcie_tx_signal_errors", "events", "pcie_transmit_signal_errors",
     "Times the PCIe link retrained because of errors that the other side saw."},
    {"pcie_buffer_overflows", "packets", "pcie_buffer_overflows",
     "Packets dropped because the buffer towards PCIe was full."},
};

constexpr std::span<const NeutralCounter> kParts[] = {kTraffic, kCongestion, kTransport, kLink,
                                                      kWire,    kPause,      kPcie};

constexpr std::size_t Size() {
  std::size_t size = 0;
  for (const auto part : kParts) size += part.size();
  return size;
}

// One list; it is written in parts so that it can be read.
constexpr auto kAll = [] {
  std::array<NeutralCounter, Size()> all{};
  std::size_t at = 0;
  for (const auto part : kParts)
    for (const NeutralCounter& row : part) all[at++] = row;
  return all;
}();

}  // namespace

std::span<const NeutralCounter> AllNeutralCounters() {
  return kAll;
}

std::optional<std::string_view> MatchPriority(std::string_view pattern, std::string_view name) {
  if (pattern.size() != name.size()) return std::nullopt;
  std::string_view priority;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (pattern[at] == name[at]) continue;
    if (pattern[at] != '#' || name[at] < '0' || name[at] > '7') return std::nullopt;
    priority = name.substr(at, 1);
  }
  return priority;
}

std::optional<FoundNeutral> FindNeutralCounter(std::string_view name) {
  for (const NeutralCounter& row : kAll)
    if (const auto priority = MatchPriority(row.name, name))
      return FoundNeutral{.counter = &row, .priority = *priority};
  return std::nullopt;
}

bool IsGaugeUnit(std::string_view unit) {
  return unit == "percent" || unit == "objects";
}

}  // namespace fabric::inspect
