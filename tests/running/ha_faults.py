# SPDX-License-Identifier: Apache-2.0
"""Random faults of two fabricd, their database and the ways of their agents, while campaigns probe.
The agents' RDMA devices are memory, so that probes run and take their time."""

import datetime
import random
import signal
import subprocess
import time

from ha_world import LEASE, HaWorld, program

FAULTS = ("kill", "freeze", "cut", "agents", "stop", "database", "promote")
NODES = ("n1", "n2", "n3", "n4")


class HaFaults(HaWorld):
    def setUp(self):
        super().setUp()
        self.campaigns = []  # Names of those that may run
        self.probes = {}  # {(node, device): [(begin, end, campaign)]}
        self.ended = {}  # {reason: number of campaigns}

    def start_memory_agents(self):
        log = open(self.folder / "agents.log", "wb")
        process = subprocess.Popen(
            [program("memory_agents"), ",".join(way.address for way in self.ways),
             str(len(NODES))], stdin=subprocess.PIPE, stdout=log, stderr=log)

        def end():
            process.kill()
            process.wait(20)
            process.stdin.close()
            log.close()

        self.addCleanup(end)
        self.until(lambda: all(self.connected(self.a, node) for node in NODES), "connected")

    def leader(self):
        return self.a if self.a.leads() else self.b

    def has_ended(self, campaign):
        status, answer = self.leader().call(f"/v1/campaigns/{campaign}")
        return status == 200 and answer["state"] != "CAMPAIGN_STATE_RUNNING"

    def random_fault(self, seed):
        random_ = random.Random(seed)
        leader = self.leader()
        fault = random_.choice(FAULTS)
        for _ in range(random_.randrange(5)):
            self.silence(leader)
        # Rounds of a second, which the fault interrupts
        status, campaign = leader.call("/v1/campaigns", {
            "spec": {"probes": [{"ud_ping": {"pings": 100, "interval_us": 10000}}]}})
        if status == 200:
            self.campaigns.append(campaign["id"])
        time.sleep(random_.random() / 2)
        pause = random_.random() * 2 * LEASE
        if fault == "kill":
            leader.signal(signal.SIGKILL)
            time.sleep(random_.random() * 4)
            leader.start()
        elif fault == "freeze":
            leader.signal(signal.SIGSTOP)
            time.sleep(pause)
            leader.signal(signal.SIGCONT)
        elif fault == "cut":
            self.proxy.cut()
            time.sleep(pause)
            # The lease has ended after this time, whenever it was renewed last.
            self.until(lambda: self.a.warning() != "", "a cut-off leader warns", LEASE)
            self.silence(self.a, 1)
            self.proxy.mend()
        elif fault == "agents":
            way = self.ways[0 if leader is self.a else 1]
            way.cut()
            time.sleep(pause)
            way.mend()
        elif fault == "stop":
            leader.signal(signal.SIGTERM)
            leader.process.wait(20)
            leader.start()
        elif fault == "promote":
            self.pair.fail_over(random_.random() * LEASE)
        else:
            self.database.stop(random_.choice([signal.SIGQUIT, signal.SIGINT]))
            self.silence(leader, 1)
            time.sleep(pause)
            self.database.start()
        return fault

    def check_after(self, fault, times):
        times.setdefault(fault, []).append(self.until(
            lambda: any(self.silence(one, 3) for one in (self.a, self.b)),
            f"one leads after {fault}"))
        # An earlier leader answers reads from memory until it learns that it is one.
        self.until(lambda: self.a.leads() != self.b.leads(), "exactly one leads")
        self.check_acknowledged(self.leader())
        if fault == "promote":
            self.pair.restore()
        self.check_one_writer()
        # Another one can still take the lease meanwhile.
        for node in NODES:
            self.until(lambda at=node: self.connected(self.leader(), at), f"{node} is back")
        while self.campaigns:
            name = self.campaigns.pop()
            self.until(lambda at=name: self.has_ended(at), f"campaign {name} has ended")
            self.note_probes(name, self.check_campaign(self.leader(), name))

    def note_probes(self, name, campaign):
        reason = campaign.get("end_reason", "")
        self.ended[reason] = self.ended.get(reason, 0) + 1
        for result in campaign.get("results", []):
            begin, end = (datetime.datetime.fromisoformat(result[at].replace("Z", "+00:00"))
                          for at in ("started_at", "ended_at"))
            for port in (result["from"], result["to"]):
                self.probes.setdefault((port["node"], port["device"]), []).append(
                    (begin, end, name))

    def check_ports(self):
        """No port had probes of two campaigns at a time."""
        self.assertEqual({node for node, _ in self.probes}, set(NODES))
        for port, spans in self.probes.items():
            spans.sort()
            for before, after in zip(spans, spans[1:]):
                if before[2] != after[2]:
                    self.assertLessEqual(before[1], after[0], f"{port}: {before} and {after}")
        print(f"{sum(map(len, self.probes.values())) // 2} probes on {len(self.probes)} ports; "
              f"ends of campaigns: {self.ended}", flush=True)
