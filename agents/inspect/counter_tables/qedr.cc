#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kQedrDrivers[] = {"qede", "qedr"};

constexpr CounterRow kQedrRows[] = {
    {kEthtool, "tx_pfc_frames", "pfc_tx_frames", "Not counted by priority."},
    {kEthtool, "rx_pfc_frames", "pfc_rx_frames", "Not counted by priority."},
    {kEthtool, "tx_pause_frames", "pause_tx_frames"},
    {kEthtool, "rx_pause_frames", "pause_rx_frames"},
    {kEthtool, "brb_discards", "rx_discards"},
    {kEthtool, "no_buff_discards", "", "The host gave no buffers.", "packets"},
    {kEthtool, "rx_crc_errors", "fcs_errors"},
};

}  // namespace

// ports/N/counters is there, and every read of it fails.
extern const CounterTable qedr = {
    .name = "qedr",
    .title = "Marvell FastLinQ 41000 and 45000 (qede/qede_ethtool.c). RDMA is not counted",
    .drivers = kQedrDrivers,
    .device_prefix = "qedr",
    .hw_counters = false,
    .rows = kQedrRows,
};

}  // namespace fabric::inspect
