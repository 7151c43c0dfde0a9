#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every probe kind of the agent over real verbs, between two guests with soft RoCE. probe_pair runs
them without agents and controller. They must work, report their settings and release their
resources. tests/bench/probe_vs_perftest compares their results with perftest."""

import json
import pathlib
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "deploy")]

# pylint: disable=wrong-import-position
import quickstart
from fabriclab import Lab

PORT = 18517
LISTENS = (f"n=0; until netstat -ltn | grep -q :{PORT}; do n=$((n + 1)); [ $n -lt 200 ] || exit 1; "
           "sleep 0.1; done")
ADDRESS = {"n1": "10.10.0.1", "n2": "10.10.0.2"}


class TestProbes(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(nodes=2, programs=[str(quickstart.RELEASE / "bin/probe_pair")])
        cls.addClassCleanup(cls.lab.down)
        cls.lab.up()

    def tearDown(self):
        for node in self.lab.nodes:
            left = self.lab.shell(node, "rdma resource show rxe0")
            self.assertIn("qp 1 cm_id 0 mr 0 ctx 0", left)

    def run_pair(self, spec, responder="n2", meanwhile=lambda: None):
        """Exit status and result of the initiator on n1."""
        answers = threading.Thread(target=self.lab.exec,
                                   args=(responder, ["probe_pair", "rxe0", "1"]),
                                   kwargs={"timeout": 100})
        answers.start()
        try:
            self.lab.shell(responder, LISTENS)
            other = threading.Thread(target=meanwhile)
            other.start()
            done = self.lab.exec("n1", ["probe_pair", "rxe0", "1", ADDRESS[responder],
                                        json.dumps({"timeout_ms": 40_000, **spec})], timeout=100)
            other.join()
        finally:
            answers.join()
        self.assertNotEqual(done.stdout, "", done.stderr)
        return done.returncode, json.loads(done.stdout)

    def measured(self, spec, **options):
        status, result = self.run_pair(spec, **options)
        self.assertEqual((status, result["status"]), (0, "PROBE_STATUS_OK"), result)
        return result

    def test_latencies(self):
        for kind in ("rc_write_latency", "rc_read_latency", "rc_send_latency"):
            with self.subTest(kind):
                result = self.measured({kind: {"iterations": 100}})
                latency = result["latency"]
                self.assertEqual(latency["samples"] + latency["voided"], 100)
                self.assertGreater(latency["median_us"], 0)
                self.assertEqual(sum(b["samples"] for b in latency["histogram"]),
                                 latency["samples"])
                self.assertEqual(result["used"]["path_mtu_bytes"], 4096)

    def test_atomics(self):
        for swap in (False, True):
            with self.subTest(compare_and_swap=swap):
                result = self.measured({"rc_atomic_latency": {"iterations": 100,
                                                              "compare_and_swap": swap}})
                latency = result["latency"]
                self.assertEqual(latency["samples"] + latency["voided"], 100)
                self.assertGreater(latency["median_us"], 0)

    def test_bandwidths(self):
        for kind in ("rc_write_bandwidth", "rc_read_bandwidth", "rc_send_bandwidth"):
            for fields in ({}, {"queue_pairs": 3, "bidirectional": True}):
                with self.subTest(kind, **fields):
                    result = self.measured({kind: {"iterations": 40, **fields}})
                    names = ["bandwidth"] + ["reverse_bandwidth"] * ("bidirectional" in fields)
                    for name in names:
                        self.assertEqual(int(result[name]["bytes"]), 40 * 65536)
                        self.assertGreater(result[name]["mean_bps"], 0)

    def test_pings(self):
        ping = self.measured({"ud_ping": {"pings": 60, "interval_us": 2000,
                                          "answer_within_ms": 10_000,
                                          "flow_labels": [1, 2, 3]}})["ping"]
        self.assertEqual((ping["sent"], ping["answered"], ping["lost"]), (60, 60, 0))
        self.assertEqual([f["sent"] for f in ping["flows"]], [20, 20, 20])
        # Soft RoCE has neither time stamps nor flow labels, and the result reports that.
        self.assertFalse(ping["hardware_timestamps"])
        self.assertTrue(ping["queue_pair_per_flow"])
        self.assertGreater(ping["responder_delay"]["median_us"], 0)

    def test_path_mtu_and_settings_of_a_job(self):
        result = self.measured({"path_mtu": {}})
        self.assertEqual([(s["mtu_bytes"], s["delivered"]) for s in result["mtu_steps"]],
                         [(256 << n, True) for n in range(5)])
        result = self.measured({"rc_write_latency": {"iterations": 20}, "traffic_class": 104,
                                "queue_pair": {"path_mtu_bytes": 1024, "timeout": 18,
                                               "retry_count": 3, "flow_label": 5}})
        self.assertEqual(result["used"], {
            "gid_index": 1, "path_mtu_bytes": 1024, "timeout": 18, "retry_count": 3,
            "rnr_retry": 7, "service_level": 0, "flow_label": 5, "traffic_class": 104})

    def test_a_pkey_is_found_in_the_table_of_the_port(self):
        # Soft RoCE has one P_Key, 0xffff: 0x7fff without the bit for full members.
        result = self.measured({"rc_write_latency": {"iterations": 20},
                                "queue_pair": {"pkey": 0x7fff}})
        self.assertEqual(result["used"]["pkey"], 0x7fff)
        with self.assertRaisesRegex(AssertionError,
                                    "rxe0/1: P_Key 0x0005 is not in the table of the port"):
            self.run_pair({"rc_write_latency": {}, "queue_pair": {"pkey": 5}})

    def test_loopback_on_one_port(self):
        for spec in ({"rc_read_latency": {"iterations": 50}}, {"ud_ping": {"pings": 20}}):
            with self.subTest(spec):
                self.measured(spec, responder="n1")

    def test_a_partner_that_is_killed_ends_it_soon(self):
        def kill():
            time.sleep(2)
            self.lab.exec("n2", "kill -9 $(pidof probe_pair)")

        begun = time.monotonic()
        # Soft RoCE treats 7 retries, the default, as unlimited.
        status, result = self.run_pair({"rc_read_latency": {"iterations": 1_000_000},
                                        "queue_pair": {"retry_count": 3}},
                                       meanwhile=kill)
        self.assertEqual(status, 1)
        self.assertEqual(result["status"], "PROBE_STATUS_FAILED", result)
        self.assertIn("transport retry counter exceeded", result["reason"])
        self.assertLess(time.monotonic() - begun, 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
