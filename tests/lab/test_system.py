#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole system on a lab of three nodes: fabricd, an agent on each node, REST and fabricctl.

The methods run in the order of their names on one lab. Each leaves the lab healthy.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import time
import unittest
import urllib.error

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "deploy")]

# pylint: disable=wrong-import-position
import dashboard
import labevents
import quickstart
from labcase import BIN, FOUND_WITHIN_S, LabCase
from test_incast import IncastTests
from test_storms import StormTests
from test_tools import ToolTests

# Node, fault, the rule that finds it, the finding's scope, the path of the changed fact, and words
# of the finding's title.
FAULTS = [
    ("n2", ["mtu", "rail1"], "mtu_equal_on_rail", "PORT",
     "net_interfaces[rail1].mtu_bytes", ["1500", "4200"]),
    ("n3", ["pfc-off", "rail0"], "pfc_equal_on_rail", "PORT",
     "net_interfaces[rail0].dcb.pfc", ["none", "3"]),
    ("n1", ["pfc", "rail1", "3,4"], "pfc_equal_on_rail", "PORT",
     "net_interfaces[rail1].dcb.pfc", ["3,4"]),
    ("n2", ["dscp-missing", "rail0"], "pfc_covers_roce_dscp", "PORT",
     "net_interfaces[rail0].dcb.dscp_to_priority[26]", ["26"]),
    ("n2", ["dscp-missing", "rail0", "trust"], "pfc_covers_roce_dscp", "PORT",
     "net_interfaces[rail0].dcb.trust", []),
    ("n1", ["link-down", "rail0"], "port_active", "PORT",
     "rdma_devices[rxe0].ports[1].state", ["DOWN"]),
    ("n1", ["duplicate-address", "rail1", "n2"], "duplicate_gid", "FLEET",
     "rdma_devices[rxe1].ports[1].gids", ["10.10.1.2", "n1", "n2"]),
    ("n3", ["address", "rail0"], "rail_subnet_equal", "PORT",
     "net_interfaces[rail0].addresses", ["10.99.0.0/24"]),
    ("n3", ["gid-loss", "rail1"], "roce_v2_gid_present", "PORT",
     "rdma_devices[rxe1].ports[1].gids", []),
    ("n3", ["peermem-unload"], "peermem_loaded", "NODE",
     "peer_memory.nvidia_peermem_loaded", ["nvidia_peermem"]),
]


class TestSystem(IncastTests, StormTests, ToolTests, LabCase):
    NAME = "test-system"
    # Guests without KVM on a busy machine can pause for seconds, so a node counts as lost later.
    # They have just booted, and several tests plant the same fault.
    FLAGS = ("--lost-after", "5s", "--boot-grace", "0s", "--flap-hold", "0s")
    LAB = {"nodes": 3, "programs": [str(BIN / "only_reads")]}

    def test_01_a_healthy_lab_has_no_finding(self):
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertEqual(self.findings(), [])
            time.sleep(0.2)
        done = self.ctl("validate", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counts = json.loads(done.stdout)["counts"]
        self.assertGreater(int(counts["pass"]), 30)
        self.assertEqual(int(counts.get("fail", 0)), 0)
        self.assertEqual(int(counts.get("unknown", 0)), 0, done.stdout)

    def test_02_inspection_sees_what_the_guests_own_tools_see(self):
        snapshot = self.controller.get("/v1/nodes/n1")["snapshot"]
        devices = {d["name"]: d for d in snapshot["rdma_devices"]}
        links = json.loads(self.lab.shell("n1", "rdma -j link"))
        for link in links:
            port = devices[link["ifname"]]["ports"][0]
            self.assertEqual(port["state"], f"PORT_STATE_{link['state']}")
            self.assertEqual(port["netdev"], link["netdev"])
            self.assertEqual(port["active_mtu_bytes"], 4096)
            self.assertIn({"GID_TYPE_ROCE_V2"}, [{g["type"] for g in port["gids"]}])
        netdevs = {n["name"]: n for n in snapshot["net_interfaces"]}
        self.assertEqual(netdevs["rail0"]["dcb"]["pfc"]["enabled_mask"], 1 << 3)
        self.assertEqual(netdevs["rail0"]["dcb"]["trust"], "TRUST_DSCP")
        self.assertEqual(netdevs["rail0"]["dcb"]["cable_length_m"], 7)
        self.assertEqual(netdevs["rail0"]["pfc_storm_prevention_ms"], 8000)
        dcb = json.loads(self.lab.shell("n1", "dcb -j buffer show dev rail0"))
        buffers = netdevs["rail0"]["dcb"]["buffers"]
        self.assertEqual(buffers["priority_to_buffer"], dcb["prio_buffer"])
        self.assertEqual(buffers["size_bytes"], dcb["buffer_size"])
        self.assertEqual(buffers["total_bytes"], dcb["total_size"])
        self.assertEqual(netdevs["rail0"]["mtu_bytes"], 4200)
        self.assertTrue(snapshot["peer_memory"]["nvidia_peermem_loaded"])
        self.assertEqual(len(snapshot["gpus"]), 1)

    def test_02_lldp_names_the_switch_and_its_settings(self):
        printed = self.lab.shell("n1", "fabric-agent inspect --lldp-wait 20 -o json")
        neighbors = {n["netdev"]: n for n in json.loads(printed)["lldp_neighbors"]}
        self.assertEqual(sorted(neighbors), ["rail0", "rail1"])
        for rail, neighbor in neighbors.items():
            self.assertEqual(neighbor["source"], "capture")
            self.assertEqual(neighbor["system_name"], f"{rail}-leaf1")
            self.assertEqual(neighbor["chassis_id"], f"52:54:00:fc:{rail[4:]:0>2}:01")
            self.assertRegex(neighbor["port_id"], "swp1")
            self.assertRegex(neighbor["port_description"], f"^{rail} port ")
            self.assertEqual(neighbor["pfc"]["enabled_mask"], 1 << 3)
            self.assertEqual(neighbor["max_frame_bytes"], 9216)
            self.assertEqual([(a["selector"], a["protocol"], a["priority"])
                              for a in neighbor["applications"]], [(3, 4791, 3)])

    def test_03_each_fault_opens_and_closes_one_finding(self):
        for node, fault, *expected in FAULTS:
            with self.subTest(fault=" ".join([node, *fault])):
                self.found(node, fault, *expected)

    def test_03_fabricctl_lists_findings(self):
        with self.broken("n2", "mtu", "rail1"):
            self.until(lambda: self.findings() != [], "a finding", FOUND_WITHIN_S)
            done = self.ctl("findings")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("mtu_equal_on_rail", done.stdout)
        self.until(lambda: self.findings() == [], "repaired", FOUND_WITHIN_S)
        self.assertEqual(self.ctl("findings").returncode, 0)

    def test_04_counters_reach_the_controller(self):
        self.lab.fault("n1", "counter", "rail0", "rx_prio3_pause", "4711")

        def seen():
            sets = self.controller.get("/v1/nodes/n1")["snapshot"]["counters"]
            return any(c["name"] == "rx_prio3_pause" and c["value"] == "4711"
                       for s in sets if s.get("netdev") == "rail0" for c in s["counters"])

        self.until(seen, "rx_prio3_pause 4711 in n1's snapshot", 15)
        self.lab.fault("n1", "counter", "rail0", "rx_prio3_pause", "0", repair=True)

    def test_05_every_pair_of_a_campaign_completes(self):
        done = self.ctl("probe", "run", "--iterations", "100", "-o", "json")
        # The status is also 1 when a guest that got less processor time is blamed as slow.
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        campaign = json.loads(done.stdout)
        pairs = [(r["from"]["rail"] if "rail" in r["from"] else 0, r["from"]["node"],
                  r["to"]["node"], "latency" in r["result"]) for r in campaign["results"]]
        self.assertEqual(len(pairs), 12)
        self.assertEqual(len({(rail, *sorted((a, b)), lat) for rail, a, b, lat in pairs}), 12)
        for result in campaign["results"]:
            self.assertEqual(result["result"]["status"], "PROBE_STATUS_OK", result)
        matrix = self.ctl("matrix")
        self.assertEqual(matrix.returncode, 0, matrix.stderr)
        for node in self.lab.nodes:
            self.assertIn(node, matrix.stdout)

    def test_06_a_killed_agent_is_a_lost_node_and_fails_only_its_own_pairs(self):
        self.lab.fault("n3", "kill-agent")
        try:
            self.until(lambda: self.states()["n3"] == "LOST", "n3 is lost", FOUND_WITHIN_S)
            self.assertIn("LOST", self.ctl("nodes").stdout.upper())
            done = self.ctl("probe", "run", "--nodes", "n1,n2,n3", "--iterations", "50",
                            "--kind", "latency", "-o", "json")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            for result in json.loads(done.stdout)["results"]:
                ends = {result["from"]["node"], result["to"]["node"]}
                expected = "UNREACHABLE" if "n3" in ends else "OK"
                self.assertEqual(result["result"]["status"], f"PROBE_STATUS_{expected}", result)
        finally:
            self.lab.fault("n3", "kill-agent", repair=True)
        self.until(lambda: self.states()["n3"] == "CONNECTED", "n3 is back", 20)

    def test_08_events_are_streamed(self):
        watch = subprocess.Popen(
            [BIN / "fabricctl", "--controller", self.controller.grpc, "events", "--watch", "-o",
             "json"], stdout=subprocess.PIPE, text=True, env=self.controller.environment)
        stream = self.controller.open("/v1/events", timeout=15)
        try:
            time.sleep(0.5)
            self.lab.fault("n1", "link-down", "rail1")
            seen = self.first_port_event(watch.stdout)
            self.assertEqual((seen["port"]["node"], seen["port"]["device"]), ("n1", "rxe1"))
            data = (line[5:].decode() for line in stream if line.startswith(b"data:"))
            self.assertEqual(self.first_port_event(data), seen)
        finally:
            self.lab.fault("n1", "link-down", "rail1", repair=True)
            watch.kill()
            watch.communicate()
            stream.close()
        self.until(lambda: self.findings() == [], "repaired", FOUND_WITHIN_S)

    @staticmethod
    def first_port_event(lines):
        return next(event for event in map(json.loads, lines) if "port" in event)

    def test_08_links_that_go_down_are_reported_at_once(self):
        rounds = list(labevents.measure(self.lab, "n2", "rail0", BIN / "fabricctl",
                                        self.controller, 3))
        self.assertEqual(len(rounds), 3)
        # A loose limit, before the next periodic check. tests/lab/event_latency measures the
        # latency on a quiet machine.
        self.assertLess(statistics.median(r.beyond for r in rounds), 5000, rounds)
        self.until(lambda: self.findings() == [], "repaired", FOUND_WITHIN_S)

    def test_09_every_query_of_the_dashboard_has_data(self):
        self.assertEqual(self.ctl("probe", "run", "--iterations", "50").returncode, 0)
        agents = {node: self.lab.metrics(node) for node in self.lab.nodes}
        with dashboard.start_prometheus(self.folder / "prometheus", self.controller.rest,
                                        agents, self.controller.pki.client()) as prometheus:
            dashboard.wait_until_scraped(prometheus)
            self.assertEqual(dashboard.empty_queries(
                prometheus, quickstart.ROOT / "deploy/grafana/fabricd.json", healthy=True), [])

    def test_10_errors_help(self):
        done = self.ctl("nodes", controller="127.0.0.1:1")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^fabricctl: .*127\.0\.0\.1:1.*\n$")
        self.assertEqual(self.ctl("nodse").returncode, 2)
        done = self.ctl("node", "n9")
        self.assertIn("n9", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        with self.assertRaises(urllib.error.HTTPError) as error:
            self.controller.get("/v1/nodes/n9")
        self.assertEqual(error.exception.code, 404)
        self.assertIn("n9", json.load(error.exception)["message"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
