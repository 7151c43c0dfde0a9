#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHnsDrivers[] = {"hns3", "hns_roce_hw_v2", "hns_roce", "hns"};

constexpr std::string_view kNoUnit = "The driver does not document the unit.";

constexpr CounterRow kHnsRows[] = {
    {kHw, "tx_pkt", "rdma_tx_packets"},
    {kHw, "rx_pkt", "rdma_rx_packets"},
    {kHw, "tx_cnp_pkt", "cnp_tx_packets"},
    {kHw, "rx_cnp_pkt", "cnp_rx_packets", "Received, whether or not they slowed a sender down."},
    {kHw, "rx_err_pkt", "rx_errors"},
    {kHw, "tx_err_pkt", "tx_errors"},
    {kHw, "rx_rc_pkt", "", "", "packets"},
    {kHw, "rx_uc_pkt", "", "", "packets"},
    {kHw, "rx_ud_pkt", "", "", "packets"},
    {kHw, "rx_xrc_pkt", "", "", "packets"},
    {kHw, "tx_rc_pkt", "", "", "packets"},
    {kHw, "tx_uc_pkt", "", "", "packets"},
    {kHw, "tx_ud_pkt", "", "", "packets"},
    {kHw, "tx_xrc_pkt", "", "", "packets"},

    {kEthtool, "mac_tx_total_oct_num", "wire_tx_bytes"},
    {kEthtool, "mac_rx_total_oct_num", "wire_rx_bytes"},
    {kEthtool, "mac_tx_total_pkt_num", "wire_tx_packets"},
    {kEthtool, "mac_rx_total_pkt_num", "wire_rx_packets"},
    {kDcb, "pfc_requests_prio#", "pfc_tx_frames_prio#"},
    {kDcb, "pfc_indications_prio#", "pfc_rx_frames_prio#"},
    {kEthtool, "mac_tx_pfc_pri#_pkt_num", "pfc_tx_frames_prio#"},
    {kEthtool, "mac_rx_pfc_pri#_pkt_num", "pfc_rx_frames_prio#"},
    {kEthtool, "mac_tx_pfc_pkt_num", "pfc_tx_frames"},
    {kEthtool, "mac_rx_pfc_pkt_num", "pfc_rx_frames"},
    {kEthtool, "mac_tx_pfc_pri#_xoff_time", "", kNoUnit},
    {kEthtool, "mac_rx_pfc_pri#_xoff_time", "", kNoUnit},
    {kEthtool, "mac_tx_mac_pause_num", "pause_tx_frames"},
    {kEthtool, "mac_rx_mac_pause_num", "pause_rx_frames"},
    {kEthtool, "mac_rx_fcs_err_pkt_num", "fcs_errors"},
    {kEthtool, "mac_tx_bad_pkt_num", "tx_errors"},
    {kEthtool, "mac_rx_bad_pkt_num", "rx_errors"},
};

}  // namespace

extern const CounterTable hns = {
    .name = "hns",
    .title = "HiSilicon hip08 and later (hw/hns/hns_roce_main.c, hns3/hns3pf/hclge_main.c)",
    .drivers = kHnsDrivers,
    .device_prefix = "hns_",
    .rows = kHnsRows,
};

}  // namespace fabric::inspect
