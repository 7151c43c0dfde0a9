#!/usr/bin/env python3
"""The output of `fabric-agent metrics` for every fixture: promtool accepts it, and with --compat
node-exporter it has every series of node_exporter with the same value."""

import re
import subprocess
import time
import unittest
import urllib.request

import nodeexporter
from deploytest import ROOT, DeployTest, main

FIXTURES = sorted((ROOT / "tests/fixtures").glob("*.tree"))
SERIES = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def series(exposition, prefix):
    """{(name, ((label, value), ...)): number} of all series with this prefix."""
    found = {}
    for line in exposition.splitlines():
        if line.startswith(prefix):
            name, labels, value = SERIES.match(line).groups()
            found[name, tuple(sorted(LABEL.findall(labels or "")))] = float(value)
    return found


def heads(exposition, prefix):
    """The lines HELP and TYPE."""
    return {line for line in exposition.splitlines()
            if re.match(rf"# (HELP|TYPE) {prefix}", line)}


class TestExposition(DeployTest):
    def exposition(self, tree, *arguments):
        """Unpacks a fixture. Returns the folder and the metrics."""
        folder = self.folder()
        self.run_well(self.program("unpack"), tree, folder / "root")
        return folder, self.run_well(self.program("fabric-agent"), "metrics", "--root",
                                     folder / "root", *arguments)

    def test_promtool_reports_no_problem(self):
        tool = self.tool("promtool")
        for tree in FIXTURES:
            for arguments in ((), ("--compat", "node-exporter")):
                with self.subTest(tree.stem, arguments=arguments):
                    _, text = self.exposition(tree, *arguments)
                    done = subprocess.run([tool, "check", "metrics"], input=text, text=True,
                                          capture_output=True, check=False)
                    self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_gauges_are_not_named_total(self):
        for tree in FIXTURES:
            _, text = self.exposition(tree)
            for name in re.findall(r"^# TYPE (\w+) gauge", text, re.M):
                self.assertFalse(name.endswith("_total"), f"{tree.stem}: {name}")

    def test_compat_is_off_unless_asked_for(self):
        _, text = self.exposition(ROOT / "tests/fixtures/h100_infiniband.tree")
        self.assertNotIn("node_infiniband", text)

    def test_other_metrics_of_the_endpoint_are_those_of_the_page(self):
        """The library of the endpoint adds metrics of its own."""
        folder = self.folder()
        self.run_well(self.program("unpack"), FIXTURES[0], folder / "root")
        log = folder / "log"
        with log.open("w") as out, subprocess.Popen(
                [self.program("fabric-agent"), "run", "--no-controller", "--root", folder / "root",
                 "--metrics", "127.0.0.1:0"], stdout=out, stderr=out) as agent:
            self.addCleanup(agent.wait)
            self.addCleanup(agent.terminate)
            address = self.address(agent, log)
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
                text = answer.read().decode()
            agent.terminate()
        others = {name for name in re.findall(r"^# TYPE (\w+)", text, re.M)
                  if not name.startswith(("fabric_", "process_"))}
        page = (ROOT / "docs/OPERATIONS.md").read_text()
        self.assertEqual(others, set(re.findall(r"`(exposer_\w+)`", page)))

    def address(self, agent, log):
        deadline = time.monotonic() + 60
        while not (found := re.search(r"metrics on (\S+)", log.read_text())):
            self.assertTrue(agent.poll() is None and time.monotonic() < deadline, log.read_text())
            time.sleep(0.05)
        return found[1]

    def test_every_series_of_node_exporter_is_ours(self):
        try:
            nodeexporter.program()
        except nodeexporter.Unavailable as error:
            self.skipTest(f"no node_exporter: {error}")
        compared = 0
        for tree in FIXTURES:
            with self.subTest(tree.stem):
                folder, ours = self.exposition(tree, "--compat", "node-exporter")
                with nodeexporter.started(folder, folder / "root/sys") as (address, _):
                    theirs = nodeexporter.scrape(address)
                wanted = series(theirs, "node_infiniband_")
                got = series(ours, "node_infiniband_")
                self.assertEqual({key: got.get(key) for key in wanted}, wanted)
                self.assertEqual(heads(theirs, "node_infiniband_") -
                                 heads(ours, "node_infiniband_"),
                                 set())
                compared += len(wanted)
        # node_exporter stops at a port without counters/, which most fixtures have.
        self.assertGreater(compared, 200, "series of nodes with mlx5")


if __name__ == "__main__":
    unittest.TestCase.longMessage = True
    main()
