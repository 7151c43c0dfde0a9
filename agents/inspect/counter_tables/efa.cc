#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kEfaDrivers[] = {"efa"};

// SRD retransmits by itself: there are no naks and no marks of congestion to count.
constexpr CounterRow kEfaRows[] = {
    {kHw, "tx_bytes", "rdma_tx_bytes"},
    {kHw, "rx_bytes", "rdma_rx_bytes"},
    {kHw, "tx_pkts", "rdma_tx_packets"},
    {kHw, "rx_pkts", "rdma_rx_packets"},
    {kHw, "rx_drops", "rx_discards"},
    {kHw, "retrans_pkts", "retransmitted_packets"},
    {kHw, "retrans_bytes", "retransmitted_bytes"},
    {kHw, "retrans_timeout_events", "ack_timeout"},
    {kHw, "impaired_remote_conn_events", "", "Connections that had become slow.", "events"},
    {kHw, "unresponsive_remote_events", "", "The other side did not answer.", "events"},
    {kHw, "send_bytes", "", "", "bytes"},
    {kHw, "recv_bytes", "", "", "bytes"},
    {kHw, "send_wrs", "tx_send_requests"},
    {kHw, "recv_wrs", "rx_send_requests"},
    {kHw, "rdma_read_wrs", "tx_read_requests"},
    {kHw, "rdma_read_bytes", "", "", "bytes"},
    {kHw, "rdma_read_resp_bytes", "", "", "bytes"},
    {kHw, "rdma_read_wr_err", "", "", "events"},
    {kHw, "rdma_write_wrs", "tx_write_requests"},
    {kHw, "rdma_write_bytes", "", "", "bytes"},
    {kHw, "rdma_write_recv_bytes", "", "", "bytes"},
    {kHw, "rdma_write_wr_err", "", "", "events"},
    {kHw, "submitted_cmds", "", "Of the device.", "events"},
    {kHw, "completed_cmds", "", "Of the device.", "events"},
    {kHw, "cmds_err", "", "Of the device.", "events"},
    {kHw, "no_completion_cmds", "", "Of the device.", "events"},
    {kHw, "keep_alive_rcvd", "", "Of the device.", "events"},
    {kHw, "alloc_pd_err", "", "Of the device.", "events"},
    {kHw, "create_qp_err", "", "Of the device.", "events"},
    {kHw, "create_cq_err", "", "Of the device.", "events"},
    {kHw, "reg_mr_err", "", "Of the device.", "events"},
    {kHw, "alloc_ucontext_err", "", "Of the device.", "events"},
    {kHw, "create_ah_err", "", "Of the device.", "events"},
    {kHw, "mmap_err", "", "Of the device.", "events"},
};

}  // namespace

extern const CounterTable efa = {
    .name = "efa",
    .title = "Amazon Elastic Fabric Adapter (hw/efa/efa_verbs.c). No netdev, and so no PFC",
    .drivers = kEfaDrivers,
    .device_prefix = "efa_",
    .rows = kEfaRows,
};

}  // namespace fabric::inspect
