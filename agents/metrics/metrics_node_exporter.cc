// The collector "infiniband" of node_exporter 1.5 and later: collector/infiniband_linux.go and, for
// what it reads, procfs's sysfs/class_infiniband.go. Names, labels and help are its interface, and
// so are here to the letter.
#include <algorithm>
#include <string>

#include "agents/metrics/metric_families.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

constexpr auto kPort = v1::COUNTER_SOURCE_PORT;
constexpr auto kHw = v1::COUNTER_SOURCE_HW;

struct Row {
  v1::CounterSource source;
  std::string_view file;
  std::string_view metric;  // After "node_infiniband_"
  std::string_view help;
};

constexpr Row kRows[] = {
    // Of counters_ext, before Linux 4.5.
    {kPort, "port_multicast_rcv_packets", "legacy_multicast_packets_received_total",
     "Number of multicast packets received"},
    {kPort, "port_multicast_xmit_packets", "legacy_multicast_packets_transmitted_total",
     "Number of multicast packets transmitted"},
    {kPort, "port_rcv_data_64", "legacy_data_received_bytes_total",
     "Number of data octets received on all links"},
    {kPort, "port_rcv_packets_64", "legacy_packets_received_total",
     "Number of data packets received on all links"},
    {kPort, "port_unicast_rcv_packets", "legacy_unicast_packets_received_total",
     "Number of unicast packets received"},
    {kPort, "port_unicast_xmit_packets", "legacy_unicast_packets_transmitted_total",
     "Number of unicast packets transmitted"},
    {kPort, "port_xmit_data_64", "legacy_data_transmitted_bytes_total",
     "Number of data octets transmitted on all links"},
    {kPort, "port_xmit_packets_64", "legacy_packets_transmitted_total",
     "Number of data packets received on all links"},

    {kPort, "excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors_total",
     "Number of times that OverrunErrors consecutive flow control update periods occurred, each "
     "having at least one overrun error."},
    {kPort, "link_downed", "link_downed_total",
     "Number of times the link failed to recover from an error state and went down"},
    {kPort, "link_error_recovery", "link_error_recovery_total",
     "Number of times the link successfully recovered from an error state"},
    {kPort, "local_link_integrity_errors", "local_link_integrity_errors_total",
     "Number of times that the count of local physical errors exceeded the threshold specified by "
     "LocalPhyErrors."},
    {kPort, "multicast_rcv_packets", "multicast_packets_received_total",
     "Number of multicast packets received (including errors)"},
    {kPort, "multicast_xmit_packets", "multicast_packets_transmitted_total",
     "Number of multicast packets transmitted (including errors)"},
    {kPort, "port_rcv_constraint_errors", "port_constraint_errors_received_total",
     "Number of packets received on the switch physical port that are discarded"},
    {kPort, "port_xmit_constraint_errors", "port_constraint_errors_transmitted_total",
     "Number of packets not transmitted from the switch physical port"},
    {kPort, "port_rcv_data", "port_data_received_bytes_total",
     "Number of data octets received on all links"},
    {kPort, "port_xmit_data", "port_data_transmitted_bytes_total",
     "Number of data octets transmitted on all links"},
    {kPort, "port_rcv_discards", "port_discards_received_total",
     "Number of inbound packets discarded by the port because the port is down or congested"},
    {kPort, "port_xmit_discards", "port_discards_transmitted_total",
     "Number of outbound packets discarded by the port because the port is down or congested"},
    {kPort, "port_rcv_errors", "port_errors_received_total",
     "Number of packets containing an error that were received on this port"},
    {kPort, "port_rcv_packets", "port_packets_received_total",
     "Number of packets received on all VLs by this port (including errors)"},
    {kPort, "port_xmit_packets", "port_packets_transmitted_total",
     "Number of packets transmitted on all VLs from this port (including errors)"},
    {kPort, "port_rcv_remote_physical_errors", "port_receive_remote_physical_errors_total",
     "Number of packets marked with the EBP (End of Bad Packet) delimiter received on the port."},
    {kPort, "port_rcv_switch_relay_errors", "port_receive_switch_relay_errors_total",
     "Number of packets that could not be forwarded by the switch."},
    {kPort, "port_xmit_wait", "port_transmit_wait_total",
     "Number of ticks during which the port had data to transmit but no data was sent during the "
     "entire tick"},
    {kPort, "symbol_error", "symbol_error_total",
     "Number of minor link errors detected on one or more physical lanes."},
    {kPort, "unicast_rcv_packets", "unicast_packets_received_total",
     "Number of unicast packets received (including errors)"},
    {kPort, "unicast_xmit_packets", "unicast_packets_transmitted_total",
     "Number of unicast packets transmitted (including errors)"},
    {kPort, "VL15_dropped", "vl15_dropped_total",
     "Number of incoming VL15 packets dropped due to resource limitations."},

    // Since 1.6.
    {kHw, "duplicate_request", "duplicate_requests_packets_total",
     "The number of received packets. A duplicate request is a request that had been previously "
     "executed."},
    {kHw, "implied_nak_seq_err", "implied_nak_seq_errors_total",
     "The number of time the requested decided an ACK. with a PSN larger than the expected PSN for "
     "an RDMA read or response."},
    {kHw, "local_ack_timeout_err", "local_ack_timeout_errors_total",
     "The number of times QP's ack timer expired for RC, XRC, DCT QPs at the sender side. The QP "
     "retry limit was not exceed, therefore it is still recoverable error."},
    {kHw, "np_cnp_sent", "np_cnp_packets_sent_total",
     "The number of CNP packets sent by the Notification Point when it noticed congestion "
     "experienced in the RoCEv2 IP header (ECN bits). The counters was added in MLNX_OFED 4.1"},
    {kHw, "np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received_total",
     "The number of RoCEv2 packets received by the notification point which were marked for "
     "experiencing the congestion (ECN bits where '11' on the ingress RoCE traffic) . The counters "
     "was added in MLNX_OFED 4.1"},
    {kHw, "out_of_buffer", "out_of_buffer_drops_total",
     "The number of drops occurred due to lack of WQE for the associated QPs."},
    {kHw, "out_of_sequence", "out_of_sequence_packets_received_total",
     "The number of out of sequence packets received."},
    {kHw, "packet_seq_err", "packet_sequence_errors_total",
     "The number of received NAK sequence error packets. The QP retry limit was not exceeded."},
    {kHw, "req_cqe_error", "req_cqes_errors_total",
     "The number of times requester detected CQEs completed with errors. The counters was added in "
     "MLNX_OFED 4.1"},
    {kHw, "req_cqe_flush_error", "req_cqes_flush_errors_total",
     "The number of times requester detected CQEs completed with flushed errors. The counters was "
     "added in MLNX_OFED 4.1"},
    {kHw, "req_remote_access_errors", "req_remote_access_errors_total",
     "The number of times requester detected remote access errors. The counters was added in "
     "MLNX_OFED 4.1"},
    {kHw, "req_remote_invalid_request", "req_remote_invalid_request_errors_total",
     "The number of times requester detected remote invalid request errors. The counters was added "
     "in MLNX_OFED 4.1"},
    {kHw, "resp_cqe_error", "resp_cqes_errors_total",
     "The number of times responder detected CQEs completed with errors. The counters was added in "
     "MLNX_OFED 4.1"},
    {kHw, "resp_cqe_flush_error", "resp_cqes_flush_errors_total",
     "The number of times responder detected CQEs completed with flushed errors. The counters was "
     "added in MLNX_OFED 4.1"},
    {kHw, "resp_local_length_error", "resp_local_length_errors_total",
     "The number of times responder detected local length errors. The counters was added in "
     "MLNX_OFED 4.1"},
    {kHw, "resp_remote_access_errors", "resp_remote_access_errors_total",
     "The number of times responder detected remote access errors. The counters was added in "
     "MLNX_OFED 4.1"},
    {kHw, "rnr_nak_retry_err", "rnr_nak_retry_packets_received_total",
     "The number of received RNR NAK packets. The QP retry limit was not exceeded."},
    {kHw, "roce_adp_retrans", "roce_adp_retransmits_total",
     "The number of adaptive retransmissions for RoCE traffic. The counter was added in MLNX_OFED "
     "rev 5.0-1.0.0.0 and kernel v5.6.0"},
    {kHw, "roce_adp_retrans_to", "roce_adp_retransmits_timeout_total",
     "The number of times RoCE traffic reached timeout due to adaptive retransmission. The counter "
     "was added in MLNX_OFED rev 5.0-1.0.0.0 and kernel v5.6.0"},
    {kHw, "roce_slow_restart", "roce_slow_restart_used_total",
     "The number of times RoCE slow restart was used. The counter was added in MLNX_OFED rev "
     "5.0-1.0.0.0 and kernel v5.6.0"},
    {kHw, "roce_slow_restart_cnps", "roce_slow_restart_cnps_total",
     "The number of times RoCE slow restart generated CNP packets. The counter was added in "
     "MLNX_OFED rev 5.0-1.0.0.0 and kernel v5.6.0"},
    {kHw, "roce_slow_restart_trans", "roce_slow_restart_total",
     "The number of times RoCE slow restart changed state to slow restart. The counter was added "
     "in MLNX_OFED rev 5.0-1.0.0.0 and kernel v5.6.0"},
    {kHw, "rp_cnp_handled", "rp_cnp_packets_handled_total",
     "The number of CNP packets handled by the Reaction Point HCA to throttle the transmission "
     "rate. The counters was added in MLNX_OFED 4.1"},
    {kHw, "rp_cnp_ignored", "rp_cnp_ignored_packets_received_total",
     "The number of CNP packets received and ignored by the Reaction Point HCA. This counter "
     "should not raise if RoCE Congestion Control was enabled in the network. If this counter "
     "raise, verify that ECN was enabled on the adapter."},
    {kHw, "rx_atomic_requests", "rx_atomic_requests_total",
     "The number of received ATOMIC request for the associated QPs."},
    {kHw, "rx_dct_connect", "rx_dct_connect_requests_total",
     "The number of received connection requests for the associated DCTs."},
    {kHw, "rx_icrc_encapsulated", "rx_icrc_encapsulated_errors_total",
     "The number of RoCE packets with ICRC errors. This counter was added in MLNX_OFED 4.4 and "
     "kernel 4.19"},
    {kHw, "rx_read_requests", "rx_read_requests_total",
     "The number of received READ requests for the associated QPs."},
    {kHw, "rx_write_requests", "rx_write_requests_total",
     "The number of received WRITE requests for the associated QPs."},
};

const Row* FindRow(const v1::Counter& counter) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.source == counter.source() && row.file == counter.name();
  });
  return found == std::end(kRows) ? nullptr : found;
}

double NodeExporterNumber(std::uint64_t value) {
  return static_cast<double>(value);
}

void AddPort(const v1::RdmaDevice& device, const v1::Port& port, MetricFamilies& out) {
  const Labels labels = {{"device", device.name()}, {"port", Format("{}", port.number())}};
  if (port.has_state())
    out.Gauge("node_infiniband_state_id",
              "State of the InfiniBand port (0: no change, 1: down, 2: init, 3: armed, 4: active, "
              "5: act defer)",
              labels, port.state());
  if (port.has_physical_state())
    out.Gauge("node_infiniband_physical_state_id",
              "Physical state of the InfiniBand port (0: no change, 1: sleep, 2: polling, 3: "
              "disable, 4: shift, 5: link up, 6: link error recover, 7: phytest)",
              labels, port.physical_state());
  if (port.has_rate_bps() || port.has_rate_claimed_bps())
    out.Gauge(
        "node_infiniband_rate_bytes_per_second", "Maximum signal transfer rate", labels,
        NodeExporterNumber((port.has_rate_bps() ? port.rate_bps() : port.rate_claimed_bps()) / 8));
  if (port.has_counter_lifespan_ms())  // It divides whole numbers: 10 ms are 0 s.
    out.Gauge("node_infiniband_lifespan_seconds",
              "The maximum period in ms which defines the aging of the counter reads. Two "
              "consecutive reads within this period might return the same values.",
              labels, port.counter_lifespan_ms() / 1000);  // NOLINT(bugprone-integer-division)
}

}  // namespace

void AddNodeExporter(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    out.Gauge("node_infiniband_info",
              "Non-numeric data from /sys/class/infiniband/<device>, value is always 1.",
              {{"board_id", device.board_id()},
               {"device", device.name()},
               {"firmware_version", device.firmware()},
               {"hca_type", device.hca_type()}},
              1);
    for (const v1::Port& port : device.ports()) AddPort(device, port, out);
  }
  for (const v1::CounterSet& set : snapshot.counters()) {
    if (set.device().empty() || set.port() == 0) continue;
    const Labels labels = {{"device", set.device()}, {"port", Format("{}", set.port())}};
    for (const v1::Counter& counter : set.counters())
      if (const Row* const row = FindRow(counter))
        out.Counter(Format("node_infiniband_{}", row->metric), row->help, labels,
                    NodeExporterNumber(counter.value()));
  }
}

}  // namespace fabric::agent
