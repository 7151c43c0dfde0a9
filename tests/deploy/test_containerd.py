#!/usr/bin/env python3
"""The agent asks a real containerd for the names of pods, and finds their processes.

Devices of pods, which the kubelet knows, are tested with a server of our own: pods_client_test."""

import re
import subprocess
import uuid

import containerd
from deploytest import DeployTest, main


class TestContainerd(DeployTest):
    def setUp(self):
        for tool in ("containerd", "ctr", "runc", "protoc", "curl", "gcc"):
            self.tool(tool)
        self.agent = self.program("fabric-agent")
        if reason := containerd.obstacle():
            self.skipTest(reason)
        self.runtime = containerd.Containerd(self.folder())
        self.addCleanup(self.runtime.close)

    def inspect(self, pod):
        return subprocess.run([self.agent, "inspect", "--cri-socket", self.runtime.socket, "--pod",
                               pod], capture_output=True, text=True, timeout=60, check=False)

    def test_a_pod_by_its_name(self):
        uids = {space: str(uuid.uuid4()) for space in ("ml", "other")}
        sandboxes = {space: self.runtime.run_pod(space, "train-0", uid)
                     for space, uid in uids.items()}
        for space, uid in uids.items():
            done = self.inspect(f"{space}/train-0")
            self.assertEqual(done.returncode, 0, done.stderr)
            for row in (rf"PROCESS +\d+ pause\n(.|\n)*POD +{space}/train-0\n", rf"POD UID +{uid}\n",
                        rf"CGROUP +/\S*/pod{uid}/{sandboxes[space]}\n"):
                self.assertRegex(done.stdout, row)
            self.assertIn(f"{space}/train-0\n", self.inspect(uid).stdout, "by its UID")

        for wrong in ("ml/train-1", "train-0"):
            done = self.inspect(wrong)
            self.assertEqual((done.returncode, done.stdout), (1, ""), wrong)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.runtime.stop_pod(sandboxes["ml"])
        done = self.inspect("ml/train-0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ml/train-0", done.stderr)
        self.assertEqual(self.inspect("other/train-0").returncode, 0)

    def test_doctor(self):
        """It says that the socket answers, and which one does not."""
        words = [self.agent, "doctor", "--cri-socket"]
        for socket, state in ((self.runtime.socket, "works"), ("/nowhere.sock", "missing")):
            done = subprocess.run([*words, socket], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertRegex(done.stdout, rf"container runtime +names of pods +{state}",
                             done.stderr)

    def test_pods_without_rdma_are_left_out(self):
        self.runtime.run_pod("ml", "web", str(uuid.uuid4()))
        printed = self.run_well(self.agent, "inspect", "--cri-socket", self.runtime.socket, "-o",
                                "json")
        self.assertNotIn('"web"', printed)
        self.assertFalse(re.search(r'"inspector": "pods"', printed), "no gap")


if __name__ == "__main__":
    main()
