# SPDX-License-Identifier: Apache-2.0
"""A test case with fabricd and a lab whose nodes report to it.

Import it after deploy/ was put on sys.path, as the tests here do.
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
FOUND_WITHIN_S = 5  # From the fault to the finding, as the operators are promised.
FOUND_AFTER_REPORT_S = 1  # From the report that has it, by the controller's own times


def moment(text):
    """Seconds since the epoch of a time as the API writes it."""
    return datetime.datetime.fromisoformat(text).timestamp()


class LabCase(unittest.TestCase):
    """One controller and one lab for all tests of a class, in the order of their names; each
    leaves it as it found it."""

    maxDiff = None
    NAME = ""    # Of the folder in which the controller's files are
    FLAGS = ()   # Of fabricd
    LAB = {}     # What Lab() is given

    @classmethod
    def setUpClass(cls):
        cls.folder = quickstart.BUILD / cls.NAME
        cls.folder.mkdir(parents=True, exist_ok=True)
        cls.controller = quickstart.Controller(cls.folder, 0, 0, *cls.FLAGS)
        cls.addClassCleanup(lambda: cls.controller.stop())  # The one there is by then
        cls.lab = Lab(agent=str(BIN / "fabric-agent"), controller=cls.controller.grpc, **cls.LAB)
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
        """What is told when something did not come."""
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
    def findings(cls):
        """(rule, node, title) of each that is open. No node: it is about more than one."""
        found = cls.controller.get("/v1/findings").get("findings", [])
        return [(f["rule"], f["subject"].get("node", ""), f["title"]) for f in found]

    @classmethod
    def rules_found(cls):
        return [(rule, node) for rule, node, _ in cls.findings()]

    def ctl(self, *words, controller=None):
        return subprocess.run(
            [BIN / "fabricctl", "--controller", controller or self.controller.grpc, *words],
            capture_output=True, text=True, check=False, timeout=300)

    @contextlib.contextmanager
    def broken(self, node, *fault):
        self.lab.fault(node, *fault)
        try:
            yield
        finally:
            self.lab.fault(node, *fault, mend=True)

    def found(self, node, fault, rule, scope, fact, words=()):
        """The fault gives one finding: of that rule, at that scope, with these words in its title,
        opened within a second of the report of a fact whose path begins so. It goes with the
        fault."""
        expected = [(rule, "" if scope == "FLEET" else node)]
        begun = time.time()
        with self.broken(node, *fault):
            self.until(lambda: self.rules_found() == expected, expected, FOUND_WITHIN_S)
            [finding] = self.controller.get("/v1/findings")["findings"]
            self.assertEqual(finding["subject"]["scope"], f"SCOPE_{scope}", finding)
            for word in words:
                self.assertIn(word, finding["title"])
            took = moment(finding["opened_at"]) - self.reported(node, fact, begun)
            print(f"[{rule} {took:.2f} s after its report] ", end="", file=sys.stderr, flush=True)
            self.assertGreaterEqual(took, 0)
            self.assertLessEqual(took, FOUND_AFTER_REPORT_S)
            time.sleep(1.5)  # Nothing else comes up later.
            self.assertEqual(self.rules_found(), expected)
        self.until(lambda: self.findings() == [], "mended", FOUND_WITHIN_S)

    def reported(self, node, fact, since):
        """When the controller was told first that such a fact has changed."""
        seconds = int(time.time() - since) + 1
        differences = self.controller.get(
            f"/v1/nodes/{node}:diff?since_seconds={seconds}").get("differences", [])
        times = [moment(one["changed_at"]) for one in differences if one["path"].startswith(fact)]
        times = [at for at in times if at >= since]
        self.assertTrue(times, f"{fact} is not among what changed: {differences}")
        return min(times)
