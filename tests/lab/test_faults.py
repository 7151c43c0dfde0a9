#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twelve kinds of fault in a fabric of three leaves and four spines. Each must be attributed to the
right component, and no other component accused. Rules find faults of settings; campaigns and their
blame find the others.

The methods run in the order of their names on one lab. Each leaves the lab healthy.
"""

import base64
import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "deploy")]

# pylint: disable=wrong-import-position
import quickstart
from labcase import BIN, LabCase

PINGS = ("--kind", "ud_ping", "--pings", "64", "--interval", "5ms", "--rails", "0",
         "--flow-labels", ",".join(map(str, range(1, 17))))
# Soft RoCE treats 7 retries, the default, as unlimited, so the timeout ends a dead pair.
LATENCY = ("--kind", "rc_write_latency", "--iterations", "50", "--probe-timeout", "15s")
# Few short messages in flight, so that a slow card acknowledges them before a retransmission.
BANDWIDTH = ("--kind", "rc_write_bandwidth", "--iterations", "30", "--bytes", "16384",
             "--queue-depth", "4", "--bidirectional", "--probe-timeout", "40s", "--rails", "0")
# Three rounds of some seconds each. Every node takes part in two. The number of pairs is below the
# limit from which a campaign first checks which nodes answer.
LONG = ("--kind", "rc_write_latency", "--iterations", "600", "--pattern", "ring",
        "--probe-timeout", "40s", "--rails", "0")
# Of what a busy machine can leave undecided. A wrong answer fails at once.
TRIES = 4


class TestFaults(LabCase):
    NAME = "test-faults"
    FLAGS = ("--lost-after", "8s", "--boot-grace", "0s", "--flap-hold", "0s")
    # n1 to n3 are under leaf1, n4 to n6 under leaf2.
    LAB = {"nodes": 9, "leaves": 3, "spines": 4, "memory": 320}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # LLDP, which takes seconds, names the leaves.
        cls.until(lambda: all(cls.leaves_of(n) == {0, 1} for n in cls.lab.nodes), "LLDP", 60)

    def tearDown(self):
        super().tearDown()
        self.lab.repair_links()

    @classmethod
    def leaves_of(cls, node):
        neighbors = cls.controller.get(f"/v1/nodes/{node}")["snapshot"].get("lldp_neighbors", [])
        return {int(n["netdev"][4:]) for n in neighbors}

    def start(self, *words):
        return subprocess.Popen([BIN / "fabricctl", "--controller", self.controller.grpc, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.controller.environment)

    def campaign(self, *words):
        done = self.ctl("probe", "run", *words, "-o", "json")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def suspects(campaign):
        """(kind, name, fault) of each suspect."""
        return [(one["kind"].removeprefix("SUSPECT_KIND_"), one["name"],
                 one["fault"].removeprefix("FAULT_KIND_"))
                for one in campaign["blame"].get("suspects", [])]

    @staticmethod
    def starved(blame):
        """Whether a guest without a processor is all that was found."""
        return bool(blame["suspects"]) and all(
            one["fault"] == "FAULT_KIND_HOST_STALLED"
            and "host starved" in " ".join(one["evidence"])
            for one in blame["suspects"])

    def blamed_in(self, *words):
        """Suspects of a campaign, and the campaign. Repeated while its results are too few: on a
        busy machine the guests do not run at times, and no other part is judged then."""
        for _ in range(TRIES):
            campaign = self.campaign(*words, "--until-decided")
            blame = campaign["blame"]
            if blame["state"] != "BLAME_STATE_INSUFFICIENT_DATA" and not self.starved(blame):
                break
            print("[too few results, again] ", end="", file=sys.stderr, flush=True)
        return self.suspects(campaign), campaign

    def blamed(self, *words):
        """Suspects and blame of a campaign."""
        suspects, campaign = self.blamed_in(*words)
        return suspects, campaign["blame"]

    @staticmethod
    def pings(campaign):
        """A line for each result: what a wrong accusation was based on."""
        lines = []
        for one in campaign["results"]:
            ping = one["result"].get("ping", {})
            trip = ping.get("network_round_trip", {})
            times = [round(trip.get(each, 0)) for each in ("min_us", "median_us", "p99_us")]
            flows = [round(flow.get("median_us", 0)) for flow in ping.get("flows", [])]
            lines.append(f"{one['started_at']} round {one['round']} {one['from']['node']} to "
                         f"{one['to']['node']} {one['result']['status']} {times} flows {flows}")
        return "\n".join(lines)

    def test_00_a_healthy_fabric_has_no_suspects(self):
        self.assertEqual(self.findings(), [])
        suspects, campaign = self.blamed_in(*PINGS)
        self.assertEqual(suspects, [], f"{campaign['blame']}\n{self.pings(campaign)}")

    def test_01_loss_on_one_link(self):
        for what, value, fault in (("loss", 20, "PACKET_LOSS"), ("cut", 1, "TOTAL_LOSS")):
            with self.subTest(what):
                self.lab.link("rail0", "n5", what, value)
                suspects, blame = self.blamed(*PINGS)
                self.assertEqual(suspects, [("PORT", "n5/rxe0/1", fault)], blame)
                self.lab.repair_links()

    def test_02_one_path_of_four(self):
        self.lab.link("rail0", "leaf1-spine2", "cut", 1)
        suspects, blame = self.blamed(*PINGS)
        self.assertEqual([one[0] for one in suspects], ["UPLINK"], blame)
        self.assertTrue(suspects[0][1].startswith("rail0-leaf1"), suspects)

    def test_03_one_direction(self):
        self.lab.link("rail0", "n8", "loss", 30, "up")
        suspects, blame = self.blamed(*PINGS)
        self.assertEqual(suspects, [("PORT", "n8/rxe0/1", "PACKET_LOSS")], blame)
        self.assertEqual(blame["suspects"][0].get("direction"), "DIRECTION_OUT", blame)
        self.until(lambda: self.located_at("n8") != [], "n8 has a finding", 10)
        self.lab.repair_links()
        self.resolved_by_recheck("n8")

    def resolved_by_recheck(self, node):
        """A repair alone is not evidence. A short campaign shows that the fault is gone; on a busy
        machine, where hosts stall, a later one."""
        findings = self.located_at(node)
        self.assertNotEqual(findings, [])
        for _ in range(TRIES):
            done = self.ctl("probe", "recheck", *findings, "-o", "json")
            self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
            self.assertNotEqual(json.loads(done.stdout)["rechecks"], [])
            time.sleep(2)
            findings = self.located_at(node)
            if not findings:
                return
        self.fail(f"{node}'s finding is not resolved: {done.stdout}")

    def located_at(self, node):
        """Ids of the node's findings of campaigns."""
        return [f["id"] for f in self.all_findings()
                if f["rule"] == "probe_blame" and f["subject"].get("node") == node]

    def failed_only_with(self, node, campaign):
        """Only pairs of this node failed, if any; each result blames the node, and no other node is
        a suspect."""
        for one in campaign["results"]:
            is_of_it = node in (one["from"]["node"], one["to"]["node"])
            if one["result"]["status"] != "PROBE_STATUS_OK":
                self.assertTrue(is_of_it, one)
                self.assertEqual(one["result"]["blamed_node"], node, one)
        for suspect in self.suspects(campaign):
            self.assertEqual(suspect[1].partition("/")[0], node, campaign["blame"])

    def test_04_mtu(self):
        self.found("n2", ["mtu", "rail1"], "mtu_equal_on_rail", "PORT",
                   "net_interfaces[rail1].mtu_bytes", ["1500", "4200"])

    def test_05_cut_rail(self):
        for node in self.lab.nodes:
            self.lab.link("rail1", node, "cut", 1)
        suspects, blame = self.blamed(*LATENCY)
        self.assertEqual(suspects, [("RAIL", "rail 1", "TOTAL_LOSS")], blame)

    def test_06_slow_nic(self):
        with self.broken("n4", "slow", "rail0", "3"):
            campaign = self.campaign(*BANDWIDTH)
        self.assertEqual(self.suspects(campaign), [("PORT", "n4/rxe0/1", "LOW_BANDWIDTH")],
                         campaign["blame"])
        self.resolved_by_recheck("n4")

    def test_07_frozen_node(self):
        with self.broken("n6", "freeze"):
            campaign = self.campaign(*LATENCY)
            self.until(lambda: self.states()["n6"] == "LOST", "n6 is lost", 20)
            others = {s for n, s in self.states().items() if n != "n6"}
            self.assertEqual(others, {"CONNECTED"})
            self.failed_only_with("n6", campaign)
            self.assertNotEqual({one["result"]["status"] for one in campaign["results"]},
                                {"PROBE_STATUS_OK"}, campaign)
            self.assertEqual([(gap["node"], gap["reason"]) for gap in campaign["skipped"]],
                             [("n6", "COVERAGE_GAP_REASON_UNREACHABLE")])
        self.until(self.all_here, "n6 is back", 60)
        self.until(lambda: self.findings() == [], "healthy again", 30)

    def test_08_duplicate_gid(self):
        self.found("n3", ["duplicate-address", "rail1", "n7"], "duplicate_gid", "FLEET",
                   "rdma_devices[rxe1].ports[1].gids", ["10.10.1.7", "n3", "n7"])

    def test_09_wrong_dscp(self):
        self.found("n2", ["dscp-missing", "rail0"], "pfc_covers_roce_dscp", "PORT",
                   "net_interfaces[rail0].dcb.dscp_to_priority[26]", ["26"])

    def test_10_pfc_off(self):
        self.found("n9", ["pfc-off", "rail0"], "pfc_equal_on_rail", "PORT",
                   "net_interfaces[rail0].dcb.pfc", ["none", "3"])

    def nothing_left_behind(self):
        """No node has a queue pair or memory region of a probe. The kernel itself has 1."""
        def clean():
            return all(self.lab.shell(node, "rdma resource show").count("qp 1 cm_id 0 mr 0") == 2
                       for node in self.lab.nodes)

        self.until(clean, "queue pairs and memory of probes are gone", 30)

    def begin_long_campaign(self):
        """Returns once n3 takes part in a probe, which then runs for some more seconds. Repeated
        while the campaign ends before a look at n3 is answered."""
        for _ in range(TRIES):
            run = self.start("probe", "run", *LONG, "-o", "json")
            self.addCleanup(run.kill)
            self.until(lambda: "qp 2 " in self.lab.shell("n3", "rdma resource show")
                       or run.poll() is not None, "n3 takes part in a probe, or the end", 120)
            if run.poll() is None:
                return run
        raise AssertionError("n3 was not seen in a probe")

    def kill_agent_mid_probe(self):
        """Returns the reasons of the probes that failed. Each must be one of n3."""
        run = self.begin_long_campaign()
        with self.broken("n3", "kill-agent"):
            out, err = run.communicate(timeout=120)
            self.assertIn(run.returncode, (0, 1), err)
            self.until(lambda: self.states()["n3"] == "LOST", "n3 is lost", 60)
            campaign = json.loads(out)
            self.assertEqual(len(campaign["results"]), 9)
            self.failed_only_with("n3", campaign)
            self.nothing_left_behind()
        self.until(self.all_here, "n3 is back", 60)
        return [one["result"]["reason"] for one in campaign["results"]
                if one["result"]["status"] != "PROBE_STATUS_OK"]

    def test_11_agent_killed_mid_probe(self):
        # A busy machine can kill the agent after its last probe, or between two of them.
        for _ in range(TRIES):
            reasons = self.kill_agent_mid_probe()
            if any("connection closed" in reason for reason in reasons):
                break
            print(f"[no probe was running: {reasons}, again] ", end="", file=sys.stderr, flush=True)
        else:
            self.fail(f"no probe of n3 was running when its agent was killed: {reasons}")
        again = self.campaign(*LATENCY, "--nodes", "n2,n3,n4", "--rails", "0")
        self.assertEqual(again["probes_ok"], 3, again)

    def test_12_controller_killed_mid_campaign(self):
        run = self.begin_long_campaign()
        grpc, rest = (at.rpartition(":")[2] for at in
                      (self.controller.grpc, self.controller.rest))
        self.controller.process.send_signal(signal.SIGKILL)
        self.controller.process.wait()
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 3, err)
        self.nothing_left_behind()
        type(self).controller = quickstart.Controller(self.folder, grpc, rest, *self.FLAGS,
                                                      again=True)
        self.until(self.all_here, "all nodes are back", 60)
        newest = self.controller.get("/v1/campaigns")["campaigns"][0]
        self.assertEqual(newest["state"], "CAMPAIGN_STATE_CANCELLED", newest)
        self.assertEqual(newest["skipped"][-1]["reason"],
                         "COVERAGE_GAP_REASON_CONTROLLER_RESTARTED")
        self.assertEqual(self.suspects(newest) if "blame" in newest else [], [])
        self.assertEqual(self.findings(), [])
        suspects, blame = self.blamed(*PINGS)
        self.assertEqual(suspects, [], blame)

    def certified(self, nodes, *words):
        """Certifies the first rail of nodes. Returns the finished process and the written file.
        Repeated while the verdict is UNKNOWN because a guest did not run."""
        file = self.folder / "certificate.json"
        for _ in range(TRIES):
            file.unlink(missing_ok=True)
            done = self.ctl("certify", "--nodes", nodes, "--rails", "0", "--out", file, "-o",
                            "yaml", *words)
            self.assertTrue(file.exists(), done.stdout + done.stderr)
            if done.returncode != 6 or "host starved" not in done.stdout:
                break
            print("[a host starved, again] ", end="", file=sys.stderr, flush=True)
        return done, file

    def verified(self, file, *words):
        key = self.folder / "key.pem"
        with self.controller.open("/certificate-key.pem") as page:
            key.write_bytes(page.read())
        return self.ctl("certify", "verify", file, "--key", key, *words)

    @staticmethod
    def payload(file):
        """The certificate within a signed file."""
        payload = json.loads(file.read_text())["payload"]
        return json.loads(base64.urlsafe_b64decode(payload + "=="))

    def test_13_a_certificate_passes_healthy_nodes(self):
        done, file = self.certified("n[1-3]")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("verdict: VERDICT_PASS", done.stdout)
        checked = self.verified(file, "--nodes", "n1,n2,n3")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("PASS", checked.stdout)
        self.assertEqual(self.verified(file, "--nodes", "n1,n2,n4").returncode, 5)
        signed = json.loads(file.read_text())
        middle = len(signed["payload"]) // 2
        other = "A" if signed["payload"][middle] != "A" else "B"
        signed["payload"] = signed["payload"][:middle] + other + signed["payload"][middle + 1:]
        file.write_text(json.dumps(signed))
        refused = self.verified(file)
        self.assertEqual(refused.returncode, 5, refused.stdout)

    def test_14_a_certificate_names_the_faulty_node(self):
        self.lab.link("rail0", "n5", "cut", 1)
        done, file = self.certified("n[4-6]")
        # With only two partners, the verdict may be no more than "likely n5".
        self.assertIn(done.returncode, (1, 6), done.stdout + done.stderr)
        checked = self.verified(file, "-o", "yaml")
        self.assertEqual((checked.returncode, checked.stdout), (done.returncode, done.stdout))
        certificate = self.payload(file)
        blame = certificate["blame"]
        likely = blame.get("suspects") or blame["undecided"][0]["suspects"]
        self.assertEqual(likely[0]["name"], "n5/rxe0/1", blame)
        verdicts = {one["name"]: one["verdict"] for one in certificate["nodes"]}
        self.assertNotEqual(verdicts["n5"], "VERDICT_PASS")
        self.assertEqual({one for name, one in verdicts.items() if name != "n5"}
                         & {"VERDICT_FAIL"}, set(), certificate)

    def test_15_one_class_on_one_switch_port(self):
        # The port drops only the lossless class of RoCE. Probes with DSCP 0 see nothing of it.
        self.lab.link("rail0", "n5", "dscp", 26, "down")
        self.lab.link("rail0", "n5", "cut", 1, "down")
        suspects, blame = self.blamed(*PINGS)
        self.assertEqual(suspects, [("PORT", "n5/rxe0/1", "TOTAL_LOSS")], blame)
        self.assertIn("lossless (DSCP 26", blame["suspects"][0]["traffic_class_name"], blame)
        suspects, blame = self.blamed(*PINGS, "--dscp", "0")
        self.assertEqual(suspects, [], blame)
        done, file = self.certified("n5,n7,n9", "--within", "120s")
        certificate = self.payload(file)
        self.assertNotEqual(done.returncode, 0, certificate)
        self.assertEqual((certificate["classes"][0]["name"], certificate["classes"][0]["dscp"]),
                         ("lossless", 26), certificate)
        nodes = {one["name"]: one for one in certificate["nodes"]}
        self.assertEqual({n for n, one in nodes.items() if one["verdict"] == "VERDICT_FAIL"},
                         {"n5"}, certificate)
        self.assertRegex(" ".join(nodes["n5"]["reasons"]),
                         r"n5/rxe0/1 \(on rail0-leaf2 port swp5\).*class lossless")


if __name__ == "__main__":
    unittest.main(verbosity=2)
