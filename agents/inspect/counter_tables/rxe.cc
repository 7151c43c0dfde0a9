#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRxeDrivers[] = {"rxe", "rdma_rxe"};

constexpr CounterRow kRxeRows[] = {
    {kHw, "sent_pkts", "rdma_tx_packets"},
    {kHw, "rcvd_pkts", "rdma_rx_packets"},
    {kHw, "duplicate_request", "duplicate_request"},
    {kHw, "out_of_seq_request", "out_of_sequence"},
    {kHw, "rcvd_rnr_err", "rnr_nak_received"},
    {kHw, "send_rnr_err", "rnr_nak_sent"},
    {kHw, "rcvd_seq_err", "seq_nak_received"},
    {kHw, "completer_retry_err", "ack_timeout", "Every reason to try again, not timeouts alone."},
    {kHw, "retry_exceeded_err", "retry_exceeded"},
    {kHw, "retry_rnr_exceeded_err", "rnr_retry_exceeded"},
    {kHw, "send_err", "tx_errors"},
    {kHw, "link_downed", "link_down_events"},
    {kHw, "ack_deferred", "", "", "events"},
    {kHw, "rdma_sends", "tx_send_requests"},
    {kHw, "rdma_recvs", "rx_send_requests"},
};

}  // namespace

extern const CounterTable rxe = {
    .name = "rxe",
    .title = "Soft RoCE (sw/rxe/rxe_hw_counters.c). Bytes are not counted",
    .drivers = kRxeDrivers,
    .device_prefix = "rxe",
    .rows = kRxeRows,
};

}  // namespace fabric::inspect
