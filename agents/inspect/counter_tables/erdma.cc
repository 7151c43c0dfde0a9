#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kErdmaDrivers[] = {"erdma"};

constexpr CounterRow kErdmaRows[] = {
    {kHw, "tx_bytes_cnt", "rdma_tx_bytes"},
    {kHw, "rx_bytes_cnt", "rdma_rx_bytes"},
    {kHw, "tx_packets_cnt", "rdma_tx_packets"},
    {kHw, "rx_packets_cnt", "rdma_rx_packets"},
    {kHw, "tx_reqs_cnt", "", "", "events"},
    {kHw, "tx_disable_drop_cnt", "", "Sending was off.", "packets"},
    {kHw, "tx_bps_limit_drop_cnt", "", "Above the bandwidth of the instance.", "packets"},
    {kHw, "tx_pps_limit_drop_cnt", "", "Above the packet rate of the instance.", "packets"},
    {kHw, "rx_disable_drop_cnt", "", "Receiving was off.", "packets"},
    {kHw, "rx_bps_limit_drop_cnt", "", "Above the bandwidth of the instance.", "packets"},
    {kHw, "rx_pps_limit_drop_cnt", "", "Above the packet rate of the instance.", "packets"},
};

}  // namespace

extern const CounterTable erdma = {
    .name = "erdma",
    .title = "Alibaba Elastic RDMA Adapter (hw/erdma/erdma_verbs.c)",
    .drivers = kErdmaDrivers,
    .device_prefix = "erdma_",
    .rows = kErdmaRows,
};

}  // namespace fabric::inspect
