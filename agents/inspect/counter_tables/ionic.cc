#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kIonicDrivers[] = {"ionic", "ionic_rdma"};

// The names of hardware counters come from the firmware, so there may be others.
constexpr CounterRow kIonicRows[] = {
    {kHw, "tx_rdma_ucast_bytes", "rdma_tx_bytes", "Unicast."},
    {kHw, "rx_rdma_ucast_bytes", "rdma_rx_bytes", "Unicast."},
    {kHw, "tx_rdma_ucast_pkts", "rdma_tx_packets", "Unicast."},
    {kHw, "rx_rdma_ucast_pkts", "rdma_rx_packets", "Unicast."},
    {kHw, "tx_rdma_mcast_bytes", "multicast_tx_bytes"},
    {kHw, "rx_rdma_mcast_bytes", "multicast_rx_bytes"},
    {kHw, "tx_rdma_mcast_pkts", "multicast_tx_packets"},
    {kHw, "rx_rdma_mcast_pkts", "multicast_rx_packets"},
    {kHw, "rx_rdma_ecn_pkts", "ecn_marked_rx_packets"},
    {kHw, "tx_rdma_cnp_pkts", "cnp_tx_packets"},
    {kHw, "rx_rdma_cnp_pkts", "cnp_rx_packets",
     "Received, whether or not they slowed a sender down."},
    {kHw, "resp_rx_outouf_seq", "out_of_sequence"},
    {kHw, "req_rx_pkt_seq_err", "seq_nak_received"},
    {kHw, "resp_tx_pkt_seq_err", "seq_nak_sent"},
    {kHw, "req_rx_impl_nak_seq_err", "implied_nak"},
    {kHw, "tx_rdma_ack_timeout", "ack_timeout", "Newer firmware."},
    {kHw, "tx_rdma_retx_pkts", "retransmitted_packets", "Newer firmware."},
    {kHw, "tx_rdma_retx_bytes", "retransmitted_bytes", "Newer firmware."},
    {kHw, "req_tx_retry_excd_err", "retry_exceeded"},
    {kHw, "req_rx_rnr_retry_err", "rnr_nak_received"},
    {kHw, "resp_tx_rnr_retry_err", "rnr_nak_sent"},
    {kHw, "resp_rx_dup_request", "duplicate_request"},
    {kHw, "resp_rx_outof_buf", "out_of_buffer"},
    {kHw, "req_rx_rmt_acc_err", "remote_access_err"},
    {kHw, "resp_tx_rmt_acc_err", "responder_access_err"},
    {kHw, "req_rx_rmt_req_err", "remote_invalid_request"},
    {kHw, "req_rx_oper_err", "remote_operation_err"},
    {kHw, "resp_rx_loc_len_err", "local_length_err"},
    {kHw, "req_tx_loc_acc_err", "local_protection_err"},
    {kHw, "req_rx_cqe_err", "requester_cqe_err"},
    {kHw, "resp_rx_cqe_err", "responder_cqe_err"},
    {kHw, "req_rx_cqe_flush", "requester_cqe_flush"},
    {kHw, "resp_rx_cqe_flush", "responder_cqe_flush"},
    {kHw, "req_rx_dup_response", "", "", "packets"},
    {kHw, "req_rx_inval_pkts", "", "", "packets"},
    {kHw, "rx_rdma_mtu_discard_pkts", "", "Longer than the path MTU.", "packets"},

    {kEthtool, "octets_tx_ok", "wire_tx_bytes"},
    {kEthtool, "octets_rx_ok", "wire_rx_bytes"},
    {kEthtool, "frames_tx_ok", "wire_tx_packets"},
    {kEthtool, "frames_rx_ok", "wire_rx_packets"},
    {kEthtool, "frames_tx_pri_#", "tx_packets_prio#"},
    {kEthtool, "frames_rx_pri_#", "rx_packets_prio#"},
    {kEthtool, "frames_tx_pripause", "pfc_tx_frames", "Not counted by priority."},
    {kEthtool, "frames_rx_pripause", "pfc_rx_frames", "Not counted by priority."},
    {kEthtool, "tx_pripause_#_1us_count", "pfc_tx_duration_us_prio#"},
    {kEthtool, "rx_pripause_#_1us_count", "pfc_rx_duration_us_prio#"},
    {kEthtool, "frames_tx_pause", "pause_tx_frames"},
    {kEthtool, "frames_rx_pause", "pause_rx_frames"},
    {kEthtool, "tx_pause_1us_count", "pause_tx_duration_us"},
    {kEthtool, "rx_pause_1us_count", "pause_rx_duration_us"},
    {kEthtool, "hw_rx_dropped", "rx_discards"},
    {kEthtool, "frames_rx_dropped", "rx_discards"},
    {kEthtool, "hw_tx_dropped", "tx_discards"},
    {kEthtool, "frames_rx_bad_fcs", "fcs_errors"},
    {kEthtool, "frames_rx_bad_all", "rx_errors"},
    {kEthtool, "frames_tx_bad", "tx_errors"},
};

}  // namespace

extern const CounterTable ionic = {
    .name = "ionic",
    .title = "AMD Pensando DSC, Pollara, Vulcano (names of the firmware; ionic/ionic_stats.c)",
    .drivers = kIonicDrivers,
    .device_prefix = "ionic_",
    .rows = kIonicRows,
};

}  // namespace fabric::inspect
