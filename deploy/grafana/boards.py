#!/usr/bin/env python3
"""Writes the dashboards next to this file from tables: those below, and overview.py for
fabricd.json.

    python3 deploy/grafana/boards.py            # writes fabricd*.json
    python3 deploy/grafana/boards.py --check    # exits with 1 if a file differs
"""

import json
import pathlib
import sys

from overview import OVERVIEW
from panels import (NETDEV, NODE, PORT, RAIL, RAIL_NETDEV, board, increase, rate, top)

FOLDER = pathlib.Path(__file__).resolve().parent

# file: (title, description, [(row, [(title, description, unit, [(query, legend)])])])
# A unit with "stat:" makes a panel with one number, else the panel shows lines over time. After the
# queries, a panel can have looks (panels.py): kind, width, height, steps, stacked, alarm.
BOARDS = {
    "": ("RDMA fabric", "Metrics of fabricd and fabric-agent.", OVERVIEW),
    "rail": ("RDMA rails", "Ports, probes and mesh by rail.", [
        ("Ports", [
            ("Ports not active", "Fabric ports whose state is not ACTIVE.", "short",
             [(f'sum by (rail) (fabric_rail_ports{{state!="active", {RAIL}}})', "rail {{rail}}")]),
            ("Active ports", "A rail with fewer ports than the others misses cards or nodes.",
             "short",
             [(f'sum by (rail) (fabric_rail_ports{{state="active", {RAIL}}})', "rail {{rail}}")]),
            ("Speed", "Slowest and fastest active port of each rail.", "Bps",
             [(f"fabric_rail_port_rate_bytes_per_second{{{RAIL}}}",
               "rail {{rail}} {{aggregate}}")]),
            ("Path MTU", "Smallest and largest active path MTU of each rail.", "bytes",
             [(f"fabric_rail_port_mtu_bytes{{{RAIL}}}", "rail {{rail}} {{aggregate}}")]),
        ]),
        ("Probes by rail", [
            ("Latency", "Median write latency of the newest campaign.", "s",
             [(f"fabric_probe_latency_seconds{{{RAIL}}}", "rail {{rail}} {{aggregate}}")]),
            ("Bandwidth", "Mean write bandwidth of the newest campaign.", "Bps",
             [(f"fabric_probe_bandwidth_bytes_per_second{{{RAIL}}}",
               "rail {{rail}} {{aggregate}}")]),
            ("Mesh round trip", "Median network round trip between leaves.", "s",
             [(f"fabric_mesh_round_trip_seconds{{{RAIL}}}", "rail {{rail}} {{aggregate}}")]),
            ("Mesh loss", "Share of lost mesh pings.", "percentunit",
             [(f'sum by (rail) (fabric_mesh_pings{{result="lost", {RAIL}}}) / '
               f"sum by (rail) (fabric_mesh_pings{{{RAIL}}})", "rail {{rail}}")]),
        ]),
    ]),
    "node": ("RDMA node", "One node: findings, ports, traffic, errors and its agent.", [
        ("State", [
            ("Connected", "1: the agent reports to fabricd.", "stat:short",
             [(f"min(fabric_node_connected{{{NODE}}})", "")]),
            ("Open findings", "Open failing findings of the node, by severity.", "short",
             [(f"sum by (severity) (fabric_node_findings_open{{{NODE}}})",
               "{{severity}}")]),
            ("Values that could not be read", "Gaps by inspector.", "short",
             [(f"sum by (inspector) (fabric_agent_gaps{{{NODE}}})", "{{inspector}}")]),
        ]),
        ("Traffic", [
            ("RDMA sent", "Bytes that each port sends.", "Bps",
             [(rate("fabric_port_transmitted_bytes_total"), PORT)]),
            ("RDMA received", "Bytes that each port receives.", "Bps",
             [(rate("fabric_port_received_bytes_total"), PORT)]),
            ("Ethernet sent", "Bytes that each netdev sends.", "Bps",
             [(rate("fabric_netdev_transmitted_bytes_total"), NETDEV)]),
            ("Ethernet received", "Bytes that each netdev receives.", "Bps",
             [(rate("fabric_netdev_received_bytes_total"), NETDEV)]),
        ]),
        ("Agent", [
            ("Inspection", "Duration of the last inspection.", "s",
             [(f"fabric_agent_inspection_duration_seconds{{{NODE}}}", "{{node}}")]),
            ("CPU of the agent", "Share of one core.", "percentunit",
             [("rate(process_cpu_seconds_total{job=\"fabric-agent\", node=~\"$node\"}"
               "[$__rate_interval])", "{{node}}")]),
            ("Memory of the agent", "Resident memory.", "bytes",
             [('process_resident_memory_bytes{job="fabric-agent", node=~"$node"}', "{{node}}")]),
        ]),
    ]),
    "port": ("RDMA port", "Ports: state, errors on the wire, retransmission, modules.", [
        ("Link", [
            ("State of each port", "4: ACTIVE. The 50 ports with the lowest state.", "none",
             [(f"bottomk(50, fabric_port_state_id{{{NODE}}})", PORT)]),
            ("Link downs", "Link losses in the interval.", "short",
             [(increase("fabric_port_link_downs_total"), PORT)]),
            ("Symbol errors", "Errors on the wire, the 20 worst ports.", "cps",
             [(top(rate("fabric_netdev_symbol_errors_total")), NETDEV)]),
            ("Checksum errors", "Frames with a wrong checksum, the 20 worst ports.", "cps",
             [(top(rate("fabric_netdev_fcs_errors_total")), NETDEV)]),
            ("Corrected FEC blocks", "Blocks that FEC corrected.", "cps",
             [(top(rate("fabric_netdev_fec_corrected_blocks_total")), NETDEV)]),
            ("Uncorrectable FEC blocks", "Blocks that FEC could not correct: lost packets.", "cps",
             [(top(rate("fabric_netdev_fec_uncorrectable_blocks_total")), NETDEV)]),
        ]),
        ("Transport", [
            ("Retransmission", "Timeouts and sequence errors.", "cps",
             [(top(rate("fabric_port_ack_timeouts_total")), PORT + " ACK timeouts"),
              (top(rate("fabric_port_sequence_naks_received_total")), PORT + " sequence NAKs")]),
            ("Out of sequence", "Packets out of order: loss or several paths.", "cps",
             [(top(rate("fabric_port_out_of_sequence_total")), PORT)]),
            ("Receiver not ready", "RNR NAKs.", "cps",
             [(top(rate("fabric_port_rnr_naks_received_total")), PORT)]),
            ("Local errors", "Protection and access errors of requests.", "cps",
             [(top(rate("fabric_port_remote_access_errors_total")), PORT)]),
        ]),
        ("Modules", [
            ("Receive power", "Optical power of each lane, received.", "none",
             [(f"fabric_module_receive_power_watts{{{NODE}}}", NETDEV)]),
            ("Temperature", "Temperature of the modules.", "celsius",
             [(f"fabric_module_temperature_celsius{{{NODE}}}", NETDEV)]),
        ]),
    ]),
    "lossless": ("Lossless Ethernet", "PFC, ECN and congestion notifications of RoCE.", [
        ("PFC", [
            ("PFC frames received", "The link partner asks to pause.", "pps",
             [(top(rate("fabric_netdev_pfc_frames_received_total")),
               NETDEV + " priority {{priority}}")]),
            ("PFC frames sent", "The host asks to pause.", "pps",
             [(top(rate("fabric_netdev_pfc_frames_sent_total")),
               NETDEV + " priority {{priority}}")]),
            ("Time paused", "Share of time for which a priority was paused.", "percentunit",
             [(top(rate("fabric_netdev_pfc_pauses_received_seconds_total")),
               NETDEV + " priority {{priority}}")]),
            ("PFC storms", "Storms that the adapter detected.", "short",
             [(increase("fabric_netdev_pfc_storms_total"), NETDEV)]),
            ("Lossless netdevs by priority", "Netdevs of RDMA ports with PFC.", "short",
             [(f"sum by (priority) (fabric_netdev_pfc_enabled{{{NODE}}} {RAIL_NETDEV})",
               "priority {{priority}}")]),
        ]),
        ("ECN and DCQCN", [
            ("ECN marks received", "Packets with a congestion mark.", "pps",
             [(top(rate("fabric_port_ecn_marked_packets_total")), PORT)]),
            ("CNP sent", "Congestion notifications sent by the receiver.", "pps",
             [(top(rate("fabric_port_congestion_notifications_sent_total")), PORT)]),
            ("CNP handled", "Congestion notifications that slowed a sender.", "pps",
             [(top(rate("fabric_port_congestion_notifications_handled_total")), PORT)]),
            ("ECN enabled", "1: ECN is enabled for the priority.", "short",
             [(f"sum(fabric_netdev_ecn_enabled{{{NODE}}})", "enabled")]),
        ]),
        ("Loss", [
            ("Receive discards", "Frames dropped by the host.", "pps",
             [(top(rate("fabric_netdev_receive_discards_total")), NETDEV)]),
            ("Transmit discards", "Frames dropped before sending.", "pps",
             [(top(rate("fabric_netdev_transmit_discards_total")), NETDEV)]),
        ]),
    ]),
    "gpudirect": ("GPUDirect and PCIe", "GPUs, peer memory, PCIe links and NVLinks.", [
        ("GPUDirect", [
            ("GPUs", "GPUs of the nodes.", "stat:short",
             [(f"sum(fabric_node_gpus{{{NODE}}})", "")]),
            ("Peer memory loaded", "Nodes with a module for peer memory.", "stat:short",
             [(f"sum(max by (node) (fabric_peer_memory_loaded{{{NODE}}}))", "")]),
            ("dma-buf possible", "Devices that register dma-bufs.", "stat:short",
             [(f"sum(fabric_dma_buf_possible{{{NODE}}})", "")]),
        ]),
        ("PCIe", [
            ("Lanes", "Lanes of each link.", "short",
             [(f"min by (node) (fabric_pci_link_lanes{{{NODE}}})", "{{node}} fewest")]),
            ("Transfers per second", "Speed of the slowest link of each node.", "short",
             [(f"min by (node) (fabric_pci_link_transfers_per_second{{{NODE}}})", "{{node}}")]),
            ("PCIe errors", "AER errors in the interval.", "short",
             [("sum by (node) (" + increase("fabric_pci_errors_total") + ")", "{{node}}")]),
            ("Stalled writes", "Share of time in which PCIe writes of the adapter waited.",
             "percentunit", [(f"fabric_netdev_pcie_write_stalled_ratio{{{NODE}}}", NETDEV)]),
            ("Buffer overflows", "Packets lost because PCIe was too slow.", "cps",
             [(rate("fabric_netdev_pcie_buffer_overflows_total"), NETDEV)]),
        ]),
        ("NVLink", [
            ("NVLinks not active", "NVLinks that are not active.", "stat:short",
             [(f"sum(fabric_gpu_nvlink_active{{{NODE}}} == bool 0)", "")]),
            ("NVLink replays", "Replays in the interval.", "short",
             [("sum by (node) (" + increase("fabric_gpu_nvlink_replay_errors_total") +
               ")", "{{node}}")]),
        ]),
    ]),
    "probes": ("Probes and mesh", "Campaigns, located faults and continuous pings.", [
        ("Campaigns", [
            ("Campaigns", "Known campaigns by state.", "short",
             [("sum by (state) (fabric_campaigns)", "{{state}}")]),
            ("Probes", "Probes of known campaigns by result.", "short",
             [("sum by (result) (fabric_campaign_probes)", "{{result}}")]),
            ("Located faults", "Open findings of probe_blame.", "stat:short",
             [('sum(fabric_findings_open{rule="probe_blame"})', "")]),
        ]),
        ("Mesh", [
            ("Pings", "Pings in the newest windows by result.", "short",
             [("sum by (result) (fabric_mesh_pings)", "{{result}}")]),
            ("Worst loss", "Share of lost pings of the worst pairs of leaves.", "percentunit",
             [("fabric_mesh_worst_loss_ratio", "{{from_leaf}} to {{to_leaf}} rail {{rail}}")]),
            ("Slowest pairs", "Median round trip of the slowest pairs of leaves.", "s",
             [("fabric_mesh_worst_round_trip_seconds",
               "{{from_leaf}} to {{to_leaf}} rail {{rail}}")]),
            ("Loss by leaf", "Share of lost pings from or to each leaf.", "percentunit",
             [('sum by (leaf) (fabric_mesh_leaf_pings{result="lost"}) / '
               "sum by (leaf) (fabric_mesh_leaf_pings)", "{{leaf}}")]),
        ]),
    ]),
    "infiniband": ("InfiniBand", "InfiniBand ports, errors, subnets and the topology file.", [
        ("Ports", [
            ("Ports by state", "InfiniBand ports: 4 is ACTIVE.", "none",
             [(f'fabric_port_state_id{{{NODE}}} and on (instance, device, port) '
               'fabric_port_info{link_layer="InfiniBand"}', PORT)]),
            ("Sent", "Bytes sent.", "Bps", [(rate("fabric_port_transmitted_bytes_total"), PORT)]),
            ("Transmit wait", "Ticks with data but without credits: congestion.", "cps",
             [(top(rate("fabric_port_transmit_wait_ticks_total")), PORT)]),
        ]),
        ("Errors", [
            ("Symbol errors", "Errors on the wire.", "cps",
             [(top(rate("fabric_port_symbol_errors_total")), PORT)]),
            ("Link error recoveries", "Recoveries of the link.", "cps",
             [(top(rate("fabric_port_link_error_recoveries_total")), PORT)]),
            ("Receive errors", "Packets with errors.", "cps",
             [(top(rate("fabric_port_receive_errors_total")), PORT)]),
            ("Transmit discards", "Packets that the port dropped.", "cps",
             [(top(rate("fabric_port_transmit_discards_total")), PORT)]),
        ]),
        ("Subnets", [
            ("Errors at switch ports", "Errors per second at the worst ports of a subnet.", "cps",
             [("fabric_subnet_port_errors_per_second", "{{switch}} port {{port}} {{counter}}")]),
            ("Nodes", "Switches and adapters of each subnet.", "short",
             [("fabric_subnet_nodes", "{{subnet}} {{type}}")]),
            ("Cables", "Cables of each subnet.", "short",
             [("fabric_subnet_cables", "{{subnet}}")]),
            ("Age of the last reading", "Time since the end of the last reading.", "s",
             [("time() - fabric_subnet_read_seconds", "{{subnet}}")]),
        ]),
        ("Topology file", [
            ("Ports in the file", "Ports of the fleet by their place in the file.", "short",
             [("sum by (state) (fabric_infiniband_topology_ports)", "{{state}}")]),
            ("Age of the file", "Time since the file was made.", "s",
             [("time() - fabric_infiniband_topology_made_seconds", "age")]),
        ]),
    ]),
    "controller": ("fabricd", "The controller: turns, calls, store, process.", [
        ("Turns", [
            ("Longest turn in the last minute", "Time for which a turn held the lock.", "s",
             [("topk(5, fabric_controller_longest_turn_seconds)", "{{kind}} {{since}}")]),
            ("Time in turns", "Share of time in turns, by kind.", "percentunit",
             [("sum by (kind) (rate(fabric_controller_turn_seconds_sum[$__rate_interval]))",
               "{{kind}}")]),
            ("Wait for the lock", "Mean wait of a turn.", "s",
             [("sum(rate(fabric_controller_turn_wait_seconds_sum[$__rate_interval])) / "
               "sum(rate(fabric_controller_turn_wait_seconds_count[$__rate_interval]))", "mean")]),
        ]),
        ("Calls", [
            ("Calls", "Calls by method and status.", "reqps",
             [("sum by (method, code) (rate(fabric_api_requests_total[$__rate_interval]))",
               "{{method}} {{code}}")]),
            ("Refused callers", "Calls without identity or role.", "cps",
             [("sum by (reason) (rate(fabric_access_refused_total[$__rate_interval]))",
               "{{reason}}")]),
        ]),
        ("Store", [
            ("Pending writes", "Writes that wait for the disk.", "short",
             [("sum(fabric_store_pending_writes)", "pending")]),
            ("Failures", "Failed writes in the interval.", "short",
             [("sum(increase(fabric_store_failures_total[$__rate_interval]))", "failures")]),
        ]),
        ("Process", [
            ("CPU", "Cores used.", "short",
             [('rate(process_cpu_seconds_total{job="fabricd"}[$__rate_interval])',
               "{{instance}}")]),
            ("Memory", "Resident memory.", "bytes",
             [('process_resident_memory_bytes{job="fabricd"}', "{{instance}}")]),
            ("Open files", "Share of the permitted file descriptors.", "percentunit",
             [('process_open_fds{job="fabricd"} / process_max_fds{job="fabricd"}',
               "{{instance}}")]),
        ]),
    ]),
}


def main():
    different = []
    for key, spec in BOARDS.items():
        name = f"fabricd-{key}" if key else "fabricd"
        path = FOLDER / f"{name}.json"
        text = json.dumps(board(name, *spec), indent=1, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            different.append(path.name)
    for name in different:
        print(f"{name} differs: run python3 deploy/grafana/boards.py", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
