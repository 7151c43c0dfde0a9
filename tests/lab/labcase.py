# SPDX-License-Identifier: Apache-2.0
"""A test case with fabricd and a lab whose nodes report to it.

deploy/ must be on sys.path before the import.
"""

import contextlib
import datetime
import subprocess
import sys
import time
import unittest

import quickstart
from fabriclab import Lab
from labtest import until

BIN = quickstart.RELEASE / "bin"
FOUND_WITHIN_S = 5  # From the fault to the finding, as the documentation promises
FOUND_AFTER_REPORT_S = 1  # From the report with the fact to the finding, by the controller's clock


def moment(text):
    """Seconds since the epoch of a time in the API's format."""
    return datetime.datetime.fromisoformat(text).timestamp()


class LabCase(unittest.TestCase):
    """One controller and one lab for all tests of a class, which run in the order of their names.
    Each test leaves the lab healthy."""

    maxDiff = None
    NAME = ""    # Folder of the controller's files
    FLAGS = ()   # Flags of fabricd
    LAB = {}     # Arguments of Lab()

    @classmethod
    def setUpClass(cls):
        cls.folder = quickstart.BUILD / cls.NAME
        cls.folder.mkdir(parents=True, exist_ok=True)
        cls.controller = quickstart.Controller(cls.folder, 0, 0, *cls.FLAGS)
        cls.addClassCleanup(lambda: cls.controller.stop())  # A test may replace it
        cls.lab = Lab(agent=str(BIN / "fabric-agent"), controller=cls.controller.grpc,
                      certificates=cls.controller.pki.node, **cls.LAB)
        cls.addClassCleanup(cls.lab.down)
        cls.lab.up()
        cls.until(cls.all_here, "all nodes report", 120)

    def setUp(self):
        self.begun = time.monotonic()

    def tearDown(self):
        print(f"{time.monotonic() - self.begun:.0f} s ", end="", file=sys.stderr, flush=True)

    @classmethod
    def until(cls, test, what, limit):
        until(test, what, limit, cls.seen)

    @classmethod
    def seen(cls):
        """The state, for the message of a failed until()."""
        return f"nodes {cls.states()}, findings {cls.findings()}"

    @classmethod
    def nodes(cls):
        return cls.controller.get("/v1/nodes").get("nodes", [])

    @classmethod
    def states(cls):
        return {n["name"]: n["state"].removeprefix("NODE_STATE_") for n in cls.nodes()}

    @classmethod
    def all_here(cls):
        return cls.states() == {n: "CONNECTED" for n in cls.lab.nodes} and \
            all(n.get("devices") == 2 for n in cls.nodes())

    @classmethod
    def all_findings(cls):
        return cls.controller.get("/v1/findings").get("findings", [])

    @classmethod
    def open_findings(cls):
        """Open findings about settings. Those of campaigns stay open after the repair, until a
        later campaign shows that the part works."""
        return [f for f in cls.all_findings() if f["rule"] != "probe_blame"]

    @classmethod
    def findings(cls):
        """(rule, node, title) of open_findings(). Findings about several nodes have no node."""
        return [(f["rule"], f["subject"].get("node", ""), f["title"])
                for f in cls.open_findings()]

    @classmethod
    def rules_found(cls):
        return [(rule, node) for rule, node, _ in cls.findings()]

    def ctl(self, *words, controller=None):
        return subprocess.run(
            [BIN / "fabricctl", "--controller", controller or self.controller.grpc, *words],
            capture_output=True, text=True, check=False, timeout=300,
            env=self.controller.environment)

    @contextlib.contextmanager
    def broken(self, node, *fault):
        self.lab.fault(node, *fault)
        try:
            yield
        finally:
            self.lab.fault(node, *fault, repair=True)

    def found(self, node, fault, rule, scope, fact, words=()):
        """Plants a fault and checks that it opens exactly one finding, with this rule, scope and
        words in its title, within a second of the report of the fact (a path prefix). The finding
        must close after the repair."""
        expected = [(rule, "" if scope == "FLEET" else node)]
        begun = time.time()
        with self.broken(node, *fault):
            self.until(lambda: self.rules_found() == expected, expected, FOUND_WITHIN_S)
            [finding] = self.open_findings()
            self.assertEqual(finding["subject"]["scope"], f"SCOPE_{scope}", finding)
            for word in words:
                self.assertIn(word, finding["title"])
            took = moment(finding["opened_at"]) - self.reported(node, fact, begun)
            print(f"[{rule} {took:.2f} s after its report] ", end="", file=sys.stderr, flush=True)
            self.assertGreaterEqual(took, 0)
            self.assertLessEqual(took, FOUND_AFTER_REPORT_S)
            time.sleep(1.5)  # No other finding opens later.
            self.assertEqual(self.rules_found(), expected)
        self.until(lambda: self.findings() == [], "repaired", FOUND_WITHIN_S)

    def reported(self, node, fact, since):
        """The time of the first report of a changed fact whose path has this prefix."""
        seconds = int(time.time() - since) + 1
        differences = self.controller.get(
            f"/v1/nodes/{node}:diff?since_seconds={seconds}").get("differences", [])
        times = [moment(one["changed_at"]) for one in differences if one["path"].startswith(fact)]
        times = [at for at in times if at >= since]
        self.assertTrue(times, f"{fact} has not changed: {differences}")
        return min(times)
