"""Table of the overview dashboard, in the form of boards.py."""

from panels import NETDEV, NODE, PORT, RAIL_NETDEV, increase, rate, top


def small(alarm):
    """One number, with this color from 1 on."""
    return {"width": 4, "height": 4, "alarm": alarm}


STEPS = {"width": 8, "steps": True}
STACK = {"width": 8, "steps": True, "stacked": True}
THIRD = {"width": 8}
PRIORITY = "{{node}} priority {{priority}}"


def by_node(metric, what):
    return (f"sum by (node) ({rate(metric)})", "{{node}} " + what)


def by_netdev(metric, what):
    return (top(f"sum by (node, netdev) ({rate(metric)})"), f"{NETDEV} {what}")


OVERVIEW = [
    ("Fleet", [
        ("Nodes connected", "Nodes with a connected agent.", "stat:short",
         [('sum(fabric_nodes{state="connected"})', "")], small(None)),
        ("Nodes lost", "Nodes whose agent no longer reports.", "stat:short",
         [('sum(fabric_nodes{state="lost"})', "")], small("red")),
        ("Errors and worse", "Open findings of severity error or critical.", "stat:short",
         [('sum(fabric_findings_open{severity=~"critical|error"})', "")], small("red")),
        ("Open findings", "All open findings.", "stat:short",
         [("sum(fabric_findings_open)", "")], small("orange")),
        ("Ports not active", "RDMA ports of all nodes that are not active.", "stat:short",
         [('sum(fabric_ports{state!="active"})', "")], small("orange")),
        ("Store failures", "Failed writes to the state file since the controller started.",
         "stat:short", [("sum(fabric_store_failures_total)", "")], small("red")),
        ("Nodes", "Nodes that have ever reported, by state.", "short",
         [("sum by (state) (fabric_nodes)", "{{state}}")], STACK),
        ("Open findings by severity", "Open findings. A rule without findings counts as 0.",
         "short", [("sum by (severity) (fabric_findings_open)", "{{severity}}")], STACK),
        ("Open findings by rule", "`fabricctl findings` shows the nodes and the reasons.", "short",
         [("sort_desc(sum by (rule) (fabric_findings_open) > 0)", "{{rule}}")],
         {"kind": "bargauge", "width": 8, "alarm": "orange"}),
    ]),
    ("Ports", [
        ("Ports by state", "RDMA ports of all nodes.", "short",
         [("sum by (state) (fabric_ports)", "{{state}}")], STACK),
        ("State of each port",
         "State of the RDMA ports, as their nodes report it: the 50 with the lowest state.",
         "none", [(f"bottomk(50, fabric_port_state_id{{{NODE}}})", PORT)],
         {"kind": "state-timeline", "width": 16}),
        ("MTU of rail netdevs",
         "Number of netdevs with an RDMA port, by MTU. All netdevs of a rail should have the same.",
         "short", [(f'count_values("mtu", fabric_netdev_mtu_bytes{{{NODE}}} {RAIL_NETDEV})',
                    "{{mtu}} bytes")], STEPS),
        ("Active RDMA path MTU", "Number of RDMA ports, by active path MTU.", "short",
         [(f'count_values("mtu", fabric_port_mtu_bytes{{{NODE}}})', "{{mtu}} bytes")], STEPS),
        ("Link downs", "How often RDMA ports lost their link in the interval: the 20 worst.",
         "short", [(top(increase("fabric_port_link_downs_total")), PORT)], THIRD),
    ]),
    ("Lossless Ethernet", [
        ("PFC frames received", "PFC frames in which the link partner asks to pause a priority: "
         "the 20 highest.", "pps",
         [(top(f'sum by (node, priority) ({rate("fabric_netdev_pfc_frames_received_total")})'),
           PRIORITY)]),
        ("PFC frames sent", "PFC frames in which a port asks to pause a priority because its "
         "buffers fill: the 20 highest.", "pps",
         [(top(f'sum by (node, priority) ({rate("fabric_netdev_pfc_frames_sent_total")})'),
           PRIORITY)]),
        ("Time paused", "Share of the time that the link partner paused a priority: the 20 "
         "highest.", "percentunit",
         [(top("max by (node, netdev, priority) "
               f'({rate("fabric_netdev_pfc_pauses_received_seconds_total")})'),
           NETDEV + " priority {{priority}}")], THIRD),
        ("Lossless rail netdevs by priority", "Rail netdevs with PFC enabled, by priority.",
         "short", [(f"sum by (priority) (fabric_netdev_pfc_enabled{{{NODE}}} {RAIL_NETDEV})",
                    "priority {{priority}}")], STEPS),
        ("Receive discards", "Received packets that were dropped because the port had no free "
         "buffer: the 20 highest. Expected: 0.", "pps",
         [(top(rate("fabric_netdev_receive_discards_total")), NETDEV)], THIRD),
    ]),
    ("Traffic and transport", [
        ("RDMA packets", "Packets sent and received: the 20 RDMA ports with the most.", "pps",
         [(top(rate("fabric_port_transmitted_packets_total")), PORT + " sent"),
          (top(rate("fabric_port_received_packets_total")), PORT + " received")]),
        ("Errors on the wire", "Frames with a bad checksum, symbol errors, and PFC storms that the "
         "card ended: the 20 highest of each.", "cps",
         [by_netdev("fabric_netdev_fcs_errors_total", "checksums"),
          by_netdev("fabric_netdev_symbol_errors_total", "symbols"),
          by_netdev("fabric_netdev_pfc_storms_total", "PFC storms")]),
        ("Loss and reordering", "Packets out of sequence, expired timers, duplicate requests.",
         "cps", [by_node("fabric_port_out_of_sequence_total", "out of sequence"),
                 by_node("fabric_port_sequence_naks_received_total", "sequence NAKs received"),
                 by_node("fabric_port_ack_timeouts_total", "ACK timeouts"),
                 by_node("fabric_port_duplicate_requests_total", "duplicate requests")]),
        ("Retries", "A job fails when retries are exceeded. Receiver not ready (RNR) means a slow "
         "receiver.", "cps",
         [by_node("fabric_port_retries_exceeded_total", "retries exceeded"),
          by_node("fabric_port_rnr_naks_received_total", "RNR NAKs received"),
          by_node("fabric_port_rnr_retries_exceeded_total", "RNR retries exceeded")]),
    ]),
    ("Probes", [
        ("Latency by rail",
         "Median RDMA write latency of the pairs of a rail, in the newest campaign.", "s",
         [("fabric_probe_latency_seconds", "rail {{rail}} {{aggregate}}")], STEPS),
        ("Bandwidth by rail",
         "Mean RDMA write bandwidth of the pairs of a rail, in the newest campaign.", "Bps",
         [("fabric_probe_bandwidth_bytes_per_second", "rail {{rail}} {{aggregate}}")], STEPS),
        ("Probes of known campaigns", "`fabricctl matrix` shows the reason of a failed probe.",
         "short", [("sum by (result) (fabric_campaign_probes)", "{{result}}")],
         {"width": 4, "steps": True}),
        ("Campaigns", "Known probe campaigns, by state.", "short",
         [("sum by (state) (fabric_campaigns)", "{{state}}")], {"width": 4, "steps": True}),
    ]),
    ("Agents and controller", [
        ("Inspection duration", "Duration of the last inspection: the 20 slowest nodes.", "s",
         [(top(f"fabric_agent_inspection_duration_seconds{{{NODE}}}"), "{{node}}")], THIRD),
        ("Gaps", "Values that an agent could not read: the 20 highest numbers. `fabric-agent "
         "inspect` on the node lists them.", "short",
         [(top(f"sum by (node, inspector) (fabric_agent_gaps{{{NODE}}})"),
           "{{node}} {{inspector}}")], STEPS),
        ("Agents with a controller",
         "Agents that are connected to the controller, and messages that agents dropped.", "short",
         [(f"sum(fabric_agent_connected{{{NODE}}})", "connected"),
          (f'sum({increase("fabric_agent_messages_dropped_total")})', "messages dropped")], STEPS),
        ("API requests", "Calls of the controller's API, by method and outcome.", "reqps",
         [("sum by (method, code) (rate(fabric_api_requests_total[$__rate_interval]))",
           "{{method}} {{code}}")], THIRD),
        ("API time", "Seconds spent on answers per second, by method.", "percentunit",
         [("sum by (method) (rate(fabric_api_request_duration_seconds_sum[$__rate_interval]))",
           "{{method}}")], THIRD),
        ("Store failures in the interval",
         "Failed writes to the state file, for example because the disk is full.", "short",
         [("sum(increase(fabric_store_failures_total[$__rate_interval]))", "failures")], THIRD),
    ]),
]
