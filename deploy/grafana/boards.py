#!/usr/bin/env python3
"""Writes the dashboards next to this file from the tables below. Of fabricd.json, whose panels are
made by hand, it writes only the head: uid, links and annotations.

    python3 deploy/grafana/boards.py            # writes fabricd*.json
    python3 deploy/grafana/boards.py --check    # exits with 1 if a file differs
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
NODE = 'node=~"$node"'
PORT = "{{node}} {{device}}/{{port}}"
NETDEV = "{{node}} {{netdev}}"
RAIL = 'rail=~"$rail"'
RAIL_NETDEV = "and on (instance, netdev) fabric_port_info"


def rate(metric, labels=NODE):
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


def increase(metric, labels=NODE):
    return f"increase({metric}{{{labels}}}[$__rate_interval])"


def top(expression):
    """The 20 highest series: a panel with all ports of a large fleet is unreadable."""
    return f"topk(20, {expression})"


# file: (title, description, [(row, [(title, description, unit, [(query, legend)])])])
# A unit with "stat:" makes a panel with one number, else the panel shows lines over time.
BOARDS = {
    "rail": ("RDMA rails", "Probes and mesh by rail, and the ports of the whole fleet.", [
        ("Ports of the fleet", [
            ("Ports not active", "RDMA ports whose state is not ACTIVE.", "stat:short",
             [('sum(fabric_ports{state!="active"})', "")]),
            ("Ports by state", "RDMA ports of all nodes.", "short",
             [("sum by (state) (fabric_ports)", "{{state}}")]),
            ("Speed", "Slowest and fastest port.", "Bps",
             [("min(fabric_port_rate_bytes_per_second)", "slowest"),
              ("max(fabric_port_rate_bytes_per_second)", "fastest")]),
            ("Path MTU", "Smallest and largest active path MTU.", "bytes",
             [("min(fabric_port_mtu_bytes)", "smallest"),
              ("max(fabric_port_mtu_bytes)", "largest")]),
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

STAT = {"colorMode": "value", "graphMode": "none", "textMode": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
LINES = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
         "tooltip": {"mode": "multi", "sort": "desc"}}
CUSTOM = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "lineInterpolation": "linear",
          "showPoints": "never", "stacking": {"mode": "none", "group": "A"}}


def variable(name, label, kind, **more):
    return {"name": name, "label": label, "type": kind, "hide": 0, "regex": "", **more}


def values_of(name, label, metric):
    """A variable with the values of a label, several of which can be chosen."""
    definition = f"label_values({metric}, {name})"
    return variable(name, label, "query", datasource=SOURCE, definition=definition,
                    query={"query": definition, "refId": name},
                    refresh=2, sort=3, multi=True, includeAll=True, allValue=".*",
                    current={"text": ["All"], "value": ["$__all"], "selected": True}, options=[])


def variables(name):
    made = [variable("datasource", "Data source", "datasource", query="prometheus", refresh=1,
                     multi=False, includeAll=False, current={}, options=[]),
            values_of("node", "Node", "fabric_agent_info")]
    if name == "rail":
        made.append(values_of("rail", "Rail", "fabric_probe_latency_seconds"))
    return made


def annotation(name, color, expression, title):
    """A mark at the times for which the query has a value."""
    return {"name": name, "datasource": SOURCE, "enable": True, "hide": False, "iconColor": color,
            "expr": expression, "step": "60s", "titleFormat": title, "useValueForTime": False}


OPEN = f'sum by (node, rule) (fabric_node_findings_open{{severity=~"critical|error", {NODE}}}'
ANNOTATIONS = [
    annotation("Findings opened", "red", f"{OPEN}) unless {OPEN} offset 1m)",
               "{{rule}} on {{node}}"),
    annotation("Campaigns started or ended", "blue",
               'changes(fabric_campaigns{state="running"}[1m]) > 0', "probe campaigns"),
    annotation("fabricd started", "orange",
               "changes(fabric_controller_start_time_seconds[2m]) > 0", "fabricd started"),
]


def head(uid):
    """What all dashboards have in common. `uid` stays the same, so that links and updates work."""
    return {"uid": uid, "annotations": {"list": ANNOTATIONS},
            "links": [{"type": "dashboards", "title": "fabricd", "tags": ["fabricd"],
                       "asDropdown": True, "keepTime": True, "includeVars": True}]}


def panel(number, place, spec):
    title, description, unit, queries = spec
    stat = unit.startswith("stat:")
    defaults = {"unit": unit.removeprefix("stat:")}
    if not stat:
        defaults |= {"custom": CUSTOM} | ({"min": 0} if unit != "none" else {})
    return {"id": number, "type": "stat" if stat else "timeseries", "title": title,
            "description": description, "datasource": SOURCE, "gridPos": place,
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": STAT if stat else LINES,
            "targets": [{"refId": chr(ord("A") + at), "datasource": SOURCE, "editorMode": "code",
                         "expr": expression, "legendFormat": legend,
                         ("instant" if stat else "range"): True}
                        for at, (expression, legend) in enumerate(queries)]}


def panels(rows):
    made, top_of_row = [], 0
    for title, specs in rows:
        made.append({"id": len(made) + 1, "type": "row", "title": title + ":", "collapsed": False,
                     "gridPos": {"h": 1, "w": 24, "x": 0, "y": top_of_row}, "panels": []})
        top_of_row += 1
        for at, spec in enumerate(specs):
            place = {"h": 8, "w": 12, "x": 12 * (at % 2), "y": top_of_row + 8 * (at // 2)}
            made.append(panel(len(made) + 1, place, spec))
        top_of_row += 8 * ((len(specs) + 1) // 2)
    return made


def board(name, title, description, rows):
    return {"title": title, "description": description, "tags": ["rdma", "fabricd"], "id": None,
            "schemaVersion": 39, "version": 1, "editable": True, "graphTooltip": 1,
            "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "timepicker": {},
            "timezone": "", **head(f"fabricd-{name}"),
            "templating": {"list": variables(name)}, "panels": panels(rows)}


def main():
    boards = {f"fabricd-{name}": board(name, *spec) for name, spec in BOARDS.items()}
    boards["fabricd"] = json.loads((FOLDER / "fabricd.json").read_text()) | head("fabricd")
    different = []
    for name, made in boards.items():
        path = FOLDER / f"{name}.json"
        text = json.dumps(made, indent=2 if name == "fabricd" else 1, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            different.append(path.name)
    for name in different:
        print(f"{name} differs: run python3 deploy/grafana/boards.py", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
