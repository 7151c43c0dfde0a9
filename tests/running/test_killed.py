#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd is killed right before each of its first changes of files, and later. The next start
succeeds, and everything that was confirmed to a person is there.

test_killed.py BIN PRELOAD  where fabricd is, and the library that kills it
"""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

BIN = pathlib.Path("build/release/bin")
PRELOAD = ""
# Every change of a first start, and some of later ones. Each number is one start of fabricd.
KILL_AT = [*range(1, 66), *range(70, 150, 8)]
SILENCES = 12  # Per start


class KilledTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="fabric-killed-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.confirmed = set()
        self.sent = 0

    def start(self, kill_at):
        """Returns the process, and its URL unless it was killed before it had one."""
        addresses = self.folder / "addresses.json"
        addresses.unlink(missing_ok=True)
        environment = dict(os.environ)
        if kill_at:
            environment.update(LD_PRELOAD=PRELOAD, KILL_AT=str(kill_at))
        process = subprocess.Popen(
            [BIN / "fabricd", "--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--health",
             "127.0.0.1:0", "--state", self.folder / "state.db", "--addresses-file", addresses,
             "--log-level", "error"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        ready = process.stdout.readline()  # Empty: it was killed.
        return process, "http://" + json.loads(addresses.read_text())["rest"] if ready else None

    def post_silence(self, url):
        self.sent += 1
        reason = f"reason {self.sent}"
        body = {"silence": {"rule": "port_active", "author": "ada", "reason": reason},
                "duration_seconds": 3600}
        request = urllib.request.Request(url + "/v1/silences", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            json.load(answer)
        self.confirmed.add(reason)

    def live(self, kill_at):
        process, url = self.start(kill_at)
        try:
            for _ in range(SILENCES if url else 0):
                self.post_silence(url)
        except urllib.error.HTTPError:
            raise  # An answer, but not the expected one
        except (OSError, http.client.HTTPException):
            pass  # It was killed.
        process.kill()
        process.wait()
        process.stdout.close()

    def check_audit(self, url, kill_at):
        """What was confirmed is in the audit log, whose chain is intact."""
        with urllib.request.urlopen(url + "/v1/audit?filter=outcome=ok", timeout=20) as answer:
            entries = json.load(answer)["entries"]
        recorded = {json.loads(entry["request"])["silence"]["reason"] for entry in entries
                    if entry["method"] == "CreateSilence"}
        self.assertEqual(self.confirmed - recorded, set(), f"no entry, kill at change {kill_at}")
        with urllib.request.urlopen(url + "/v1/audit:verify", timeout=20) as answer:
            self.assertEqual(json.load(answer)["broken_sequence"], "0")

    def check(self, kill_at):
        process, url = self.start(None)
        self.assertIsNotNone(url, f"does not start after a kill at change {kill_at}")
        with urllib.request.urlopen(url + "/v1/silences", timeout=20) as answer:
            silences = json.load(answer).get("silences", [])
        kept = {silence["reason"] for silence in silences}
        self.assertEqual(self.confirmed - kept, set(), f"lost by a kill at change {kill_at}")
        self.assertTrue((self.folder / "signing-key.pub.pem").exists())
        with urllib.request.urlopen(url + "/v1/version", timeout=20) as answer:
            store = json.load(answer)["store"]
        self.assertEqual(store.get("damaged_file", ""), "")
        self.check_audit(url, kill_at)
        process.terminate()
        self.assertEqual(process.wait(20), 0)
        process.stdout.close()

    def test_nothing_confirmed_is_lost(self):
        for kill_at in KILL_AT:
            for path in self.folder.iterdir():
                path.unlink()
            self.confirmed.clear()
            for _ in range(2):  # A first start, and one on its files
                self.live(kill_at)
                self.check(kill_at)
        self.assertGreater(self.sent, len(KILL_AT), "the kills came too early to test anything")


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1))
    PRELOAD = sys.argv.pop(1)
    unittest.main()
