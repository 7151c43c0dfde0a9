# SPDX-License-Identifier: Apache-2.0
"""Incasts among guests with soft RoCE: all senders start, and the cards' counters decide the
verdict. The counters only change when the test changes them during the burst."""

import json
import threading


class IncastTests:
    """A mixin of TestSystem. The lab is healthy before and after each test."""

    def incast(self, meanwhile=()):
        """The report on an incast of n2 and n3 to n1 on rail 0. `meanwhile` are pairs of a node and
        a counter change, which the node's card repeats until the burst ends."""
        over = threading.Event()

        def count():
            while meanwhile and not over.wait(0.3):
                for node, line in meanwhile:
                    self.lab.shell(node, f"echo '{line}' >/proc/labnic")

        counting = threading.Thread(target=count)
        counting.start()
        try:
            done = self.ctl("probe", "run", "--kind", "incast", "--hub", "n1", "--rails", "0",
                            "--traffic-class", "104", "--duration", "1s", "--bytes", "4096",
                            "--probe-timeout", "30s", "--include-busy", "-o", "json")
        finally:
            over.set()
            counting.join()
        campaign = json.loads(done.stdout)
        self.assertEqual((campaign["probes_ok"], campaign["state"]), (2, "CAMPAIGN_STATE_DONE"),
                         campaign)
        [report] = campaign["incasts"]
        self.assertEqual(report["senders"], 2)
        self.assertGreater(report["receiver_bps"], 0)
        self.assertEqual([deltas["port"]["node"] for deltas in report["counter_deltas"]][0], "n1")
        verdict = report["verdict"].removeprefix("INCAST_VERDICT_")
        # Emulated guests sometimes pause, and soft RoCE then retransmits. The verdict cannot
        # distinguish this from loss.
        late = any("a timer ran out" in line for line in report["evidence"])
        return "LATE" if late else verdict, report, done.returncode

    def test_14_the_cards_counters_decide_the_verdict(self):
        verdict, report, status = self.incast()
        # No card sent pause frames, and soft RoCE has no congestion marks.
        self.assertIn(verdict, ("UNKNOWN", "NO_CONGESTION", "LATE"), report)
        self.assertEqual(status, 0)
        names = {delta["name"] for deltas in report["counter_deltas"]
                 for delta in deltas["counters"]}
        self.assertLessEqual({"pfc_rx_frames_prio3", "seq_nak_received"}, names)

    def test_15_pfc_at_a_sender_is_reported(self):
        verdict, report, _ = self.incast([("n2", "rail0 rx_prio3_pause +7")])
        self.assertIn(verdict, ("LOSSLESS", "LATE"), report)
        self.assertTrue(any(line.startswith("PFC received (priority 3 at the receiver): n2/rxe0/1")
                            for line in report["evidence"]), report)

    def test_16_discards_despite_pfc(self):
        verdict, report, status = self.incast([("n2", "rail0 rx_prio3_pause +7"),
                                               ("n1", "rail0 rx_prio3_discards +3")])
        self.assertEqual((verdict, status), ("LOSS_DESPITE_PFC", 1), report)

    def test_17_too_many_senders_are_refused(self):
        done = self.ctl("probe", "run", "--kind", "incast", "--hub", "n1", "--pairs-at-once", "1")
        self.assertIn("2 senders to n1/rxe0/1 at once, the maximum of concurrent pairs: 1",
                      done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_18_a_node_without_a_gpu_is_refused(self):
        done = self.ctl("probe", "run", "--kind", "gpu_memory", "--nodes", "n1,n2", "--rails", "0",
                        "-o", "json")
        [pair] = json.loads(done.stdout)["results"]
        self.assertEqual(pair["result"]["status"], "PROBE_STATUS_REFUSED", pair)
        self.assertRegex(pair["result"]["reason"], "gpu_memory needs a GPU|libcuda.so.1")
