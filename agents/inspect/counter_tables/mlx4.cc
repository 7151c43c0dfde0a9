#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kMlx4Drivers[] = {"mlx4_core", "mlx4_en", "mlx4_ib"};

// "rq" is the responder, "sq" the requester. DCB has no counts: the driver leaves them at 0.
constexpr CounterRow kMlx4Rows[] = {
    {kHw, "rq_num_oos", "out_of_sequence"},
    {kHw, "sq_num_oos", "seq_nak_received"},
    {kHw, "sq_num_to", "ack_timeout"},
    {kHw, "sq_num_tree", "retry_exceeded"},
    {kHw, "sq_num_rnr", "rnr_nak_received"},
    {kHw, "rq_num_rnr", "rnr_nak_sent"},
    {kHw, "sq_num_rree", "rnr_retry_exceeded"},
    {kHw, "rq_num_dup", "duplicate_request"},
    {kHw, "sq_num_rae", "remote_access_err"},
    {kHw, "rq_num_rae", "responder_access_err"},
    {kHw, "sq_num_rire", "remote_invalid_request"},
    {kHw, "sq_num_roe", "remote_operation_err"},
    {kHw, "rq_num_lle", "local_length_err"},
    {kHw, "sq_num_lpe", "local_protection_err"},
    {kHw, "sq_num_wrfe", "requester_cqe_flush"},
    {kHw, "rq_num_wrfe", "responder_cqe_flush"},
    {kHw, "sq_num_lle", "", "Local length errors of the requester.", "events"},
    {kHw, "rq_num_lpe", "", "Local protection errors of the responder.", "events"},
    {kHw, "rq_num_rire", "", "Invalid requests received.", "events"},
    {kHw, "rq_num_lqpoe", "", "Local errors of a queue pair's operation.", "events"},
    {kHw, "sq_num_lqpoe", "", "Local errors of a queue pair's operation.", "events"},
    {kHw, "sq_num_mwbe", "", "Errors of binding memory windows.", "events"},
    {kHw, "sq_num_bre", "", "Bad responses.", "events"},
    {kHw, "num_cqovf", "", "Completion queues that overflowed; of the device.", "events"},
    {kHw, "rq_num_udsdprd", "", "Datagrams dropped silently; of the device.", "packets"},

    {kEthtool, "tx_prio_#_bytes", "tx_bytes_prio#"},
    {kEthtool, "rx_prio_#_bytes", "rx_bytes_prio#"},
    {kEthtool, "tx_prio_#_packets", "tx_packets_prio#"},
    {kEthtool, "rx_prio_#_packets", "rx_packets_prio#"},
    {kEthtool, "tx_pause_prio_#", "pfc_tx_frames_prio#"},
    {kEthtool, "rx_pause_prio_#", "pfc_rx_frames_prio#"},
    {kEthtool, "tx_pause_duration_prio_#", "pfc_tx_duration_us_prio#"},
    {kEthtool, "rx_pause_duration_prio_#", "pfc_rx_duration_us_prio#"},
    {kEthtool, "tx_pause_transition_prio_#", "pfc_tx_transitions_prio#"},
    {kEthtool, "rx_pause_transition_prio_#", "pfc_rx_transitions_prio#"},
    {kEthtool, "tx_pause", "pause_tx_frames"},
    {kEthtool, "rx_pause", "pause_rx_frames"},
    {kEthtool, "tx_pause_duration", "pause_tx_duration_us"},
    {kEthtool, "rx_pause_duration", "pause_rx_duration_us"},
    {kEthtool, "tx_pause_transition", "pause_tx_transitions"},
    {kEthtool, "rx_pause_transition", "pause_rx_transitions"},
    {kEthtool, "rx_crc_errors", "fcs_errors"},
};

}  // namespace

extern const CounterTable mlx4 = {
    .name = "mlx4",
    .title = "Mellanox ConnectX-3 (hw/mlx4/main.c, mlx4/en_ethtool.c)",
    .drivers = kMlx4Drivers,
    .device_prefix = "mlx4_",
    .port_counters = true,
    .hw_width_bits = 32,
    .rows = kMlx4Rows,
};

}  // namespace fabric::inspect
