# SPDX-License-Identifier: Apache-2.0
"""Faults of the fabric that no setting shows: probes find them, and name what is to blame."""

import json


class BlameTests:
    """Mixed into TestSystem; the lab is healthy before and after each."""

    def blamed(self):
        """Runs a campaign until it is decided. Returns the state of its blame, and kind, name and
        trouble of each suspect that loses anything: emulated guests are slow and late by turns."""
        done = self.ctl("probe", "run", "--kind", "rc_write_latency", "--iterations", "50",
                        "--probe-timeout", "5s", "--until-decided", "-o", "json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        campaign = json.loads(done.stdout)
        self.assertEqual(campaign["state"], "CAMPAIGN_STATE_DONE")
        blame = campaign["blame"]
        return (blame["state"].removeprefix("BLAME_STATE_"),
                [(one["kind"].removeprefix("SUSPECT_KIND_"), one["name"],
                  one["trouble"].removeprefix("TROUBLE_KIND_")) for one in blame["suspects"]
                 if one["trouble"] not in ("TROUBLE_KIND_SLOW", "TROUBLE_KIND_LATE")])

    def test_11_a_healthy_fabric_accuses_nobody(self):
        self.assertEqual(self.blamed()[1], [])

    def test_12_a_link_that_drops_everything_is_named(self):
        for direction in ("both", "up", "down"):
            with self.subTest(direction=direction):
                self.lab.link("rail0", "n3", "cut", 1, direction)
                try:
                    state, suspects = self.blamed()
                    self.assertEqual(suspects, [("PORT", "n3/rxe0/1", "DEAD")], state)
                finally:
                    self.lab.mend_links()

    def test_13_a_rail_that_drops_everything_accuses_no_node(self):
        for node in self.lab.nodes:
            self.lab.link("rail1", node, "cut", 1)
        try:
            state, suspects = self.blamed()
            self.assertNotEqual(state, "HEALTHY")
            self.assertEqual([one for one in suspects if one[0] not in ("RAIL", "LEAF")], [])
        finally:
            self.lab.mend_links()
