#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kManaDrivers[] = {"mana", "mana_ib"};

constexpr CounterRow kManaRows[] = {
    {kHw, "tx_bytes", "rdma_tx_bytes"},
    {kHw, "rx_bytes", "rdma_rx_bytes"},
    {kHw, "tx_packets", "rdma_tx_packets"},
    {kHw, "rx_packets", "rdma_rx_packets"},
    {kHw, "received_ecns", "ecn_marked_rx_packets", "Of the device."},
    {kHw, "sent_cnps", "cnp_tx_packets", "Of the device."},
    {kHw, "received_cnps", "cnp_rx_packets", "Received, whether or not they slowed a sender down."},
    {kHw, "received_cnp_count", "cnp_rx_packets", "Of the device."},
    {kHw, "responder_oos", "out_of_sequence"},
    {kHw, "requester_oos_nak", "seq_nak_received"},
    {kHw, "requester_implicit_nak", "implied_nak"},
    {kHw, "requester_timeout", "ack_timeout"},
    {kHw, "requester_retries_exceeded", "retry_exceeded"},
    {kHw, "requester_rnr_nak", "rnr_nak_received"},
    {kHw, "responder_rnr_nak", "rnr_nak_sent"},
    {kHw, "requester_rnr_nak_retries_exceeded", "rnr_retry_exceeded"},
    {kHw, "responder_dup_request", "duplicate_request"},
    {kHw, "dup_rx_requests", "duplicate_request"},
    {kHw, "nak_access_error", "remote_access_err"},
    {kHw, "responder_rem_access_error", "responder_access_err"},
    {kHw, "nak_inv_req", "remote_invalid_request"},
    {kHw, "nak_opp_error", "remote_operation_err"},
    {kHw, "responder_local_len_error", "local_length_err"},
    {kHw, "requestor_local_prot_error", "local_protection_err"},
    {kHw, "rx_write_requests", "rx_write_requests"},
    {kHw, "rx_read_requests", "rx_read_requests"},
    {kHw, "rx_send_requests", "rx_send_requests"},
    {kHw, "rate_inc_events", "", "Times the rate was raised again.", "events"},
    {kHw, "num_qps_congested", "", "", "objects"},
    {kHw, "num_qps_recovered", "", "", "objects"},
    {kHw, "current_rate", "", "Goes up and down.", "objects"},
};

}  // namespace

extern const CounterTable mana = {
    .name = "mana",
    .title = "Microsoft Azure Network Adapter (hw/mana/counters.c)",
    .drivers = kManaDrivers,
    .device_prefix = "mana_",
    .rows = kManaRows,
};

}  // namespace fabric::inspect
