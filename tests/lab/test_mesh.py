#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The always-on mesh over real verbs: four guests under two leaves with two spines. It has a lab of
its own, because the mesh is off by default."""

import json
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "deploy")]

# pylint: disable=wrong-import-position
from labcase import LabCase

WINDOW_S = 10
AGENT_MB_MAX = 32  # The documented limit, with the mesh on
CAP_NET_RAW = 13
IDLE = "qp 1 cm_id 0 mr 0"  # Resources of the kernel itself


class MeshTests:
    """A mixin of TestMesh. The tests run in the order of their names. The last two leave the lab
    broken."""

    @classmethod
    def mesh(cls):
        return cls.controller.get("/v1/mesh")

    def sums(self):
        """(sent, lost) by (rail, "within" or "across" leaves)."""
        sums = {}
        for pair in self.mesh().get("leaf_pairs", []):
            within = pair["from_leaf"] == pair["to_leaf"]
            key = (int(pair.get("rail", 0)), "within" if within else "across")
            sent, lost = sums.get(key, (0, 0))
            sums[key] = (sent + int(pair.get("sent", 0)), lost + int(pair.get("lost", 0)))
        return sums

    def share_lost(self, key):
        sent, lost = self.sums().get(key, (0, 0))
        return lost / sent if sent else None

    def suspects(self):
        return [(one["kind"].removeprefix("SUSPECT_KIND_"), one["name"])
                for one in self.mesh().get("blame", {}).get("suspects", [])]

    def test_1_a_healthy_lab_has_no_suspects(self):
        self.until(lambda: len(self.sums()) == 4 and all(s > 4 for s, _ in self.sums().values()),
                   "pings within and across leaves on both rails", 180)
        mesh = self.mesh()
        self.assertEqual(mesh["ports"], 8)
        self.assertEqual(mesh.get("not_covered", []), [])
        self.assertEqual(mesh["flow_labels_per_leaf_pair"], 8)
        self.assertEqual(self.suspects(), [])
        self.assertLess(sum(lost for _, lost in self.sums().values()),
                        0.02 * sum(sent for sent, _ in self.sums().values()), self.sums())
        done = self.ctl("mesh")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("rail0-leaf1", done.stdout)
        print(done.stdout, file=sys.stderr)
        for node in self.lab.nodes:
            status = self.lab.shell(node, "cat /proc/$(pidof fabric-agent)/status")
            [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
            resident_mb = int(line.split()[1]) / 1024
            print(f"{node}: the agent uses {resident_mb:.1f} MB", file=sys.stderr)
            self.assertLessEqual(resident_mb, AGENT_MB_MAX)
            # The leaves above come from its packet socket.
            [line] = [line for line in status.splitlines() if line.startswith("CapEff:")]
            self.assertFalse(int(line.split()[1], 16) & 1 << CAP_NET_RAW, line)

    def test_2_an_agent_that_ends_does_not_count_as_loss(self):
        before = self.sums()
        self.lab.exec("n4", "kill -9 $(pidof fabric-agent)")  # It comes back after a second.
        time.sleep(3 * WINDOW_S)
        lost = sum(l for _, l in self.sums().values()) - sum(l for _, l in before.values())
        self.assertLess(lost, 10, (before, self.sums()))
        self.assertEqual(self.suspects(), [])

    def test_3_a_path_that_drops_affects_only_its_pair_of_leaves(self):
        self.lab.link("rail0", "leaf1-spine1", "loss", 100)
        self.until(lambda: (self.share_lost((0, "across")) or 0) > 0.1,
                   "loss between the leaves of rail0", 120)
        for key in ((0, "within"), (1, "within"), (1, "across")):
            self.assertLess(self.share_lost(key), 0.03, self.sums())
        for kind, name in self.suspects():
            self.assertNotIn(kind, ("PORT", "HOST"), name)

    def test_4_a_lost_controller_leaves_nothing_behind(self):
        self.assertNotIn(IDLE, self.lab.shell("n1", "rdma resource show rxe0"))
        self.controller.stop()
        self.until(lambda: all(IDLE in self.lab.shell(n, "rdma resource show rxe0")
                               for n in self.lab.nodes), "queue pairs are gone", 60)


class TestMesh(MeshTests, LabCase):
    NAME = "test-mesh"
    FLAGS = ("--lost-after", "5s", "--mesh", "on", "--mesh-paths", "2", "--mesh-pings", "20")
    LAB = {"nodes": 4, "leaves": 2, "spines": 2}

    @classmethod
    def seen(cls):
        return json.dumps(cls.mesh())


if __name__ == "__main__":
    unittest.main(verbosity=2)
