"""Helpers of the tests of deploy/: paths, programs, tools that may be missing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BIN = pathlib.Path(os.environ.get("FABRIC_BIN") or ROOT / "build/release/bin")
SKIPPED = 77  # CMakeLists.txt: SKIP_RETURN_CODE
METRIC_SOURCES = ("agents/metrics/metrics.cc", "agents/metrics/metrics_counters.cc",
                  "agents/metrics/metrics_settings.cc", "daemon/api/metrics.cc",
                  "docs/reference/COUNTERS.md",
                  *(str(path.relative_to(ROOT)) for path in ROOT.glob("proto/fabric/v1/*.proto")))


class DeployTest(unittest.TestCase):
    """A test case. tool() and program() return the paths of programs that tests need."""

    maxDiff = None

    def tool(self, name):
        """The path of a tool. Without it the test is skipped; in CI it fails."""
        path = shutil.which(name)
        if path is None:
            self._missing(f"{name} is not installed; run deploy/install-dependencies test",
                          must=os.environ.get("CI") == "true")
        return path

    def program(self, name):
        """The path of a program of the build. Under ctest, which sets FABRIC_BIN, it must exist."""
        path = BIN / name
        if not path.exists():
            self._missing(f"{path} is not built", must="FABRIC_BIN" in os.environ)
        return path

    def _missing(self, what, must):
        if must:
            self.fail(what)
        self.skipTest(what)

    def folder(self):
        """Makes a folder that is removed after the test."""
        made = tempfile.TemporaryDirectory(prefix="fabric-deploy-")
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def run_well(self, *command, timeout=60, **options):
        """Runs a command that must succeed. Returns its standard output."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=timeout, check=False, **options)
        self.assertEqual(done.returncode, 0,
                         f"{command}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def settings_of(self, name, *arguments):
        """The settings that a program reads from its arguments: {setting: value}."""
        if name == "fabric-agent":
            self.assertEqual(arguments[0], "run", arguments)
        printed = self.run_well(self.program(name), *arguments, "--print-config")
        return dict(re.findall(r"^([\w-]+): (.*?)  # ", printed, re.M))


def our_metrics():
    """Names of all metrics in the sources, including the parts of histograms."""
    names = set()
    for source in METRIC_SOURCES:
        names |= set(re.findall(r'["`](fabric_\w+)["`]', (ROOT / source).read_text()))
    return names | {name + part for name in names for part in ("_bucket", "_count", "_sum")}


def metrics_in(expression):
    return set(re.findall(r"\bfabric_\w+", expression))


def main():
    """Like unittest.main(), but exits with 77 when a test was skipped and none failed."""
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print(f"SKIPPED {test.id()}: {reason}", file=sys.stderr)
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if result.skipped else 0)
