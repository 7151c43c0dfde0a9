#!/usr/bin/env python3
"""From a fault to the notification: a real agent stops, fabricd, Prometheus and Alertmanager do the
rest, and a receiver gets the message; it gets another one when the agent is back."""

import contextlib
import http.server
import json
import queue
import re
import subprocess
import sys
import threading
import time
import urllib.request

from deploytest import DEPLOY, ROOT, DeployTest, main
from fleet import Fleet

sys.path.insert(0, str(ROOT / "tests/lab"))
import dashboard  # pylint: disable=wrong-import-position

LIMIT = 90  # seconds for each message


@contextlib.contextmanager
def receiver():
    """Yields HOST:PORT and a queue of (path, alert)."""
    messages = queue.Queue()

    class Hook(http.server.BaseHTTPRequestHandler):
        """Takes the webhooks of Alertmanager."""

        def do_POST(self):  # pylint: disable=invalid-name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            for alert in body["alerts"]:
                messages.put((self.path, alert))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield "{}:{}".format(*server.server_address), messages
    finally:
        server.shutdown()
        server.server_close()


class TestAlertmanager(DeployTest):
    def configuration(self, hook):
        """The shipped configuration with this receiver and short waits."""
        text = (DEPLOY / "prometheus/alertmanager.yml").read_text()
        changed = text.replace("127.0.0.1:9095", hook)
        self.assertEqual(changed.count(hook), 2)
        return re.sub(r"(group_wait|group_interval): \w+", r"\1: 1s", changed)

    @contextlib.contextmanager
    def alertmanager(self, hook):
        folder = self.folder()
        path = folder / "alertmanager.yml"
        path.write_text(self.configuration(hook))
        with open(folder / "log", "wb") as out, subprocess.Popen(
                [self.tool("prometheus-alertmanager"), f"--config.file={path}",
                 f"--storage.path={folder}/data", "--web.listen-address=127.0.0.1:0",
                 "--cluster.listen-address="], stdout=out, stderr=subprocess.STDOUT) as process:
            try:
                yield self.wait(lambda: re.search(r'msg="Listening on" address=(\S+)',
                                                  (folder / "log").read_text()),
                                lambda: (folder / "log").read_text())[1]
            finally:
                process.terminate()

    def wait(self, condition, text):
        deadline = time.monotonic() + LIMIT
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, text())
            time.sleep(0.1)
        return found

    @contextlib.contextmanager
    def prometheus(self, fleet, alertmanager):
        """Prometheus with the shipped alerts, which fire without delay."""
        folder = self.folder()
        alerts = (DEPLOY / "prometheus/alerts.yml").read_text()
        with dashboard.start_prometheus(folder, fleet.health, fleet.metrics()) as prometheus:
            (folder / "alerts.yml").write_text(re.sub(r"for: \w+", "for: 0s", alerts))
            with open(folder / "prometheus.yml", "a", encoding="utf-8") as file:
                file.write("\nalerting:\n  alertmanagers:\n    - static_configs:\n"
                           f"        - targets: ['{alertmanager}']\n")
            prometheus.process.send_signal(1)  # Reload
            yield prometheus

    def message(self, messages, name, status, seen):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                path, alert = messages.get(timeout=1)
                seen.append((path, alert["labels"], alert["status"]))
                if (alert["labels"]["alertname"], alert["status"]) == (name, status):
                    return path, alert
        return self.fail(f"no message {name} {status} in {LIMIT} s, saw {seen}")

    def test_configuration_is_valid(self):
        self.run_well(self.tool("amtool"), "check-config", DEPLOY / "prometheus/alertmanager.yml")

    def test_a_stopped_agent_becomes_a_message(self):
        self.tool("prometheus")
        seen = []
        with contextlib.ExitStack() as stack:
            fleet = stack.enter_context(Fleet(self.folder(), self.program))
            fleet.add("n1", "roce_connectx6dx")
            hook, messages = stack.enter_context(receiver())
            alertmanager = stack.enter_context(self.alertmanager(hook))
            prometheus = stack.enter_context(self.prometheus(fleet, alertmanager))
            dashboard.wait_until_scraped(prometheus, times=2)
            fleet.kill("n1")
            path, alert = self.message(messages, "FabricNodeLost", "firing", seen)
            self.assertEqual(path, "/fabric")
            self.assertEqual((alert["labels"]["node"], alert["labels"]["severity"]),
                             ("n1", "warning"))
            self.assertIn("Node n1 is lost", alert["annotations"]["summary"])
            self.assertEqual(alert["annotations"]["runbook_url"],
                             "http://127.0.0.1:9419/docs/runbooks/FabricNodeLost.html")
            fleet.add("n1", "roce_connectx6dx")
            self.message(messages, "FabricNodeLost", "resolved", seen)
            with urllib.request.urlopen(f"http://{alertmanager}/api/v2/alerts?active=true") as page:
                lost = [alert for alert in json.load(page)
                        if alert["labels"]["alertname"] == "FabricNodeLost"]
            self.assertEqual(lost, [])


if __name__ == "__main__":
    main()
