#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of concurrent labs, of the agent in a lab, and of killed processes."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import labdefs
import labstate
from fabriclab import Lab
from labdefs import HERE, LabError
from labtest import cli, running, until


class TestLives(unittest.TestCase):
    def agent(self, folder):
        """A fake agent: a script that prints its arguments and serves a page."""
        path = pathlib.Path(folder) / "fabric-agent"
        path.write_text('#!/bin/sh\necho "$@"; ulimit -l\nwhile :; do { printf '
                        '"HTTP/1.0 200 OK\\r\\n\\r\\nup 1\\n"; } | nc -l -p 9417; done\n')
        path.chmod(0o755)
        return str(path)

    def test_two_labs_and_an_agent(self):
        name = f"cli-{os.getpid()}"
        with tempfile.TemporaryDirectory() as folder, Lab(nodes=1, quiet=True) as other:
            try:
                done = cli("up", "--name", name, "--nodes", "1", "--no-faults", "--agent",
                           self.agent(folder), "--controller", "127.0.0.1:7470",
                           "--agent-flags=--extra 'a b'")
                self.assertEqual(done.returncode, 0, done.stderr)
                lab = Lab.attach(name)
                log = "cat /var/log/fabric-agent.log"
                until(lambda: "unlimited" in lab.shell("n1", log), "the agent runs")
                self.assertIn("--controller 10.0.2.2:7470 --metrics 0.0.0.0:9417 --node n1 "
                              "--extra a b\nunlimited\n", lab.shell("n1", log))
                self.assertIn("up 1", self.fetch(lab.metrics("n1")))
                state = "kill -0 $(cat /run/agent.pid) 2>/dev/null && echo runs || echo dead"
                self.assertEqual(lab.shell("n1", state), "runs\n")
                lab.fault("n1", "kill-agent")
                time.sleep(1.5)
                self.assertEqual(lab.shell("n1", state), "dead\n")
                lab.fault("n1", "kill-agent", repair=True)
                until(lambda: lab.shell("n1", log).count("unlimited") == 2, "it is back")
                # The labs have the same addresses and are isolated from each other.
                self.assertEqual(other.shell("n1", "hostname"), lab.shell("n1", "hostname"))
                self.assertNotEqual(other.metrics("n1"), lab.metrics("n1"))
                several = cli("exec", "n1", "true")
                self.assertEqual(several.returncode, 2)
                self.assertIn("several labs are up", several.stderr)
            finally:
                done = cli("down", "--name", name)
            self.assertEqual((done.returncode, running(name)), (0, []))
            self.assertTrue(running(other.name))
        self.assertEqual(running(other.name), [])

    def fetch(self, address):
        done = subprocess.run(["curl", "-s", "--max-time", "10", f"http://{address}/metrics"],
                              capture_output=True, text=True, check=False)
        return done.stdout

    def test_a_killed_up_leaves_nothing(self):
        name = f"killed-{os.getpid()}"
        with subprocess.Popen([sys.executable, str(HERE / "lab"), "up", "--nodes", "1", "--name",
                               name], stderr=subprocess.DEVNULL) as child:
            until(lambda: (labdefs.RUN / name / "keeper.json").exists(), "guests start", 60)
            child.send_signal(signal.SIGKILL)
        until(lambda: not running(name), "all processes of the killed lab are gone")
        self.assertNotIn(name, cli("list").stdout)
        self.assertFalse((labdefs.RUN / name).exists())

    def test_a_boot_that_hangs_is_killed_and_reported(self):
        lab = Lab(nodes=1, quiet=True, boot_limit=0.1)
        with self.assertRaisesRegex(LabError, r"n1 was not ready within 0.1 s; the end of its "):
            lab.up()
        self.assertEqual(running(lab.name), [])
        kept = labdefs.LAB / "failed" / lab.name
        self.assertTrue((kept / "n1" / "console.log").exists())
        shutil.rmtree(kept)

    def test_guests_of_a_killed_keeper_end(self):
        name = f"keeper-{os.getpid()}"
        lab = Lab(nodes=1, name=name, quiet=True)
        lab.up()
        try:
            os.kill(labstate.keeper(lab.folder)["keeper"]["pid"], signal.SIGKILL)
            until(lambda: not running(name), "the guest has ended with its keeper")
        finally:
            lab.down()


if __name__ == "__main__":
    unittest.main()
