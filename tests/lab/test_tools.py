# SPDX-License-Identifier: Apache-2.0
"""Inspection in the guests: compared with their own tools, in other namespaces, and read-only.

A mixin of TestSystem, whose lab it shares: three nodes with fabric-agent and only_reads.
"""

import functools
import json
import time

import labtools

# A network namespace with a process that has a low limit of locked memory.
JOB = """
ip netns add job
(ulimit -l 64; setsid /usr/bin/ip netns exec job sleep 600 >/dev/null 2>&1 </dev/null &)
"""
AS_NOBODY = """
grep -q nobody /etc/passwd || echo nobody:x:65534:65534:nobody:/:/bin/sh >>/etc/passwd
"""
NO_JOB = "kill $(ip netns pids job) 2>/dev/null; ip netns delete job"
WATCHED = ["inspect", "inspect -o json", "metrics", "ibdev2netdev -v", "nccl-env || [ $? = 1 ]"]
# Runs the agent for some seconds, in which a netdev setting changes and causes an event.
DAEMON = """
only_reads --network timeout 14 fabric-agent run --no-controller --metrics 127.0.0.1:9999 \
  --log-level debug & watch=$!
sleep 6; ip link set rail1 txqueuelen 1001; ip link set rail1 txqueuelen 1000
wait $watch
"""


class ToolTests:
    """Needs self.lab and the assertions of a TestCase."""

    def snapshot(self, node, *words):
        return json.loads(self.lab.shell(node, "fabric-agent inspect -o json " + " ".join(words)))

    def compared(self, node):
        """Compares the snapshot with the tools' output. Returns both."""
        tools = functools.cache(lambda script: self.lab.shell(node, script))
        snapshot, diff = self.snapshot(node), labtools.Differences()
        labtools.settings(tools, snapshot, diff)
        self.assertEqual(diff.found, [], node)
        self.assertGreater(diff.seen, 150, node)
        return snapshot, tools

    def test_02_settings_are_those_of_the_guests_own_tools(self):
        for node in self.lab.nodes:
            snapshot, tools = self.compared(node)
        blind, printed = labtools.unseen(tools, snapshot)
        self.assertEqual(blind, [], "the comparison would miss wrong values of these fields")
        self.assertEqual(printed, [], "labtools.NOT_PRINTED lists these, but the tools print them")

    def test_02_settings_of_a_broken_node_are_those_of_its_own_tools_too(self):
        faults = (["link-down", "rail0"], ["mtu", "rail1"], ["pfc", "rail1", "3,4"],
                  ["dscp-missing", "rail1"], ["duplicate-address", "rail1", "n2"])
        for fault in faults:
            self.lab.fault("n3", *fault)
        try:
            time.sleep(1)  # The kernel reports a link that is down up to a second late.
            snapshot, _ = self.compared("n3")
            ports = {device["name"]: device["ports"][0] for device in snapshot["rdma_devices"]}
            self.assertEqual(ports["rxe0"]["state"], "PORT_STATE_DOWN")
            self.assertEqual(ports["rxe1"]["active_mtu_bytes"], 1024)
            self.assertEqual(len(ports["rxe1"]["gids"]), 3)
        finally:
            for fault in faults:
                self.lab.fault("n3", *fault, repair=True)
        self.until(lambda: self.findings() == [], "repaired", 10)

    def test_02_counters_are_those_of_the_guests_own_tools(self):
        def run(script):
            return self.lab.shell("n1", script)

        run("ping -c 3 -I rail0 10.10.0.2")
        before = labtools.counters_now(run, self.snapshot("n1"))
        snapshot = self.snapshot("n1")
        diff = labtools.Differences()
        labtools.counters(before, snapshot, labtools.counters_now(run, snapshot), diff)
        self.assertEqual(diff.found, [])
        self.assertGreater(diff.seen, 60)

    def test_02_inspection_only_reads(self):
        for words in WATCHED:
            with self.subTest(command=words):
                done = self.lab.exec("n2", f"only_reads fabric-agent {words}", timeout=120)
                self.assertNotIn("only_reads: ", done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)
        done = self.lab.exec("n2", DAEMON, timeout=60)
        self.assertNotIn("only_reads: ", done.stderr)
        self.assertIn("inspected after an event", done.stderr)
        self.assertIn(done.returncode, (0, 124, 143), done.stderr)
        done = self.lab.exec("n2", "only_reads dcb pfc set dev rail0 prio-pfc all:off")
        self.assertEqual(done.returncode, 99, done.stderr)
        self.assertIn("only_reads: denied: rtnetlink message 79", done.stderr)

    def test_02_without_root_gaps_name_the_capabilities(self):
        inspected = self.lab.shell("n3", AS_NOBODY + "su nobody -c 'fabric-agent inspect -o json'")
        snapshot, of_root = json.loads(inspected), self.snapshot("n3")
        reasons = {gap["inspector"]: gap["reason"] for gap in snapshot["gaps"]
                   if gap["code"] == "GAP_CODE_PERMISSION_DENIED"}
        self.assertEqual(sorted(reasons), ["kernel_log", "lldp", "modules", "pci_functions"])
        for inspector, capability in (("lldp", "CAP_NET_RAW"), ("kernel_log", "CAP_SYSLOG"),
                                      ("modules", "CAP_NET_ADMIN"),
                                      ("pci_functions", "CAP_SYS_ADMIN")):
            self.assertIn(capability, reasons[inspector])
        for field in ("rdma_devices", "net_interfaces"):
            self.assertEqual(snapshot[field], of_root[field])

    def test_02_inspection_in_another_network_namespace(self):
        self.lab.shell("n3", JOB)
        try:
            deadline = time.monotonic() + 10
            while not (pids := self.lab.shell("n3", "ip netns pids job").split()):
                self.assertLess(time.monotonic(), deadline, "a process in the namespace")
                time.sleep(0.1)
            snapshot = self.snapshot("n3", "--netns", pids[0])
            names = {netdev["name"] for netdev in snapshot["net_interfaces"]}
            self.assertEqual(names - {"lo"}, set())
            job = snapshot["job"]
            self.assertEqual((job["pid"], job["process"]), (int(pids[0]), "sleep"))
            self.assertTrue(job["own_network_namespace"])
            self.assertEqual(job["memlock"]["soft_bytes"], str(64 << 10))
            self.assertEqual(job["rdma_devices"], ["rxe0", "rxe1"], "shared mode")
            files = {device["path"]: device for device in job["character_devices"]}
            self.assertTrue(files["/dev/infiniband/uverbs0"]["present"])
            self.assertEqual(job["usable_rdma_devices"], [], "their netdevs are elsewhere")
            inode = self.lab.shell("n3", f"readlink /proc/{pids[0]}/ns/net")
            self.assertEqual(inode.strip(), f"net:[{job['network_namespace']}]")
            self.assertEqual(self.snapshot("n3", "--netns", "job")["job"]["network_namespace"],
                             job["network_namespace"])
            home = self.snapshot("n3", "--netns", "1")["job"]
            self.assertFalse(home["own_network_namespace"])
            self.assertEqual(home["usable_rdma_devices"], ["rxe0", "rxe1"])
        finally:
            self.lab.shell("n3", NO_JOB)
        self.assertNotIn("sysfs", self.lab.shell("n3", "grep -c ' /sys sysfs' /proc/self/mounts"))
