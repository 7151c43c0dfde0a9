# SPDX-License-Identifier: Apache-2.0
"""Inspection in the guests: equal to their own tools, within other namespaces, without a write.

A part of TestSystem, whose lab it shares: three nodes with fabric-agent and only_reads.
"""

import json
import time

import labtools

# A network namespace of its own, and a process in it with little lockable memory.
JOB = """
ip netns add job
(ulimit -l 64; setsid /usr/bin/ip netns exec job sleep 600 >/dev/null 2>&1 </dev/null &)
"""
NO_JOB = "kill $(ip netns pids job) 2>/dev/null; ip netns delete job"
WATCHED = ["inspect", "inspect -o json", "metrics", "ibdev2netdev -v", "nccl-env || [ $? = 1 ]"]


class ToolTests:
    """Needs self.lab, and the assertions of a TestCase."""

    def snapshot(self, node, *words):
        return json.loads(self.lab.shell(node, "fabric-agent inspect -o json " + " ".join(words)))

    def test_02_settings_are_those_of_the_guests_own_tools(self):
        for node in self.lab.nodes:
            diff = labtools.Differences()
            labtools.settings(lambda script, node=node: self.lab.shell(node, script),
                              self.snapshot(node), diff)
            self.assertEqual(diff.found, [], node)
            self.assertGreater(diff.seen, 100, node)

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
        done = self.lab.exec("n2", "only_reads dcb pfc set dev rail0 prio-pfc all:off")
        self.assertEqual(done.returncode, 99, done.stderr)
        self.assertIn("only_reads: denied: rtnetlink message 79", done.stderr)

    def test_02_another_network_namespace_is_seen_from_within(self):
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
