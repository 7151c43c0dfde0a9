#!/usr/bin/env python3
"""Tests of the scrape configuration and the alerts with Prometheus."""

import contextlib
import http.server
import json
import re
import shutil
import sys
import threading

import yaml

from deploytest import DEPLOY, ROOT, DeployTest, main, metrics_in, our_metrics

sys.path.insert(0, str(ROOT / "tests/lab"))
import dashboard  # pylint: disable=wrong-import-position

PROMETHEUS = DEPLOY / "prometheus"


class TestFiles(DeployTest):
    def test_configuration(self):
        """promtool accepts the configuration, with target files and without warnings."""
        folder = self.folder()
        for file in PROMETHEUS.glob("*.yml"):
            shutil.copy(file, folder)
        for name in ("fabricd.json", "fabric-agents.json"):
            (folder / name).write_text('[{"targets": ["127.0.0.1:1"]}]')
        printed = self.run_well(self.tool("promtool"), "check", "config",
                                folder / "prometheus.yml")
        self.assertNotIn("WARNING", printed)

    def test_rules(self):
        printed = self.run_well(self.tool("promtool"), "check", "rules", PROMETHEUS / "alerts.yml")
        self.assertIn("rules found", printed)

    def test_alerts(self):
        self.run_well(self.tool("promtool"), "test", "rules", PROMETHEUS / "alerts_test.yml")

    def rules(self, kind):
        """{name: rule} of the alerts ("alert") or recording rules ("record")"""
        groups = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
        return {rule[kind]: rule for group in groups for rule in group["rules"] if kind in rule}

    def test_every_rule_is_tested_and_of_our_metrics(self):
        tests = yaml.safe_load((PROMETHEUS / "alerts_test.yml").read_text())["tests"]
        fired = {check["alertname"] for test in tests for check in test.get("alert_rule_test", [])
                 if check.get("exp_alerts")}
        self.assertEqual(fired, set(self.rules("alert")))
        recorded = self.rules("record")
        self.assertEqual({check["expr"] for test in tests
                          for check in test.get("promql_expr_test", [])}, set(recorded))
        for name, rule in (self.rules("alert") | recorded).items():
            used = set(re.findall(r"\w+:\w+:\w+", rule["expr"]))
            self.assertLessEqual(used, set(recorded), name)
            expression = re.sub(r"\w+:\w+:\w+", "", rule["expr"])
            self.assertLessEqual(metrics_in(expression), our_metrics(), name)

    def test_every_alert_has_a_runbook_a_severity_and_each_runbook_an_alert(self):
        alerts = self.rules("alert")
        pages = {page.stem for page in (ROOT / "docs/runbooks").glob("*.md")}
        self.assertEqual(pages, set(alerts))
        for name, rule in alerts.items():
            url = rule["annotations"]["runbook_url"]
            self.assertEqual(url, f"http://127.0.0.1:9419/docs/runbooks/{name}.html")
            text = (ROOT / f"docs/runbooks/{name}.md").read_text()
            for part in (f"# {name}\n", "**Meaning.**", "**Check.**", "**Fix.**"):
                self.assertIn(part, text, name)
            severity = rule.get("labels", {}).get("severity")
            if severity is None:  # From the expression; alerts_test.yml has both values.
                self.assertIn('"severity", "warning"', rule["expr"], name)
            else:
                self.assertIn(severity, ("critical", "warning", "info"), name)


PAGES = {
    "/fabricd/metrics": 'fabric_nodes{state="lost"} 1\nfabric_findings_open{rule="r",'
                        'severity="error"} 0\n',
    "/n1/metrics": 'fabric_agent_info{node="n1"} 1\nfabric_agent_gaps{inspector="dcb"} 2\n',
}


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves a page in place of a daemon."""

    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGES[f"/{self.server.page}{self.path}"].encode())

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@contextlib.contextmanager
def served(page):
    """Yields HOST:PORT of a server with the page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.page = page
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield "{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        server.server_close()


class TestScraping(DeployTest):
    """Tests with a real Prometheus and pages in place of the daemons."""

    def test_scrape(self):
        self.tool("prometheus")
        with contextlib.ExitStack() as stack:
            fabricd, agent = (stack.enter_context(served(page)) for page in ("fabricd", "n1"))
            prometheus = stack.enter_context(
                dashboard.start_prometheus(self.folder(), fabricd, {"n1": agent}))
            dashboard.wait_until_scraped(prometheus, times=2)
            jobs = {series["metric"]["job"]: series["value"][1]
                    for series in prometheus.query("up")}
            self.assertEqual(jobs, {"fabricd": "1", "fabric-agent": "1"})
            [info] = prometheus.query("fabric_agent_info")
            self.assertEqual(info["metric"]["node"], "n1")
            self.assertNotIn("exported_node", info["metric"])
            [gaps] = prometheus.query('fabric_agent_gaps{node="n1"}')
            self.assertEqual(gaps["value"][1], "2")
            names = [rule["name"] for group in prometheus.get("rules")["groups"]
                     for rule in group["rules"]]
            self.assertIn("FabricNodeLost", names)
            self.assertIn("node:fabric_agent_cpu:rate10m", names)
            self.check_empty_queries(prometheus)

    def check_empty_queries(self, prometheus):
        path = self.folder() / "dashboard.json"
        queries = ["fabric_nodes", 'fabric_agent_gaps{node=~"$node"}', "fabric_no_such_metric",
                   "0 * sum(fabric_nodes) / 0", "rate(fabric_nodes[$__rate_interval])"]
        panels = [{"type": "row", "title": "R", "panels": []},
                  {"type": "stat", "title": "P", "targets": [{"expr": e} for e in queries]}]
        path.write_text(json.dumps({"panels": panels, "templating": {"list": [
            {"name": "node", "definition": "label_values(fabric_agent_info, node)"}]}}))
        self.assertEqual(dashboard.empty_queries(prometheus, path),
                         [f"P: {query}" for query in queries[2:4]])

    def test_a_missing_target_is_reported(self):
        self.tool("prometheus")
        with served("fabricd") as fabricd, dashboard.start_prometheus(
                self.folder(), fabricd, {"n1": "127.0.0.1:1"}) as prometheus:
            with self.assertRaisesRegex(dashboard.PrometheusError, "127.0.0.1:1/.*refused"):
                dashboard.wait_until_scraped(prometheus, times=1, seconds=10)
            with self.assertRaisesRegex(dashboard.PrometheusError, "parse error"):
                prometheus.query("sum(")
        self.assertIsNotNone(prometheus.process.returncode)

    def test_unknown_variables_are_reported(self):
        panel = {"type": "stat", "title": "P", "targets": [{"expr": 'up{job="$job"}'}]}
        with self.assertRaisesRegex(dashboard.PrometheusError, "unknown variable 'job'"):
            list(dashboard.expressions({"panels": [panel], "templating": {"list": []}}))


if __name__ == "__main__":
    main()
