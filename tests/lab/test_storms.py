# SPDX-License-Identifier: Apache-2.0
"""Nodes that change while the agent runs: links that flap, devices and addresses that come and go,
drivers that are reloaded or do not answer. The agent must remain the same process, a watcher must
receive each change once and in order, and no finding may be open at the end.

A mixin of TestSystem, whose lab it shares.
"""

import contextlib
import json
import time
import urllib.request

import labevents
from labtest import until
from quickstart import RELEASE

FLAPS = 12
ACTIVE = "PORT_STATE_ACTIVE"
RELOAD = """
until rmmod rdma_rxe; do sleep 0.1; done
insmod /lib/modules/rdma_rxe.ko
for rail in 0 1; do rdma link add rxe$rail type rxe netdev rail$rail || exit 1; done
"""
# A card that returns from another network namespace has lost its settings and its RDMA device.
AWAY = "ip netns add away && ip link set rail1 netns away"
BACK = """
set -e
. /etc/lab/healthy
ip netns exec away ip link set rail1 netns 1
ip netns delete away
rmmod labnic
insmod /lib/modules/labnic.ko devices=rail0,rail1
healthy_dcb rail0
healthy_dcb rail1
ip link set rail1 mtu 4200 up
ip address add 10.10.1.3/24 dev rail1
rdma link add rxe1 type rxe netdev rail1
"""


class StormTests:
    """Needs self.lab, self.controller and the helpers of TestSystem."""

    @contextlib.contextmanager
    def watched(self, node):
        """Collects the port events of a node from fabricctl. Afterwards, the node must have the
        same agent and no findings."""
        process = self.lab.shell(node, "cat /run/agent.pid")
        seen, numbers = [], []
        with labevents.fabricctl_lines(RELEASE / "bin/fabricctl", self.controller) as lines:
            time.sleep(1)  # It has subscribed.
            yield seen
            self.until(lambda: self.findings() == [] and self.active_ports(node) == 2,
                       "settled", 30)
            time.sleep(2)  # No further event arrives.
            self.assertEqual(self.findings(), [])
            while not lines.queue.empty():
                event = json.loads(lines.queue.get()[1])
                ports = event.get("ports", {}).get("ports", [])
                ports = [event["port"]] if "port" in event else ports
                mine = [{"port": port} for port in ports if port["node"] == node]
                numbers += [int(event["sequence"])] if mine else []
                seen += mine
        self.assertEqual(self.states()[node], "CONNECTED")
        self.assertEqual(self.lab.shell(node, "cat /run/agent.pid"), process, "the same agent")
        self.assertEqual(numbers, sorted(set(numbers)), "each once, in order")
        for device in ("rxe0", "rxe1"):
            changes = [event["port"] for event in seen if event["port"]["device"] == device]
            for before, after in zip(changes, changes[1:]):
                self.assertEqual(before["after"], after["before"], changes)
            for change in changes:
                self.assertNotEqual(change["before"], change["after"])
            if changes:
                self.assertEqual(changes[-1]["after"], ACTIVE, changes)

    def active_ports(self, node):
        devices = self.controller.get(f"/v1/nodes/{node}")["snapshot"]["rdma_devices"]
        return sum(port.get("state") == ACTIVE for d in devices for port in d["ports"])

    def test_08_storm_of_link_flaps(self):
        with self.watched("n1") as seen:
            self.lab.shell("n1", f"i=0; while [ $i -lt {FLAPS} ]; do ip link set rail0 down; "
                                 "ip link set rail0 up; sleep 0.1; i=$((i + 1)); done; "
                                 "ip address show dev rail0 | grep -q inet6 || :")
        downs = [event for event in seen if event["port"]["after"] != ACTIVE]
        self.assertLessEqual(len(downs), FLAPS)
        self.assertEqual({event["port"]["device"] for event in seen}, {"rxe0"} if seen else set())

    def test_08_storm_of_slow_flaps_is_reported_completely(self):
        with self.watched("n2") as seen:
            for _ in range(3):
                self.lab.fault("n2", "link-down", "rail1", "admin")
                until(lambda: self.active_ports("n2") == 1, "down")
                self.lab.fault("n2", "link-down", "rail1", "admin", repair=True)
                until(lambda: self.active_ports("n2") == 2, "up")
        self.assertEqual([event["port"]["after"] == ACTIVE for event in seen],
                         [False, True] * 3, seen)

    def test_08_storm_of_devices_that_come_and_go(self):
        with self.watched("n3"):
            for _ in range(3):
                self.lab.shell("n3", "rdma link delete rxe1")
                until(lambda: self.active_ports("n3") == 1, "rxe1 is gone")
                self.lab.shell("n3", "rdma link add rxe1 type rxe netdev rail1")
                until(lambda: self.active_ports("n3") == 2, "rxe1 is back")
            self.lab.shell("n3", RELOAD)

    def test_08_storm_of_a_card_that_moves_to_another_network_namespace(self):
        def netdevs():
            found = self.controller.get("/v1/nodes/n3")["snapshot"]["net_interfaces"]
            return sorted(netdev["name"] for netdev in found)

        with self.watched("n3") as seen:
            self.lab.shell("n3", AWAY)
            try:
                until(lambda: netdevs() == ["eth0", "rail0"] and self.active_ports("n3") == 1,
                      "rail1 is gone and its device too")
            finally:
                self.lab.shell("n3", BACK)
        self.assertEqual(netdevs(), ["eth0", "rail0", "rail1"])
        self.assertEqual({event["port"]["device"] for event in seen} - {"rxe1"}, set(), seen)

    def test_08_storm_of_addresses(self):
        def gids():
            devices = self.controller.get("/v1/nodes/n1")["snapshot"]["rdma_devices"]
            return {gid["ipv4"] for d in devices for port in d["ports"] for gid in port["gids"]}

        with self.watched("n1") as seen:
            before = gids()
            for number in (71, 72, 73):
                self.lab.shell("n1", f"ip address add 10.10.0.{number}/24 dev rail0")
            until(lambda: gids() == before | {f"10.10.0.{n}" for n in (71, 72, 73)}, "added")
            for number in (71, 72, 73):
                self.lab.shell("n1", f"ip address delete 10.10.0.{number}/24 dev rail0")
            until(lambda: gids() == before, "removed")
        self.assertEqual(seen, [], "no port has changed its state")

    def test_08_storm_of_a_driver_that_does_not_answer(self):
        def late():
            gaps = self.controller.get("/v1/nodes/n2")["snapshot"].get("gaps", [])
            return [gap for gap in gaps if gap["code"] == "GAP_CODE_DEADLINE_EXCEEDED"]

        # The event starts an inspection within a second. Periodic checks come every 30 s.
        event = "ip link set rail0 txqueuelen 1001; ip link set rail0 txqueuelen 1000"
        with self.watched("n2") as seen:
            self.lab.fault("n2", "driver-hang")
            try:
                self.lab.shell("n2", event)
                self.until(late, "a gap says that a driver does not answer", 45)
                self.assertEqual(self.states()["n2"], "CONNECTED")
                with urllib.request.urlopen(f"http://{self.lab.metrics('n2')}/metrics") as page:
                    self.assertIn(b"fabric_agent_", page.read())
                snapshot = self.controller.get("/v1/nodes/n2")["snapshot"]
            finally:
                self.lab.fault("n2", "driver-hang", repair=True)
            # Everything else was read.
            self.assertEqual([d["ports"][0]["state"] for d in snapshot["rdma_devices"]],
                             [ACTIVE, ACTIVE])
            rails = [n for n in snapshot["net_interfaces"] if n["name"].startswith("rail")]
            self.assertEqual([n["dcb"]["pfc"]["enabled_mask"] for n in rails], [8, 8])
            self.lab.shell("n2", event)
            self.until(lambda: not late(), "it answers again", 45)
        self.assertEqual(seen, [], "no port has changed its state")
