#!/usr/bin/env python3
"""The Slurm programs: limits as tables, and a real slurmctld with 16 slurmd.

Certificates come from a program in place of `fabricctl certify`; test_slurm_certificates.py has
those of a real fabricd. All else is real: slurmctld, slurmd, scontrol, and fabric-agent with
fabricctl check.
"""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from deploytest import DEPLOY, ROOT, DeployTest, main
from fleet import Fleet
from slurmcluster import NODES, SlurmTest

sys.path.insert(0, str(DEPLOY / "slurm"))
# pylint: disable=wrong-import-position
import fabric_slurm
from freeports import free_ports


def node(name, state="idle", since=0, reason="none", partitions=("all",)):
    made = fabric_slurm.Node(name, state, "slurm", since, reason)
    made.partitions = set(partitions)
    return made


def ours(name, since=0, **more):
    return node(name, "drained", since, fabric_slurm.PREFIX + "slow [x]", **more)


def fleet(*changed, size=10):
    nodes = {f"n{i}": node(f"n{i}") for i in range(size)}
    return nodes | {made.name: made for made in changed}


class TestLimits(DeployTest):
    def settings(self, **changes):
        return fabric_slurm.read_settings(pathlib.Path("/dev/null")) | {
            name.replace("_", "-"): value for name, value in changes.items()}

    def over(self, nodes, before=0, **changes):
        return sorted(fabric_slurm.excess(nodes, self.settings(**changes), before, 10000))

    def test_the_share_of_a_partition_counts_nodes_that_others_drained(self):
        self.assertEqual(self.over(fleet(ours("n1"))), [])
        self.assertEqual(self.over(fleet(ours("n1"), node("n2", "down"))), ["n1"])
        self.assertEqual(self.over(fleet(ours("n1", 5), ours("n2", 4))), ["n1"])
        self.assertEqual(self.over(fleet(ours("n1"), size=9)), ["n1"])
        self.assertEqual(self.over(fleet(ours("n1", partitions=("all", "small")))), ["n1"])

    def test_drains_per_hour_count_the_last_hour_and_nodes_resumed_since(self):
        wide = {"partition_share_percent": 50, "drains_per_hour": 2}
        nodes = fleet(ours("n1", 9000), ours("n2", 9001), ours("n3", 9002))
        self.assertEqual(self.over(nodes, **wide), ["n3"])
        self.assertEqual(self.over(nodes, 1, **wide), ["n2", "n3"])
        nodes["n1"].since = 10000 - fabric_slurm.HOUR_S
        self.assertEqual(self.over(nodes, **wide), [])

    def test_reads_the_lines_of_sinfo(self):
        nodes = fabric_slurm.parse_nodes(
            "n1|all|drained|slurm|2026-11-24T01:00:00|fabricd: a|b [x]\n"
            "n1|gpu|drained|slurm|2026-11-24T01:00:00|fabricd: a|b [x]\n"
            "n2|all|idle|Unknown|Unknown|none\n")
        self.assertEqual(nodes["n1"].partitions, {"all", "gpu"})
        self.assertTrue(nodes["n1"].ours())
        self.assertIsNone(nodes["n2"].since)
        self.assertFalse(nodes["n2"].ours())
        with self.assertRaisesRegex(fabric_slurm.Failure, "six fields, saw 'x'"):
            fabric_slurm.parse_nodes("x\n")

    def test_a_wrong_setting_has_its_line(self):
        path = self.folder() / "slurm.yaml"
        for text, message in (("act: perhaps\n", ":1: act: expected yes or no, saw 'perhaps'"),
                              ("approval: 1\n", ":1: approval: expected yes or no, saw '1'"),
                              ("\nacts: no\n", ":2: expected 'NAME: VALUE' with one of"),
                              ("drains-per-hour: -1", "expected a number, saw '-1'"),
                              ("partition-share-percent: 300", "expected at most 100, saw 300"),
                              ("certify-within: 1m", "expected seconds such as 30s, saw '1m'")):
            path.write_text(text)
            with self.assertRaisesRegex(fabric_slurm.Failure, re.escape(message)):
                fabric_slurm.read_settings(path)

    def test_a_settings_file_that_is_named_must_be_there(self):
        with self.assertRaisesRegex(OSError, "/nowhere/slurm.yaml"):
            fabric_slurm.read_settings(pathlib.Path("/nowhere/slurm.yaml"))

    def test_the_shipped_settings_change_nothing(self):
        settings = fabric_slurm.read_settings(DEPLOY / "slurm/slurm.yaml")
        self.assertEqual(settings["act"], "no")
        self.assertEqual(settings, self.settings())


class TestTopology(DeployTest):
    def tree(self, *ports):
        return fabric_slurm.slurm_topology([{"node": node, "leaf": leaf} for node, leaf in ports])

    def test_leaves_that_share_nodes_are_one_switch(self):
        self.assertEqual(
            self.tree(("n1", "rail0 a"), ("n1", "rail1 a"), ("n2", "rail1 a"), ("n3", "b"),
                      ("n4", "b"), ("n5", "")),
            ("SwitchName=b Nodes=n3,n4\nSwitchName=rail0_a Nodes=n1,n2\n"
             "SwitchName=fabric Switches=b,rail0_a\n", ["n5"]))

    def test_names_of_leaves_stay_different(self):
        made, _ = self.tree(("n1", "rail 0"), ("n2", "rail_0"), ("n3", "fabric"))
        self.assertEqual(made, "SwitchName=fabric-2 Nodes=n3\nSwitchName=rail_0 Nodes=n1\n"
                               "SwitchName=rail_0-2 Nodes=n2\n"
                               "SwitchName=fabric Switches=fabric-2,rail_0,rail_0-2\n")

    def test_one_switch_has_no_parent(self):
        self.assertEqual(self.tree(("n1", "a"), ("n2", "a")),
                         ("SwitchName=a Nodes=n1,n2\n", []))
        self.assertEqual(self.tree(("n1", "")), ("", ["n1"]))


class TestPartners(DeployTest):
    KNOWN = {f"n{i}": {"name": f"n{i}", "ports_active": 8} for i in range(1, 9)}

    def pick(self, count=2, **changed):
        known = self.KNOWN | {name: self.KNOWN[name] | more for name, more in changed.items()}
        return fabric_slurm.slurm_partners.pick(
            ["n1"], ["n2", "n3", "n4", "n5", "x1", "x2"], known, count)

    def test_a_partner_is_connected_to_fabricd(self):
        self.assertEqual(self.pick(9), ["n2", "n3", "n4", "n5"])
        self.assertEqual(self.pick(9, n2={"ports_active": 0}), ["n3", "n4", "n5"])
        self.assertEqual(fabric_slurm.slurm_partners.pick(["n1"], ["x1"], self.KNOWN, 2), [])

    def test_partners_have_the_same_ports_and_no_finding_if_possible(self):
        self.assertEqual(self.pick(n2={"findings_open": 1}, n4={"findings_open": 3}), ["n3", "n5"])
        self.assertEqual(self.pick(n2={"ports_active": 1}, n3={"ports_active": 2}), ["n4", "n5"])
        self.assertEqual(self.pick(3, n2={"ports_active": 1}, n3={"findings_open": 1}),
                         ["n3", "n4", "n5"])

    def test_equal_partners_take_turns(self):
        self.assertEqual({name for _ in range(200) for name in self.pick(1)},
                         {"n2", "n3", "n4", "n5"})

    def test_nodes_of_fabricd_or_an_error(self):
        answer = json.dumps({"nodes": [self.KNOWN["n1"]]})
        connected = fabric_slurm.slurm_partners.connected
        self.assertEqual(connected(lambda *_: (0, answer, "")), {"n1": self.KNOWN["n1"]})
        self.assertEqual(connected(lambda *_: (0, "{}", "")), {})
        with self.assertRaisesRegex(fabric_slurm.Failure, "fabricctl nodes: exit status 3: down"):
            connected(lambda *_: (3, "", "down"))


class TestSlurm(SlurmTest):
    def test_bad_node_is_drained_and_resumed_after_a_certificate(self):
        self.fleet()
        self.bad.write_text("n1")
        self.settings()
        self.assertIn("n1", self.job(NODES))
        self.assertEqual(len(self.in_state("drained")), 0, "without act: yes")
        self.assertIn("would drain n1: fabricd: port", (self.path / "prolog.log").read_text())

        self.settings(act="yes", drains_per_hour=2)
        self.wait(lambda: len(self.in_state("idle")) == NODES)
        self.slurm("scontrol", "update", "nodename=n16", "state=drain", "reason=replace fan")
        self.assertNotIn("n1", self.job(NODES - 2))
        self.assertEqual(self.in_state("drained"), ["n1", "n16"])
        self.assertRegex(self.reason("n1"), r"^fabricd: port mlx5_1/1 is slow \[/.*\.json\]$")
        evidence = re.search(r"\[(.*)\]", self.reason("n1"))[1]
        self.assertTrue(pathlib.Path(evidence).exists())
        command = re.search(r"^ +\$ (sinfo .*)$", (ROOT / "docs/SLURM.md").read_text(), re.M)[1]
        shown = self.slurm(*shlex.split(command)).splitlines()
        self.assertEqual(shown[0], "NODELIST REASON")
        self.assertIn(f"n1 {self.reason('n1')}", shown)

        self.assertIn("not resumed n1: VERDICT_FAIL", self.program_run("resume"))
        self.assertEqual(self.in_state("drained"), ["n1", "n16"])
        self.bad.write_text("")
        self.settings(act="no")
        self.assertIn("would resume n1", self.program_run("resume"))
        self.assertEqual(self.in_state("drained"), ["n1", "n16"])
        self.settings(act="yes", drains_per_hour=2)
        self.program_run("resume")
        self.assertEqual(self.in_state("drained"), ["n16"])
        self.assertEqual(self.audit(), [("drain", "n1"), ("resume", "n1")])

        # The drain of n1 counts: one more is allowed in this hour, and the job runs then.
        self.bad.write_text("n2 n3 n4")
        self.wait(lambda: len(self.in_state("idle")) == NODES - 1)
        self.assertIn("n3", self.job(NODES - 2))
        self.assertEqual(self.in_state("drained"), ["n2", "n16"])
        self.settings(act="yes", drains_per_hour=9, resumes_per_hour=1)
        self.bad.write_text("")
        self.assertIn("0 of resumes-per-hour are left", self.program_run("resume"))
        self.check_on_a_node()

    def check_on_a_node(self):
        """The health check with the real agent and rules, then on a captured tree with faults."""
        broken, agent = self.path / "broken", self.path / "bin/fabric-agent"
        self.run_well(self.program("unpack"), ROOT / "tests/fixtures/roce_connectx6dx.tree", broken)
        self.settings(act="yes", drains_per_hour=9)
        self.program_run("check", SLURMD_NODENAME="n9")
        self.assertNotIn("n9", self.in_state("drained"), "this machine has no fault")
        agent.unlink()
        agent.write_text(f'#!/bin/sh\nexec {self.program("fabric-agent")} "$@" --root {broken}\n')
        agent.chmod(0o755)
        self.program_run("check", SLURMD_NODENAME="n9")
        self.assertIn("n9", self.in_state("drained"))
        self.assertRegex(self.reason("n9"), r"^fabricd: \w+: .* \[.*/check\.json\]$")

    def test_a_drain_waits_for_approval_and_a_person_reverts_it(self):
        """Certificates come from CERTIFY; actions are of a real fabricd."""
        self.fleet()
        fabricctl = self.program("fabricctl").resolve()
        with Fleet(self.folder(), self.program,
                   "--remediation=approve", "--remediation-percent=100") as fleet:
            fleet.add("n1", "roce_connectx6dx")
            fleet.wait(lambda: fleet.get("/v1/nodes")["nodes"], "node n1")
            self.settings(act="yes", approval="yes", controller=fleet.grpc)
            remedy = lambda *words: self.run_well(  # noqa: E731
                fabricctl, "remedy", *words, "--controller", fleet.grpc)
            job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}

            self.bad.write_text("n2")  # fabricd does not know it.
            self.assertIn("not drained n2: fabricctl: unknown node 'n2'",
                          self.program_run("prolog", **job))
            self.bad.write_text("n1")
            said = self.program_run("prolog", **job)
            self.assertIn("n1: action a1 is proposed: fabricctl remedy approve a1", said)
            self.program_run("actions")
            self.assertEqual(self.in_state("drained"), [])

            self.assertIn("a1 (slurm-drain of n1) is approved",
                          remedy("approve", "a1", "--author", "mia"))
            said = self.program_run("actions")
            self.assertEqual(self.in_state("drained"), ["n1"])
            self.assertIn("applied", remedy("list"), said)

            remedy("revert", "a1", "--author", "mia", "--note", "needed tonight")
            self.program_run("actions")
            self.assertEqual(self.in_state("drained"), [])
            self.assertIn("reverted", remedy("list", "--all"))
            self.assertIn("mia ended action a1", self.program_run("prolog", **job))
            self.assertEqual(self.audit(), [("drain", "n1"), ("revert", "n1")])

    def test_slurmctld_accepts_the_topology_of_lldp(self):
        """Two leaves, of which one is that of both rails of its nodes."""
        text, _ = fabric_slurm.slurm_topology(
            [{"node": f"n{i}", "leaf": f"leaf{(i - 1) // 2 + 1}"} for i in range(1, 5)])
        self.check_topology(text)

    def test_slurmctld_accepts_the_topology_of_a_subnet(self):
        text = self.run_well(self.program("fabricctl"), "subnet", "export", "--as", "slurm",
                             ROOT / "tests/fixtures/infiniband/two_leaves.txt")
        self.check_topology(text)

    def check_topology(self, text):
        (self.path / "topology.conf").write_text(text)
        names = re.findall(r"Nodes=(\S+)", text)
        self.configure("TopologyPlugin=topology/tree\n" + "".join(
            f"NodeName={name} NodeAddr=127.0.0.1 CPUs=1\n" for name in names)
            + "PartitionName=all Nodes=ALL Default=YES State=UP")
        self.start("slurmctld", "-D")
        self.wait(lambda: subprocess.run(["scontrol", "ping"], env=self.env, capture_output=True,
                                         check=False).returncode == 0)
        shown = self.slurm("scontrol", "show", "topology")
        for switch in re.findall(r"SwitchName=(\S+)", text):
            self.assertIn(f"SwitchName={switch} ", shown)

    def test_slurmd_runs_the_health_check_and_the_epilog(self):
        """On a node with faults: each finds them, and then the node is drained."""
        own, port = free_ports(2)
        settings = {}
        for name, setting in (("health-check", "HealthCheckProgram"), ("epilog", "Epilog")):
            wrapper = self.path / name  # slurmd passes only variables of its own.
            wrapper.write_text(f"#!/bin/sh\nexport FABRIC_SLURM_SETTINGS={self.path}/slurm.yaml\n"
                               f"exec {DEPLOY}/slurm/{name} >>{self.path}/{name}.log 2>&1\n")
            wrapper.chmod(0o755)
            settings[setting] = wrapper
        tree = self.path / "tree"
        self.run_well(self.program("unpack"), ROOT / "tests/fixtures/roce_connectx6dx.tree", tree)
        agent = self.path / "bin/fabric-agent"
        agent.write_text(f'#!/bin/sh\nexec {self.program("fabric-agent")} "$@" --root {tree}\n')
        agent.chmod(0o755)
        for name in ("sinfo", "scontrol", "fabricctl"):
            program = self.program(name) if name == "fabricctl" else shutil.which(name)
            (self.path / "bin" / name).symlink_to(pathlib.Path(program).resolve())
        self.settings(partition_share_percent=100)
        self.configure("".join(f"{name}={path}\n" for name, path in settings.items())
                       + "HealthCheckInterval=2\n"
                       f"NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1\n"
                       "PartitionName=all Nodes=n1 Default=YES State=UP", own)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", "n1")
        found = lambda name: (self.path / f"{name}.log").exists() and (  # noqa: E731
            "would drain n1: fabricd: " in (self.path / f"{name}.log").read_text())
        self.wait(lambda: found("health-check"))
        self.assertFalse(found("epilog"), "no job has run")
        self.job(1)
        self.wait(lambda: found("epilog"))
        self.assertEqual(self.in_state("drained"), [])
        self.settings(act="yes", partition_share_percent=100)
        self.wait(lambda: self.in_state("drained") == ["n1"])
        self.assertRegex(self.reason("n1"), r"^fabricd: \w+: .* \[.*/check\.json\]$")


if __name__ == "__main__":
    main()
