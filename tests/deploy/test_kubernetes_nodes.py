#!/usr/bin/env python3
"""Conditions, events, labels and taints of nodes: the decisions, against a fake API server and a
fake fabricd."""

import json

from deploytest import main
from nodesworld import PORT_DOWN, TAINT, TAINTED, DEGRADED, World

# pylint: disable=wrong-import-order
import fabric_judge
import fabric_nodes
import fabric_taint


class ConditionsTest(World):
    def test_healthy_nodes(self):
        self.turn()
        self.assertEqual(self.statuses(), ["False"] * 3)
        self.assertEqual(self.status("n1", PORT_DOWN), (
            "False", "PortsActive", "no RDMA port is down that should be active"))
        self.assertEqual(self.kubernetes.condition("n1", "Ready")["status"], "True")
        self.assertEqual(self.turn(), [], "nothing changed, and the heartbeat is new")

    def test_a_port_that_is_down(self):
        self.fabricd.fail("n2")
        self.turn()
        expected = ("True", "PortActive", "mlx5_0/1: port is DOWN")
        self.assertEqual((self.status("n2"), self.status("n2", PORT_DOWN)), (expected, expected))
        self.assertEqual(self.statuses(), ["False", "True", "False"])

    def test_other_failures_are_not_ports_that_are_down(self):
        self.fabricd.fail("n1", "rail_subnet_equal", "ERROR")
        self.turn()
        self.assertEqual(self.statuses(), ["True", "False", "False"])
        self.assertEqual(self.statuses(PORT_DOWN), ["False"] * 3)

    def test_what_is_not_a_failure(self):
        self.fabricd.fail("n1", severity="WARNING")
        self.fabricd.fail("n1", silenced={"id": "s1"})
        self.fabricd.fail("n1", verdict="VERDICT_UNKNOWN")
        self.fabricd.fail("n1", state="FINDING_STATE_RESOLVED")
        self.fabricd.fail("", "duplicate_ip", affected=[{"node": "n1"}, {"node": "n2"}])
        self.turn()
        self.assertEqual(self.statuses(), ["False"] * 3)
        self.assertEqual(self.kubernetes.events, {})

    def test_one_cause_on_many_nodes(self):
        made = self.fabricd.fail("", common_cause=True, affected=[{"node": "n1"}, {"node": "n2"}])
        self.turn()
        self.assertEqual(self.statuses(), ["True", "True", "False"])
        made["affected_total"] = 300
        self.turn()
        self.assertEqual(self.status("n3")[:2], ("Unknown", "AffectedListCut"))
        made["silenced"] = {"id": "s1"}
        self.turn()
        self.assertEqual(self.status("n3")[0], "False")

    def test_a_lost_node_and_old_facts(self):
        self.fabricd.nodes[0].update(state="NODE_STATE_LOST", lost_reason="no report for 60 s")
        self.fabricd.fail("n1")
        self.fabricd.fail("n2", expired_reason="node n2 is lost")
        self.turn()
        self.assertEqual(self.status("n1"), (
            "Unknown", "NodeLost", "fabricd has lost the node: no report for 60 s"))
        self.assertEqual(self.status("n2")[:2], ("Unknown", "FactsTooOld"))

    def test_the_message_is_bounded_and_critical_findings_are_first(self):
        self.fabricd.fail("n1", "a_rule", "ERROR")
        for _ in range(5):
            self.fabricd.fail("n1", title="x" * 5000)
        self.turn()
        _, reason, message = self.status("n1")
        self.assertEqual(reason, "PortActive")
        self.assertTrue(message.endswith("; and 3 more"), message[-40:])
        self.assertLess(len(message), fabric_judge.MESSAGE_MAX)

    def test_times(self):
        self.turn()
        since = self.backdate("n1", "lastTransitionTime")
        beat = self.backdate("n1", "lastHeartbeatTime")
        self.turn()
        written = self.kubernetes.condition("n1", DEGRADED)
        self.assertEqual(written["lastTransitionTime"], since, "the status is the same")
        self.assertGreater(written["lastHeartbeatTime"], beat)
        self.fabricd.fail("n1")
        self.turn()
        self.assertGreater(self.kubernetes.condition("n1", DEGRADED)["lastTransitionTime"], since)

    def test_a_node_that_fabricd_does_not_know(self):
        self.fabricd.devices = [{"node": "n3", "rail": 0, "leaf": "leaf1"}]
        self.fabricd.fail("n3")
        self.turn()
        self.fabricd.nodes.pop()
        self.turn()
        self.assertEqual((self.status("n3"), self.status("n3", PORT_DOWN)), (None, None))
        self.assertEqual((self.kubernetes.nodes["n3"]["metadata"]["labels"],
                          self.annotations("n3")), ({}, {}))
        self.assertEqual(self.turn(), [])

    def test_long_lists_of_a_node_are_not_kept(self):
        self.kubernetes.nodes["n1"]["status"]["images"] = [{"names": ["x"]}]
        self.kubernetes.nodes["n1"]["metadata"]["managedFields"] = [{"manager": "x"}]
        [node, *_] = self.writer.read_nodes()
        self.assertIn("conditions", node["status"])
        self.assertNotIn("images", node["status"])
        self.assertNotIn("managedFields", node["metadata"])

    def test_a_removed_node_is_not_known(self):
        self.fabricd.nodes[0]["state"] = "NODE_STATE_REMOVED"
        self.turn()
        self.assertIsNone(self.status("n1"))

    def test_names(self):
        self.assertEqual(fabric_judge.match_names(
            ["a", "b.x", "c", "d.x"], ["a", "a.x", "b", "c.z", "d.y"]),
            ({"a": "a", "b.x": "b", "c": "c.z"}, []))
        pairs, lines = fabric_judge.match_names(["a", "b.x", "b.y"], ["a.x", "a.y", "b"])
        self.assertEqual(pairs, {})
        self.assertEqual(len(lines), 3)
        self.assertIn("node a: the name is ambiguous: nodes of fabricd a.x, a.y", lines[0])

    def test_an_ambiguous_name_is_one_line(self):
        self.fabricd.nodes[0]["name"] = "n1.a"
        self.fabricd.nodes.append({"name": "n1.b", "state": "NODE_STATE_CONNECTED"})
        self.writer.turn()
        self.writer.turn()
        self.assertIsNone(self.status("n1"))
        self.assertEqual(len([line for line in self.lines if "ambiguous" in line]), 1)


class EventsTest(World):
    def test_opened_and_resolved_once(self):
        made = self.fabricd.fail("n1")
        self.turn()
        self.turn()
        opened = ("n1", "FabricFindingOpened", "port_active: mlx5_0/1: port is DOWN")
        self.assertEqual(self.kubernetes.event_lines(), [opened])
        self.fabricd.findings.remove(made)
        self.turn()
        self.turn()
        self.assertEqual(self.kubernetes.event_lines(),
                         [opened, ("n1", "FabricFindingResolved", "port_active: resolved")])
        [event, _] = self.kubernetes.events.values()
        self.assertEqual(event["involvedObject"]["uid"],
                         self.kubernetes.nodes["n1"]["metadata"]["uid"])
        self.assertEqual((event["type"], event["metadata"]["namespace"]), ("Warning", "default"))

    def test_a_lost_answer_gives_no_second_event(self):
        self.fabricd.fail("n1")
        self.turn()
        del self.annotations()[fabric_nodes.STATE]
        self.turn()
        self.assertEqual(len(self.kubernetes.events), 1)
        self.assertIn(fabric_nodes.STATE, self.annotations())

    def test_silenced_is_not_resolved(self):
        made = self.fabricd.fail("n1")
        self.turn()
        made["silenced"] = {"id": "s1"}
        self.turn()
        self.assertEqual(self.kubernetes.event_lines()[-1][1], "FabricFindingSilenced")

    def test_a_lost_node_resolves_nothing(self):
        self.fabricd.fail("n1")
        self.turn()
        self.fabricd.findings.clear()
        self.fabricd.nodes[0]["state"] = "NODE_STATE_LOST"
        self.turn()
        self.assertEqual(len(self.kubernetes.events), 1)

    def test_events_are_bounded_also_after_a_restart(self):
        for _ in range(3):
            self.fabricd.fail("n1")
        self.turn("--events-per-hour=3")
        self.fabricd.fail("n1")
        self.turn("--events-per-hour=3")
        self.assertEqual(len(self.kubernetes.events), 3)
        state = json.loads(self.annotations()[fabric_nodes.STATE])
        state["hour"] = "2020-01-01T00"
        self.annotations()[fabric_nodes.STATE] = json.dumps(state)
        self.fabricd.fail("n1")
        self.turn("--events-per-hour=3")
        self.assertEqual(len(self.kubernetes.events), 4)

    def test_the_annotation_is_bounded(self):
        for _ in range(50):
            self.fabricd.fail("n1")
        self.turn("--events-per-hour=100")
        self.assertEqual(len(self.kubernetes.events), fabric_nodes.TRACKED_MAX)
        self.kubernetes.events.clear()
        self.fabricd.findings.clear()
        self.annotations()[fabric_nodes.STATE] = json.dumps(
            {"open": {str(number): ["r", ""] for number in range(50)}, "hour": "", "events": 0})
        self.turn("--events-per-hour=100")
        self.assertEqual(len(self.kubernetes.events), fabric_nodes.TRACKED_MAX)

    def test_a_wrong_annotation_is_replaced(self):
        self.fabricd.fail("n1")
        for wrong in ("{", "[]", '{"open": 1}', '{"open": {"a": 1}, "hour": 1, "events": "x"}'):
            self.annotations()[fabric_nodes.STATE] = wrong
            self.turn()
            self.assertEqual(len(json.loads(self.annotations()[fabric_nodes.STATE])["open"]), 1)


class LabelsTest(World):
    def labels(self, *ports):
        self.fabricd.devices = [{"node": "n1"} | port for port in ports]
        self.turn()
        return self.kubernetes.nodes["n1"]["metadata"]["labels"]

    def test_rails_and_leaf(self):
        self.assertEqual(
            self.labels({"rail": 0, "leaf": "leaf1"}, {"rail": 1, "leaf": "leaf1"}, {}),
            {"fabricd.io/rail-count": "2", "fabricd.io/leaf": "leaf1",
             "fabricd.io/rail-0-leaf": "leaf1", "fabricd.io/rail-1-leaf": "leaf1"})
        self.assertEqual(self.turn(), [])

    def test_what_is_not_known_or_not_equal_has_no_label(self):
        self.kubernetes.nodes["n1"]["metadata"]["labels"] = {
            "fabricd.io/mine": "x", "fabricd.io/leaf": "old", "fabricd.io/rail-7-leaf": "old",
            "pool": "gpu"}
        kept = {"fabricd.io/mine": "x", "pool": "gpu"}
        self.assertEqual(self.labels({"rail": 0, "leaf": "leaf1"}, {"rail": 1, "leaf": ""}),
                         kept | {"fabricd.io/rail-count": "2", "fabricd.io/rail-0-leaf": "leaf1"})
        self.assertEqual(self.labels({"rail": 0, "leaf": "a"}, {"rail": 0, "leaf": "b"}),
                         kept | {"fabricd.io/rail-count": "1"})
        self.assertEqual(self.labels(), kept)

    def test_wrong_values_and_bounds(self):
        self.assertEqual(self.labels({"rail": 0, "leaf": "leaf 1/2"}),
                         {"fabricd.io/rail-count": "1"})
        self.assertIn("node n1: fabricd.io/leaf: 'leaf 1/2' cannot be the value of a label",
                      self.lines)
        self.assertEqual(len(self.labels(*({"rail": rail, "leaf": "a"} for rail in range(40)))),
                         fabric_judge.RAILS_MAX + 2)

    def test_a_lost_node_keeps_its_labels(self):
        before = dict(self.labels({"rail": 0, "leaf": "a"}))
        self.fabricd.nodes[0]["state"] = "NODE_STATE_LOST"
        self.assertEqual(self.labels(), before)


class TaintsTest(World):
    def events(self):
        return [reason for _, reason, _ in self.kubernetes.event_lines() if "Taint" in reason]

    def test_off_by_default(self):
        self.fabricd.fail("n1")
        self.turn()
        self.assertEqual(self.taints(), [])

    def test_set_and_removed(self):
        other = {"key": "other", "effect": "NoExecute"}
        self.kubernetes.nodes["n1"]["spec"]["taints"] = [other]
        self.fabricd.fail("n1")
        self.turn(TAINT, "--taint-nodes=1")
        self.assertEqual(self.taints(), [other, TAINTED])
        self.assertEqual(self.turn(TAINT, "--taint-nodes=1"), [])
        self.fabricd.nodes[0]["state"] = "NODE_STATE_LOST"
        self.turn(TAINT)
        self.assertEqual(self.taints(), [other, TAINTED], "Unknown removes no taint")
        self.fabricd.nodes[0]["state"] = "NODE_STATE_CONNECTED"
        self.fabricd.findings.clear()
        self.turn()  # Also when the option is off
        self.assertEqual(self.taints(), [other])
        self.assertNotIn(fabric_taint.MARK, self.annotations())
        self.assertEqual(self.events(), ["FabricTaintSet", "FabricTaintRemoved"])

    def test_a_taint_of_another_is_left(self):
        self.kubernetes.nodes["n1"]["spec"]["taints"] = [TAINTED]
        self.fabricd.fail("n1")
        self.turn(TAINT, "--taint-nodes=3")
        self.assertNotIn(fabric_taint.MARK, self.annotations())
        self.fabricd.findings.clear()
        self.turn(TAINT, "--taint-nodes=3")
        self.assertEqual((self.taints(), self.events()), ([TAINTED], []))

    def test_an_administrator_who_removes_it_is_respected(self):
        self.fabricd.fail("n1")
        self.turn(TAINT, "--taint-nodes=3")
        self.kubernetes.nodes["n1"]["spec"]["taints"] = []
        self.fabricd.fail("n2")
        self.turn(TAINT, "--taint-nodes=1")
        self.assertEqual((self.taints(), self.taints("n2")), ([], [TAINTED]))
        self.fabricd.findings.clear()
        self.turn(TAINT)
        self.assertNotIn(fabric_taint.MARK, self.annotations(), "healthy again")

    def test_the_budget_of_nodes(self):
        for name in self.names:
            self.fabricd.fail(name)
        for _ in range(2):  # The second with the state in the nodes only
            self.turn(TAINT, "--taint-nodes=40%", "--taints-per-hour=9")
            self.assertEqual([len(self.taints(name)) for name in self.names], [1, 0, 0])
        self.assertEqual(self.status("n2")[2], "mlx5_0/1: port is DOWN; no taint: 1 nodes have a "
                                               "taint, 1 are allowed")

    def test_the_budget_of_the_hour(self):
        for name in self.names:
            self.fabricd.fail(name)
        words = (TAINT, "--taint-nodes=100%", "--taints-per-hour=1")
        self.turn(*words)
        del self.fabricd.findings[0]
        self.turn(*words)  # The taint of n1 is removed, and still counts
        self.assertEqual([len(self.taints(name)) for name in self.names], [0, 0, 0])
        self.assertIn("no taint: 1 taints in the last hour, 1 are allowed", self.status("n2")[2])
        self.annotations()[fabric_taint.SET_AT] = "2020-01-01T00:00:00Z"
        self.turn(*words)
        self.assertEqual([len(self.taints(name)) for name in self.names], [0, 1, 0])
        self.assertNotIn(fabric_taint.SET_AT, self.annotations(), "it is old")

    def action(self, state=None):
        """The state of the newest action, after it was changed to `state`."""
        if state:
            self.fabricd.actions[-1]["state"] = f"NODE_ACTION_STATE_{state}"
        return self.fabricd.actions[-1]["state"].removeprefix("NODE_ACTION_STATE_")

    def test_a_taint_waits_for_the_approval_of_fabricd(self):
        words = (TAINT, "--taint-nodes=3", "--approval")
        self.fabricd.fail("n1")
        self.turn(*words, "--dry-run")
        self.assertEqual(self.fabricd.actions, [])
        for _ in range(2):  # One action, also when it is proposed again
            self.turn(*words)
            self.assertEqual((self.taints(), len(self.fabricd.actions)), ([], 1))
        self.assertIn("no taint: action a1 is proposed", self.status("n1")[2])
        self.action("APPROVED")
        self.turn(*words)
        self.assertEqual((self.taints(), self.action()), ([TAINTED], "APPLIED"))
        self.action("REVERTING")
        self.turn(*words)
        self.assertEqual((self.taints(), self.action()), ([], "REVERTED"))

    def test_an_approved_taint_ends_with_the_finding_or_by_an_administrator(self):
        words = (TAINT, "--taint-nodes=3", "--taints-per-hour=9", "--approval")
        self.fabricd.approve = True
        finding = self.fabricd.fail("n1")
        self.turn(*words)
        self.assertEqual((self.taints(), self.action()), ([TAINTED], "APPLIED"))
        self.fabricd.findings.clear()
        self.turn(*words)
        self.assertEqual((self.taints(), self.action()), ([], "REVERTED"))
        self.fabricd.findings.append(finding)
        self.turn(*words)
        self.action("APPROVED")  # The report was lost.
        self.turn(*words)
        self.assertEqual((len(self.fabricd.actions), self.action()), (2, "APPLIED"))
        del self.kubernetes.nodes["n1"]["spec"]["taints"]
        self.fabricd.findings.clear()
        self.turn(*words)
        self.assertEqual(self.action(), "REVERTED")

    def test_a_conflict_sets_nothing_and_the_condition_is_written(self):
        self.fabricd.fail("n1")
        self.kubernetes.refuse["PATCH", "/api/v1/nodes/n1"] = 409
        self.turn(TAINT, "--taint-nodes=3")
        self.assertEqual((self.taints(), self.events(), self.status("n1")[0]), ([], [], "True"))
        self.kubernetes.refuse.clear()
        self.turn(TAINT, "--taint-nodes=3")
        self.assertEqual((self.taints(), self.events()), ([TAINTED], ["FabricTaintSet"]))

    def test_dry_run_writes_nothing(self):
        self.fabricd.fail("n1")
        self.assertEqual(self.turn(TAINT, "--taint-nodes=3", "--dry-run"), [])
        self.assertTrue([line for line in self.lines if line.startswith("dry run: PATCH")])


if __name__ == "__main__":
    main()
