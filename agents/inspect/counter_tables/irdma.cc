#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

// The netdev's driver: ice of E810 and E822, i40e of X722, idpf of E2000.
constexpr std::string_view kIrdmaDrivers[] = {"ice", "i40e", "irdma", "i40iw", "idpf"};

constexpr std::string_view kTcp = "iWARP only.";
constexpr std::string_view kXoff =
    "Pause (XOFF) frames. Resume (XON) frames are counted separately.";

constexpr CounterRow kIrdmaRows[] = {
    {kHw, "RxECNMrkd", "ecn_marked_rx_packets"},
    {kHw, "cnpSent", "cnp_tx_packets"},
    {kHw, "cnpHandled", "cnp_rx_handled"},
    {kHw, "cnpIgnored", "cnp_rx_ignored"},
    {kHw, "tcpRetransSegs", "tcp_retransmitted_segments", kTcp},
    {kHw, "tcpInOptErrors", "", kTcp, "packets"},
    {kHw, "tcpInProtoErrors", "", kTcp, "packets"},
    {kHw, "tcpInSegs", "", kTcp, "packets"},
    {kHw, "tcpOutSegs", "", kTcp, "packets"},
    {kHw, "iwInRdmaReads", "rx_read_requests"},
    {kHw, "iwInRdmaWrites", "rx_write_requests"},
    {kHw, "iwInRdmaSends", "rx_send_requests"},
    {kHw, "iwOutRdmaReads", "tx_read_requests"},
    {kHw, "iwOutRdmaWrites", "tx_write_requests"},
    {kHw, "iwOutRdmaSends", "tx_send_requests"},
    {kHw, "iwRdmaBnd", "", "Memory windows bound.", "events"},
    {kHw, "iwRdmaInv", "", "Keys invalidated.", "events"},
    {kHw, "rxVlanErrors", "", "", "packets"},
    {kHw, "RxUDP", "", "", "packets"},
    {kHw, "TxUDP", "", "", "packets"},
    {kHw, "ip4InOctets", "", "", "bytes"},
    {kHw, "ip4OutOctets", "", "", "bytes"},
    {kHw, "ip4InPkts", "", "", "packets"},
    {kHw, "ip4OutPkts", "", "", "packets"},
    {kHw, "ip4InMcastOctets", "", "", "bytes"},
    {kHw, "ip4OutMcastOctets", "", "", "bytes"},
    {kHw, "ip4InMcastPkts", "", "", "packets"},
    {kHw, "ip4OutMcastPkts", "", "", "packets"},
    {kHw, "ip4InDiscards", "", "", "packets"},
    {kHw, "ip4InTruncatedPkts", "", "", "packets"},
    {kHw, "ip4InReasmRqd", "", "", "packets"},
    {kHw, "ip4OutSegRqd", "", "", "packets"},
    {kHw, "ip4OutNoRoutes", "", "", "packets"},
    {kHw, "ip6InOctets", "", "", "bytes"},
    {kHw, "ip6OutOctets", "", "", "bytes"},
    {kHw, "ip6InPkts", "", "", "packets"},
    {kHw, "ip6OutPkts", "", "", "packets"},
    {kHw, "ip6InMcastOctets", "", "", "bytes"},
    {kHw, "ip6OutMcastOctets", "", "", "bytes"},
    {kHw, "ip6InMcastPkts", "", "", "packets"},
    {kHw, "ip6OutMcastPkts", "", "", "packets"},
    {kHw, "ip6InDiscards", "", "", "packets"},
    {kHw, "ip6InTruncatedPkts", "", "", "packets"},
    {kHw, "ip6InReasmRqd", "", "", "packets"},
    {kHw, "ip6OutSegRqd", "", "", "packets"},
    {kHw, "ip6OutNoRoutes", "", "", "packets"},

    {kEthtool, "tx_bytes.nic", "wire_tx_bytes"},
    {kEthtool, "rx_bytes.nic", "wire_rx_bytes"},
    {kEthtool, "port.tx_bytes", "wire_tx_bytes"},
    {kEthtool, "port.rx_bytes", "wire_rx_bytes"},
    {kDcb, "pfc_requests_prio#", "pfc_tx_frames_prio#", kXoff},
    {kDcb, "pfc_indications_prio#", "pfc_rx_frames_prio#", kXoff},
    {kEthtool, "tx_priority_#_xoff.nic", "pfc_tx_frames_prio#", kXoff},
    {kEthtool, "rx_priority_#_xoff.nic", "pfc_rx_frames_prio#", kXoff},
    {kEthtool, "tx_priority_#_xon.nic", "", "Resume (XON) frames.", "frames"},
    {kEthtool, "rx_priority_#_xon.nic", "", "Resume (XON) frames.", "frames"},
    {kEthtool, "port.tx_priority_#_xoff_tx", "pfc_tx_frames_prio#", kXoff},
    {kEthtool, "port.rx_priority_#_xoff_rx", "pfc_rx_frames_prio#", kXoff},
    {kEthtool, "port.tx_priority_#_xoff", "pfc_tx_frames_prio#", kXoff},
    {kEthtool, "port.rx_priority_#_xoff", "pfc_rx_frames_prio#", kXoff},
    {kEthtool, "port.rx_priority_#_xon_2_xoff", "pfc_rx_transitions_prio#"},
    {kEthtool, "link_xoff_tx.nic", "pause_tx_frames", kXoff},
    {kEthtool, "link_xoff_rx.nic", "pause_rx_frames", kXoff},
    {kEthtool, "port.link_xoff_tx", "pause_tx_frames", kXoff},
    {kEthtool, "port.link_xoff_rx", "pause_rx_frames", kXoff},
    {kEthtool, "link_xon_tx.nic", "", "Resume (XON) frames.", "frames"},
    {kEthtool, "link_xon_rx.nic", "", "Resume (XON) frames.", "frames"},
    {kEthtool, "rx_dropped.nic", "rx_discards"},
    {kEthtool, "port.rx_dropped", "rx_discards"},
    {kEthtool, "tx_dropped_link_down.nic", "tx_discards", "The link was down."},
    {kEthtool, "port.tx_dropped_link_down", "tx_discards", "The link was down."},
    {kEthtool, "rx_crc_errors.nic", "fcs_errors"},
    {kEthtool, "port.rx_crc_errors", "fcs_errors"},
    {kEthtool, "mac_local_faults.nic", "link_local_faults"},
    {kEthtool, "port.mac_local_faults", "link_local_faults"},
    {kEthtool, "mac_remote_faults.nic", "link_remote_faults"},
    {kEthtool, "port.mac_remote_faults", "link_remote_faults"},
};

// The hardware counts each version of IP for itself.
constexpr CounterSum kIrdmaSums[] = {
    {kHw, "ip4OutOctets", "ip6OutOctets", "rdma_tx_bytes"},
    {kHw, "ip4InOctets", "ip6InOctets", "rdma_rx_bytes"},
    {kHw, "ip4OutPkts", "ip6OutPkts", "rdma_tx_packets"},
    {kHw, "ip4InPkts", "ip6InPkts", "rdma_rx_packets"},
    {kHw, "ip4OutMcastPkts", "ip6OutMcastPkts", "multicast_tx_packets"},
    {kHw, "ip4InMcastPkts", "ip6InMcastPkts", "multicast_rx_packets"},
};

}  // namespace

extern const CounterTable irdma = {
    .name = "irdma",
    .title =
        "Intel E810, E822, E823 (ice) and X722 (i40e) (hw/irdma/verbs.c, ice/ice_ethtool.c, "
        "i40e/i40e_ethtool.c). RoCE retransmissions are not reported. Bytes and packets are "
        "sums over both versions of IP, which exist only when both parts do",
    .drivers = kIrdmaDrivers,
    .device_prefix = "irdma",
    .rows = kIrdmaRows,
    .sums = kIrdmaSums,
};

}  // namespace fabric::inspect
