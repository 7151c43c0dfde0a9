#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two fabricd with one PostgreSQL, and real agents: leaders are killed, frozen and cut from the
database, agents are cut from the leader, and the database stops or fails over to its standby. Only
one writes at a time, and nothing acknowledged is lost.

test_ha.py BIN [--seeds N] [--first-seed S]  N: number of random runs (default 3)
"""

import json
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import ha_world
import postgres
import standby_commands
from freeports import free_ports
from ha_faults import HaFaults
from ha_world import LEASE, Controller, program

OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / "docs/OPERATIONS.md"
SEEDS = 3
FIRST_SEED = 1
PLAN = """Switch 2 "S-0001" # "leaf1" base port 0 lid 1 lmc 0
[1] "S-0002"[1] # "spine1" lid 2 4xNDR
Switch 2 "S-0002" # "spine1" base port 0 lid 2 lmc 0
[1] "S-0001"[1] # "leaf1" lid 1 4xNDR
"""


class HighAvailability(HaFaults):
    with_standby = ("test_the_database_fails_over_to_its_standby", "test_random_faults")

    def test_a_standby_names_the_leader_and_clients_find_it(self):
        status, answer = self.b.call("/v1/nodes")
        self.assertEqual(status, 503)
        self.assertIn(f"this controller does not lead: the leader is {self.a.grpc}", answer)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(self.b.health + "/readyz", timeout=60)
        self.assertEqual(refused.exception.code, 503)
        with urllib.request.urlopen(self.b.health + "/livez", timeout=60) as alive:
            self.assertEqual(alive.status, 200)
        for addresses, good in ((f"{self.b.grpc},{self.a.grpc}", True), (self.b.grpc, False)):
            done = subprocess.run([program("fabricctl"), "--controller", addresses, "nodes"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0 if good else 3, done.stderr)
            self.assertEqual(f"the leader is {self.a.grpc}" in done.stderr, not good, done.stderr)
        self.start_agent("n1")
        self.until(lambda: self.connected(self.a, "n1"), "the agent finds the leader")

    def test_a_standby_sends_browsers_and_programs_to_the_leader(self):
        def answer(controller, *words):
            """(status, headers, body)"""
            done = subprocess.run(["curl", "-sS", "-i", *words[:-1], controller.rest + words[-1]],
                                  capture_output=True, text=True, timeout=60, check=True)
            head, body = done.stdout.split("\n\n", 1)
            lines = head.splitlines()
            return (int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]),
                    body)

        for path in ("/", "/index.html"):
            status, headers, _ = answer(self.b, path)
            self.assertEqual((status, headers["Location"]), (307, self.a.rest + path))
        _, _, page = answer(self.a, "/")
        with urllib.request.urlopen(self.b.rest + "/", timeout=60) as followed:
            self.assertEqual(followed.read().decode(), page)
        # A call is refused: a redirection that a program does not follow looks like success.
        for words in (["/v1/nodes"], ["/v1/events"], ["--json", "{}", "/v1/campaigns"],
                      ["--json", "{}", "/v1/silences"]):
            status, headers, body = answer(self.b, *words)
            self.assertEqual((status, headers["Fabric-Leader"]), (503, self.a.rest), words)
            self.assertIn("this controller does not lead", body)
        self.until(lambda: answer(self.b, "/v1/silences")[0] == 200, "b has read the state")
        self.assertEqual(answer(self.b, "/v1/silences")[1]["Fabric-Leader"], self.a.rest)
        self.assertNotIn("Fabric-Leader", answer(self.a, "/v1/silences")[1])

    def read(self, controller, path):
        """(answer, warning, age of the state)"""
        with urllib.request.urlopen(controller.rest + path, timeout=60) as answer:
            return (json.load(answer), answer.headers.get("Fabric-Warning", ""),
                    int(answer.headers.get("Fabric-State-Age-Seconds", "-1")))

    def test_a_standby_answers_reads_of_the_stored_state(self):
        self.assertTrue(self.silence(self.a))
        self.until(lambda: self.b.call("/v1/silences")[0] == 200 and
                   self.read(self.b, "/v1/silences")[0].get("silences"), "b has read the silence")
        _, warning, age = self.read(self.b, "/v1/silences")
        self.assertIn(f"this controller does not lead: the leader is {self.a.grpc}; this answer is "
                      "from the stored state, read ", warning)
        self.assertGreaterEqual(age, 1)
        self.assertEqual(self.read(self.a, "/v1/silences")[1:], ("", -1))
        for path in ("findings", "campaigns", "certificates", "schedules", "node-actions"):
            self.assertGreaterEqual(self.read(self.b, f"/v1/{path}")[2], 1, path)
        # An error can be out of date, too.
        with self.assertRaises(urllib.error.HTTPError) as missing:
            urllib.request.urlopen(self.b.rest + "/v1/findings/none", timeout=60)
        self.assertEqual(missing.exception.code, 404)
        self.assertGreaterEqual(int(missing.exception.headers["Fabric-State-Age-Seconds"]), 1)
        self.assertIn(self.a.grpc, missing.exception.headers["Fabric-Warning"])
        # Who calls it does not need the state. fabricctl with both addresses asks the leader.
        identity, warning, age = self.read(self.b, "/v1/identity")
        self.assertEqual(identity, self.read(self.a, "/v1/identity")[0])
        self.assertEqual((warning, age),
                         (f"this controller does not lead: the leader is {self.a.grpc}", -1))
        for addresses in (self.b.grpc, f"{self.b.grpc},{self.a.grpc}"):
            done = subprocess.run([program("fabricctl"), "--controller", addresses, "whoami"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("does not lead" in done.stderr, addresses == self.b.grpc, done.stderr)
        # What only the leader has, and changes, it refuses.
        for path in ("nodes", "devices", "mesh", "rules", "subnets", "version"):
            self.assertEqual(self.b.call(f"/v1/{path}")[0], 503, path)
        self.assertFalse(self.silence(self.b))
        for words in (["silence", "list"], ["findings"], ["probe", "list"], ["schedule", "list"]):
            done = subprocess.run([program("fabricctl"), "--controller", self.b.grpc, *words],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("fabricctl: warning: this controller does not lead", done.stderr)
        # The age is that of the last reading. A leader does not state one.
        self.proxy.cut()
        self.database.stop(signal.SIGQUIT)
        self.until(lambda: self.read(self.b, "/v1/silences")[2] > 9, "the state is older")
        self.database.start()
        self.until(self.b.leads, "b leads")
        self.assertEqual(self.read(self.b, "/v1/silences")[1:], ("", -1))
        self.proxy.mend()
        self.check_acknowledged(self.b)
        self.check_one_writer()

    def test_each_command_goes_on_to_the_leader(self):
        """A standby alone names the leader; with both addresses, the leader answers."""
        answered = {**standby_commands.STORED, **standby_commands.SHOWN}
        asking = {**answered, **standby_commands.OTHER}
        self.assertEqual({*asking, *standby_commands.LOCAL}, standby_commands.commands())
        self.until(lambda: self.b.call("/v1/silences")[0] == 200, "b has read the state")
        profile = self.folder / "profile.yaml"
        profile.write_text("name: site\ninherits: roce-pfc-dcqcn\n")
        plan = self.folder / "plan.txt"
        plan.write_text(PLAN)
        files = {"PROFILE": profile, "PLAN": plan, "BUNDLE": self.folder / "bundle.tar"}

        def run(addresses, name, words):
            done = subprocess.run(
                [program("fabricctl"), "--controller", addresses, *name.split(),
                 *(files.get(word, word) for word in words)],
                capture_output=True, text=True, timeout=60, check=False)
            return done.returncode, done.stdout + done.stderr

        leader = f"this controller does not lead: the leader is {self.a.grpc}"
        for name, words in asking.items():
            with self.subTest(name):
                status, text = run(self.b.grpc, name, words)
                self.assertIn(leader, text)
                if name not in answered:
                    self.assertEqual(status, 3, text)
                status, text = run(f"{self.b.grpc},{self.a.grpc}", name, words)
                self.assertNotEqual(status, 3, text)
                self.assertNotIn("does not lead", text)

    def test_the_leader_is_killed(self):
        for node in ("n1", "n2"):
            self.start_agent(node)
            self.until(lambda at=node: self.connected(self.a, at), "connected")
        self.assertTrue(self.silence(self.a))
        status, campaign = self.a.call("/v1/campaigns", {"spec": {}})
        self.assertEqual(status, 200, campaign)
        began = time.monotonic()
        self.a.signal(signal.SIGKILL)
        self.until(self.b.leads, "b leads")
        seconds = time.monotonic() - began
        self.check_takeover(self.b, seconds)
        self.until(lambda: self.connected(self.b, "n1"), "the agent is back")
        print(f"agent back after {time.monotonic() - began:.1f} s", flush=True)
        # It was acknowledged: it is known, and ended with its results. Nothing runs it again.
        self.check_campaign(self.b, campaign["id"])
        self.a.start()
        self.until(lambda: self.a.call("/v1/version")[0] == 503, "a stands by")

    def test_the_database_fails_during_the_take_over(self):
        self.a.end()
        self.until(self.b.leads, "b leads")
        # It has its connection for the lease; the next ones are refused.
        self.a.start()
        self.until(lambda: self.a.call("/v1/version")[0] == 503, "a stands by")
        self.proxy.refuse = 3
        self.b.end()
        self.until(self.a.leads, "a leads")
        self.assertIsNone(self.a.process.poll(), "it is the same process")
        self.assertIn("cannot take over, standing by again", self.a.log.read_text())
        self.assertTrue(self.silence(self.a))

    def test_the_leader_ends_well(self):
        began = time.monotonic()
        self.a.signal(signal.SIGTERM)
        self.until(self.b.leads, "b leads")
        self.check_takeover(self.b, time.monotonic() - began)
        self.assertEqual(self.a.process.wait(20), 0, self.a.log.read_text())

    def test_the_leader_is_frozen_for_longer_than_the_lease(self):
        self.assertTrue(self.silence(self.a))
        began = time.monotonic()
        self.a.signal(signal.SIGSTOP)
        self.until(self.b.leads, "b leads")
        self.check_takeover(self.b, time.monotonic() - began)
        self.a.signal(signal.SIGCONT)
        # From the first moment on nothing that it does counts.
        while self.a.call("/v1/version", timeout=3)[0] != 503:
            self.assertFalse(self.silence(self.a))
        self.assertTrue(self.silence(self.b))
        self.check_acknowledged(self.b)
        self.check_one_writer()
        self.until(lambda: f"the leader is {self.b.grpc}" in str(self.a.call("/v1/version")[1]),
                   "a stands by")

    def test_the_database_stops_and_starts(self):
        self.start_agent("n1")
        self.until(lambda: self.connected(self.a, "n1"), "connected")
        self.assertTrue(self.silence(self.a))
        self.database.stop(signal.SIGQUIT)
        self.assertFalse(self.silence(self.a), "acknowledged without a database")
        time.sleep(LEASE + 2)
        self.assertTrue(self.connected(self.a, "n1"), "reads go on from memory")
        self.assertFalse(self.silence(self.a))
        self.assertFalse(self.b.leads())
        self.database.start()
        leaders = []

        def acknowledged():
            leaders.extend(one for one in (self.a, self.b) if not leaders and self.silence(one))
            return leaders

        self.until(acknowledged, "changes work again")
        led, other = leaders[0], self.b if leaders[0] is self.a else self.a
        # An earlier leader answers reads until it learns that it is one.
        self.assertNotEqual(other.warning(), "", f"{led.name} leads, and {other.name} as well")
        self.check_acknowledged(led)
        self.check_one_writer()
        self.until(lambda: self.connected(led, "n1"), "the agent is there")

    def test_the_leader_is_cut_from_the_database(self):
        self.start_agent("n1")
        self.until(lambda: self.connected(self.a, "n1"), "connected")
        self.assertTrue(self.silence(self.a))
        began = time.monotonic()
        self.assertEqual(self.a.warning(), "")
        self.proxy.cut()
        self.assertFalse(self.silence(self.a, 30))
        self.until(self.b.leads, "b leads")
        self.check_takeover(self.b, time.monotonic() - began)
        self.check_cut_off()
        self.until(lambda: self.connected(self.b, "n1"), "the agent finds the new leader")
        self.proxy.mend()
        self.until(lambda: self.a.call("/v1/version")[0] == 503, "a stands by")
        self.check_acknowledged(self.b)
        self.check_one_writer()

    def test_the_database_fails_over_to_its_standby(self):
        for node in ("n1", "n2"):
            self.start_agent(node)
            self.until(lambda at=node: self.connected(self.a, at), "connected")
        for _ in range(20):
            self.assertTrue(self.silence(self.a))
        status, campaign = self.a.call("/v1/campaigns", {"spec": {}})
        self.assertEqual(status, 200, campaign)
        began = time.monotonic()
        self.pair.fail_over(pause=1)
        leaders = []

        def acknowledged():
            leaders.extend(one for one in (self.a, self.b) if not leaders and self.silence(one, 3))
            return leaders

        self.until(acknowledged, "changes work on the new primary")
        print(f"changes after {time.monotonic() - began:.1f} s, 1 s of them without a primary",
              flush=True)
        led = leaders[0]
        self.check_acknowledged(led)
        self.check_one_writer()
        self.until(lambda: self.connected(led, "n1"), "the agent is there")
        # The second time in the other direction.
        self.pair.restore()
        self.assertTrue(self.silence(led))
        self.pair.fail_over()
        leaders.clear()
        self.until(acknowledged, "changes work on the first server")
        self.check_acknowledged(leaders[0])
        self.check_one_writer()
        self.until(lambda: leaders[0].call(f"/v1/campaigns/{campaign['id']}")[1]["state"] !=
                   "CAMPAIGN_STATE_RUNNING", "the campaign has ended")
        self.check_campaign(leaders[0], campaign["id"])

    def test_agents_are_cut_from_the_leader(self):
        self.start_agent("n1")
        self.until(lambda: self.connected(self.a, "n1"), "connected")
        self.ways[0].cut()
        self.until(lambda: not self.connected(self.a, "n1"), "n1 is lost")
        self.assertTrue(self.silence(self.a), "the leader leads without agents")
        self.assertFalse(self.b.leads())
        self.ways[0].mend()
        self.until(lambda: self.connected(self.a, "n1"), "n1 is back")
        self.check_one_writer()

    def check_cut_off(self):
        """Another controller leads, and a does not know: it changes nothing, and says with each
        read that it can be out of date. Clients with both addresses use the other one."""
        self.assertFalse(self.silence(self.a, 30))
        for path, body in (("/v1/campaigns", {"spec": {}}), ("/v1/certificates", {"nodes": ["n1"]}),
                           ("/v1/schedules", {"schedule": {"id": "nightly", "cron": "0 3 * * *"}})):
            status, answer = self.a.call(path, body, 30)
            self.assertNotEqual(status, 200, f"{path}: {answer}")
        self.assertRegex(self.a.warning(), r"has not confirmed for \d+ s that this controller")
        with urllib.request.urlopen(self.a.health + "/readyz", timeout=60) as ready:
            self.assertIn(b"degraded: ", ready.read())
        for addresses, warned in ((self.a.grpc, True), (self.both, False)):
            done = subprocess.run([program("fabricctl"), "--controller", addresses, "nodes"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("can be out of date" in done.stderr, warned, done.stderr)

    def test_the_commands_of_the_manual(self):
        text = OPERATIONS.read_text().split("## Several controllers")[1]
        commands = re.findall(r"^    (fabricd --grpc=.*)$", text, re.MULTILINE)
        self.assertEqual(len(commands), 2)
        for one in (self.a, self.b):
            one.end()
        self.database.sql("DROP TABLE fabricd.test_writes CASCADE; DROP FUNCTION "
                          "fabricd.test_note CASCADE")
        started = []
        for number, command in enumerate(commands, 1):
            grpc, rest, health = free_ports(3)
            place = {f"--grpc=head{number}:9418": f"--grpc=127.0.0.1:{grpc}",
                     f"--rest=head{number}:9419": f"--rest=127.0.0.1:{rest}",
                     "--signing-key=/etc/fabricd/signing-key.pem":
                         f"--signing-key={self.folder}/signing-key.pem",
                     "--audit-log=/var/lib/fabricd/audit":
                         f"--audit-log={self.folder}/audit{number}",
                     "--state=postgresql://fabricd@db1,db2/fabricd?sslmode=verify-full":
                         f"--state={self.database.url()}"}
            words = shlex.split(command)
            self.assertEqual(set(words[1:]), set(place))
            one = Controller(self.folder, f"head{number}", "")
            one.rest = f"http://127.0.0.1:{rest}"
            one.arguments = [place[word] for word in words[1:]]
            one.arguments.append(f"--health=127.0.0.1:{health}")
            self.addCleanup(one.end)
            one.start()
            self.until(one.leads if number == 1 else lambda: one.call("/v1/version")[0] == 503,
                       command)
            started.append(one)
        started[0].signal(signal.SIGKILL)
        self.until(started[1].leads, "the second one takes over")

    def test_a_state_moves_to_a_file_and_back(self):
        self.assertTrue(self.silence(self.a))
        url = self.database.url()
        copy = [program("fabricd"), f"--state={self.folder}/copy.db", f"--copy-state-from={url}"]
        refused = subprocess.run(copy, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("stop all controllers", refused.stderr)
        for one in (self.a, self.b):
            one.signal(signal.SIGTERM)
            self.assertEqual(one.process.wait(20), 0, one.log.read_text())
        moved = subprocess.run(copy, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(moved.returncode, 0, moved.stderr)
        self.database.sql("DROP SCHEMA fabricd CASCADE")
        back = subprocess.run(
            [program("fabricd"), f"--state={url}", f"--copy-state-from={self.folder}/copy.db"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(back.returncode, 0, back.stderr)
        self.b.start()
        self.until(self.b.leads, "b leads")
        self.check_acknowledged(self.b)

    def test_a_dump_is_restored(self):
        self.assertTrue(self.silence(self.a))
        dump = self.database.home / "fabricd.dump"
        self.database.run(postgres.programs() / "pg_dump", "--schema=fabricd", "--format=custom",
                          f"--file={dump}", "-d", self.database.url())
        kept = set(self.acknowledged)
        self.assertTrue(self.silence(self.a))
        for one in (self.a, self.b):
            one.signal(signal.SIGTERM)
            one.process.wait(20)
        self.database.run(postgres.programs() / "pg_restore", "--clean", "--if-exists", "-d",
                          self.database.url(), dump)
        self.b.start()
        self.until(self.b.leads, "b leads")
        self.acknowledged = kept
        self.check_acknowledged(self.b)

    def test_random_faults(self):
        self.start_memory_agents()
        times = {}
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            fault = self.random_fault(seed)
            with self.subTest(seed=seed, fault=fault):
                self.check_after(fault, times)
                print(f"seed {seed}: {fault}: good", flush=True)
        for fault, all_ in sorted(times.items()):
            all_.sort()
            print(f"{fault}: {len(all_)} runs, changes work {all_[len(all_) // 2]:.1f} s after it "
                  f"ended (median), {all_[-1]:.1f} s (longest)", flush=True)
        self.check_ports()


if __name__ == "__main__":
    if postgres.programs() is None:
        print("SKIPPED: no PostgreSQL server in /usr/lib/postgresql (package postgresql)")
        sys.exit(77)
    ha_world.use_programs(sys.argv.pop(1))
    for option in ("--seeds", "--first-seed"):
        if option in sys.argv:
            at = sys.argv.index(option)
            value = int(sys.argv[at + 1])
            del sys.argv[at:at + 2]
            SEEDS, FIRST_SEED = (value, FIRST_SEED) if option == "--seeds" else (SEEDS, value)
    unittest.main(verbosity=2)
