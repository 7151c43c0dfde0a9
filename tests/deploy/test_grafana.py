#!/usr/bin/env python3
"""Tests of the dashboard for errors that Grafana shows only as an empty panel."""

import itertools
import json
import re
import sys

import yaml

from deploytest import DEPLOY, ROOT, DeployTest, main, metrics_in, our_metrics

sys.path.insert(0, str(ROOT / "tests/lab"))
import dashboard  # pylint: disable=wrong-import-position

FILE = DEPLOY / "grafana/fabricd.json"
SCHEMA_MIN = 39  # Grafana 10.4
UNITS = {"short", "none", "bytes", "Bps", "pps", "cps", "reqps", "s", "percentunit"}
# Metrics that the dashboard must show.
MUST_SHOW = """fabric_nodes fabric_findings_open fabric_ports fabric_port_state_id
    fabric_netdev_pfc_frames_received_total fabric_netdev_pfc_frames_sent_total
    fabric_netdev_pfc_pauses_received_seconds_total fabric_port_transmitted_packets_total
    fabric_port_received_packets_total fabric_port_retries_exceeded_total
    fabric_port_ack_timeouts_total fabric_port_out_of_sequence_total fabric_netdev_mtu_bytes
    fabric_probe_latency_seconds fabric_probe_bandwidth_bytes_per_second
    fabric_agent_inspection_duration_seconds fabric_agent_gaps fabric_api_requests_total
    fabric_store_failures_total""".split()


class TestGrafana(DeployTest):
    def setUp(self):
        self.board = json.loads(FILE.read_text())
        self.panels = list(dashboard.panels(self.board))

    def test_head(self):
        self.assertGreaterEqual(self.board["schemaVersion"], SCHEMA_MIN)
        self.assertIsNone(self.board["id"], "an id belongs to one Grafana server")
        self.assertTrue(self.board["title"])

    def test_every_board_has_a_uid_and_the_common_links_and_annotations(self):
        seen = {}
        for path in sorted((DEPLOY / "grafana").glob("*.json")):
            made = json.loads(path.read_text())
            seen[path.stem] = made["uid"]
            self.assertRegex(made["uid"], r"^[\w-]{1,40}$")
            self.assertIsNone(made["id"], path.name)
            for key in ("links", "annotations"):
                self.assertEqual(made[key], self.board[key], path.name)
        self.assertEqual(seen, {name: name for name in seen}, "links and updates need stable ones")

    def test_annotations_are_of_our_metrics(self):
        marks = self.board["annotations"]["list"]
        self.assertGreater(len(marks), 2)
        for mark in marks:
            self.assertTrue(metrics_in(mark["expr"]), mark["name"])
            self.assertLessEqual(metrics_in(mark["expr"]), our_metrics(), mark["name"])
            named = set(re.findall(r"{{(\w+)}}", mark["titleFormat"]))
            self.assertEqual(named, kept_labels(mark["expr"]) or set(), mark["name"])

    def test_panels_are_complete(self):
        for panel in self.panels:
            with self.subTest(panel.get("title")):
                self.assertTrue(panel["title"])
                self.assertTrue(panel["description"])
                self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS)
                self.assertTrue(panel["targets"])
                names = [target["refId"] for target in panel["targets"]]
                self.assertEqual(len(names), len(set(names)))
                for target in panel["targets"]:
                    self.assertTrue(target["expr"])

    def test_ids_and_titles_are_unique(self):
        everything = self.panels + [panel for panel in self.board["panels"]
                                    if panel["type"] == "row"]
        for key in ("id", "title"):
            seen = [panel[key] for panel in everything]
            self.assertEqual(sorted(seen), sorted(set(seen)), key)

    def test_panels_do_not_overlap(self):
        places = [(panel["gridPos"], panel["title"]) for panel in self.board["panels"]]
        for place, title in places:
            self.assertLessEqual(place["x"] + place["w"], 24, title)
        for (one, title), (other, other_title) in itertools.combinations(places, 2):
            apart = (one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
                     or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"])
            self.assertTrue(apart, f"{title} and {other_title}")

    def test_the_data_source_is_the_variable(self):
        [variable] = [made for made in self.board["templating"]["list"]
                      if made["type"] == "datasource"]
        self.assertEqual((variable["name"], variable["query"]), ("datasource", "prometheus"))
        used = list(self.data_sources(self.board))
        self.assertGreater(len(used), 2 * len(self.panels))
        for source in used:
            self.assertEqual(source, {"type": "prometheus", "uid": "${datasource}"})

    def data_sources(self, node):
        children = node.values() if isinstance(node, dict) else node
        if isinstance(node, dict) and "datasource" in node:
            yield node["datasource"]
        for child in children if isinstance(node, (dict, list)) else ():
            if isinstance(child, (dict, list)):
                yield from self.data_sources(child)

    def test_queries_are_of_our_metrics(self):
        shown = set()
        for title, expression in dashboard.expressions(self.board):
            self.assertTrue(metrics_in(expression), f"{title}: {expression}")
            self.assertLessEqual(metrics_in(expression), our_metrics(), title)
            shown |= metrics_in(expression)
        self.assertEqual(set(MUST_SHOW) - shown, set())

    def test_queries_parse(self):
        tool = self.tool("promtool")
        expressions = [expression for _, expression in dashboard.expressions(self.board)]
        expressions += [mark["expr"].replace("$node", ".*")
                        for mark in self.board["annotations"]["list"]]
        rules = [{"record": f"query_{number}", "expr": expression}
                 for number, expression in enumerate(expressions)]
        self.assertGreater(len(rules), len(self.panels))
        path = self.folder() / "queries.yml"
        path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
        self.assertIn(f"{len(rules)} rules found", self.run_well(tool, "check", "rules", path))

    def test_legends_are_of_labels_that_the_query_keeps(self):
        """{{priority}} after `sum by (node)` would be empty."""
        for panel in self.panels:
            for target in panel["targets"]:
                kept = kept_labels(target["expr"])
                named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
                if kept is not None:
                    self.assertEqual(named, kept, f"{panel['title']}: {target['expr']}")


def kept_labels(expression):
    """The labels of an aggregation's `by`, or None if the expression is not an aggregation."""
    if found := re.match(r"(?:sort_desc\()?(?:sum|max) by \(([\w, ]+)\)", expression):
        return set(found[1].split(", "))
    return set() if expression.startswith("sum(") else None


if __name__ == "__main__":
    main()
