#!/usr/bin/python3
"""Drains Slurm nodes that fabricd's verdicts fail, and resumes them after a certificate.

docs/SLURM.md describes the commands, the settings and the limits. Without `act: yes` every command
only logs what it would do.
"""

import base64
import fcntl
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import syslog
import time

import slurm_partners
from slurm_actions import Actions
from slurm_failure import Failure
from slurm_settings import SETTINGS, read_settings
from slurm_topology import slurm_topology

PREFIX = "fabricd: "  # Of the reasons that this program sets. It changes no node with another one.
HOUR_S = 3600
REASON_MAX = 200
AUDIT_READ_MAX = 1 << 20  # Bytes of the audit file that are read: its end
FILE_MAX = 64 << 20
UNAVAILABLE = ("drain", "down", "fail", "error", "maint", "reboot", "unknown")


def log(text):
    syslog.syslog(text)
    print(f"fabric-slurm: {text}", file=sys.stderr)


class Node:
    """A node as slurmctld shows it."""

    def __init__(self, name, state, user, since, reason):
        self.name, self.state, self.user, self.reason = name, state, user, reason
        self.since = since  # Seconds since 1970 when the reason was set; None if unknown
        self.partitions = set()

    def available(self):
        return not self.state.startswith(UNAVAILABLE)

    def ours(self):
        return self.state.startswith("drain") and self.reason.startswith(PREFIX)


def parse_nodes(text):
    """Parses `sinfo -N -o '%N|%R|%T|%u|%H|%E'`: a line for each node and partition."""
    nodes = {}
    for line in text.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6:
            raise Failure(f"sinfo: expected six fields, saw '{line}'")
        name, partition, state, user, since, reason = fields
        try:
            seconds = time.mktime(time.strptime(since, "%Y-%m-%dT%H:%M:%S"))
        except ValueError:
            seconds = None
        nodes.setdefault(name, Node(name, state.strip(), user.strip(), seconds, reason.strip()))
        nodes[name].partitions.add(partition)
    return nodes


def excess(nodes, settings, drained_before, now):
    """The nodes drained by this program that are over a limit, the last ones first refused.

    `drained_before` counts drains of the last hour that are not in `nodes` any more.
    """
    size, taken = {}, {}
    for node in nodes.values():
        for partition in node.partitions:
            size[partition] = size.get(partition, 0) + 1
            taken[partition] = taken.get(partition, 0) + (not node.available() and not node.ours())
    over, recent = {}, drained_before
    ours = [node for node in nodes.values() if node.ours()]
    for node in sorted(ours, key=lambda node: (node.since or 0, node.name)):
        new = now - (node.since or 0) < HOUR_S
        share = settings["partition-share-percent"]
        full = [partition for partition in sorted(node.partitions)
                if taken[partition] + 1 > math.floor(size[partition] * share / 100)]
        if new and recent + 1 > settings["drains-per-hour"]:
            over[node.name] = f"drains-per-hour is {settings['drains-per-hour']}"
        elif full:
            over[node.name] = (f"partition {full[0]}: {taken[full[0]]} of {size[full[0]]} nodes "
                               f"are unavailable, partition-share-percent is {share}")
        else:
            recent += new
            for partition in node.partitions:
                taken[partition] += 1
    return over


class Scheduler:
    """slurmctld through its commands, with the audit file and the lock of this machine."""

    def __init__(self, settings):
        self.settings = settings
        self.folder = pathlib.Path(settings["state-dir"])
        self.folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        self.audit_file = self.folder / "audit.jsonl"
        if settings["slurm-conf"]:  # slurmctld does not pass it to its programs.
            os.environ["SLURM_CONF"] = settings["slurm-conf"]
        self.lock = open(self.folder / "lock", "w", encoding="utf-8")
        self.actions = Actions(self.fabricctl, log, settings["approval"] == "yes")

    def command(self, name, *words, timeout=30, text=None):
        """Runs a program. Returns its exit status, standard output and standard error."""
        try:
            done = subprocess.run([f"{self.settings['bin']}/{name}", *words], input=text, text=True,
                                  stdin=subprocess.DEVNULL if text is None else None,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=timeout, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failure(f"{name}: {error}") from error
        return done.returncode, done.stdout, done.stderr.strip()

    def nodes(self):
        status, text, error = self.command("sinfo", "-h", "-a", "-N", "-o", "%N|%R|%T|%u|%H|%E")
        if status:
            raise Failure(f"sinfo: exit status {status}: {error}")
        return parse_nodes(text)

    def update(self, node, *words):
        status, _, error = self.command("scontrol", "update", f"nodename={node}", *words)
        if status:
            raise Failure(f"scontrol update {node}: exit status {status}: {error}")

    def audit(self, act, node, why, **more):
        """Writes a line to the disk. Without it nothing is done."""
        if self.audit_file.exists() and self.audit_file.stat().st_size > FILE_MAX:
            raise Failure(f"{self.audit_file}: larger than {FILE_MAX} bytes, rotate it")
        line = json.dumps({"at": time.time(), "act": act, "node": node, "why": why, **more})
        with open(self.audit_file, "a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        log(f"{act} {node}: {why}")

    def audited(self, act):
        """Nodes of the acts of the last hour."""
        if not self.audit_file.exists():
            return []
        with open(self.audit_file, "rb") as file:
            file.seek(max(0, self.audit_file.stat().st_size - AUDIT_READ_MAX))
            lines = file.read().decode(errors="replace").splitlines()
        entries = []
        for line in lines:
            try:
                entries.append(json.loads(line))
            except ValueError:
                continue  # The first line can be cut, and the last after a crash.
        return [entry["node"] for entry in entries
                if entry["act"] == act and time.time() - entry["at"] < HOUR_S]

    def over(self, nodes):
        gone = [name for name in self.audited("drain") if name in nodes and not nodes[name].ours()]
        return excess(nodes, self.settings, len(gone), time.time())

    def drain(self, failed, evidence):
        """Drains the nodes of {name: why} within the limits. Returns those that are drained."""
        drained = []
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for name, why in sorted(failed.items()):
            nodes = self.nodes()
            node = nodes.get(name)
            if node is None or node.state.startswith("drain"):
                log(f"{name}: {'unknown to slurmctld' if node is None else 'is drained already'}")
                continue
            reason = PREFIX + re.sub(r"[^ -{}~]", " ", why)[:REASON_MAX] + f" [{evidence}]"
            partitions = node.partitions
            nodes[name] = Node(name, "drained", "", time.time(), reason)
            nodes[name].partitions = partitions
            refused = self.over(nodes).get(name)
            if refused:
                log(f"not drained {name}: {why}: {refused}")
            elif self.settings["act"] == "no":
                log(f"would drain {name}: {reason}")
            elif self.actions.approved(name, why, str(evidence)):
                self.audit("drain", name, why, evidence=str(evidence))
                self.update(name, "state=drain", f"reason={reason}")
                self.actions.report(name, "applied")
                drained.append(name)
        # Other machines can have drained nodes at the same time: the last ones are resumed.
        over = self.over(self.nodes()) if drained else {}
        for name in [name for name in drained if name in over]:
            self.revert(name, over[name])
            drained.remove(name)
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        return drained

    def revert(self, name, why):
        self.audit("revert", name, why)
        self.update(name, "state=resume")
        self.actions.report(name, "reverted", why)

    def fabricctl(self, *words):
        """Runs fabricctl with the controller of the settings."""
        return self.command("fabricctl", *words, *self.connection())

    def connection(self):
        """Options of fabricctl for the controller."""
        return [word for name in ("controller", "tls-ca", "tls-cert", "tls-key")
                if self.settings[name] for word in (f"--{name}", self.settings[name])]

    def verify(self, path, nodes, expected):
        """With a key: the certificate is signed, valid, of these nodes, and has this verdict."""
        if not self.settings["certificate-key"]:
            return
        status, _, error = self.command("fabricctl", "certify", "verify", str(path), "--key",
                                        self.settings["certificate-key"], "--nodes", nodes)
        if status != expected:
            raise Failure(f"certificate: expected exit status {expected}, saw {status}: {error}")

    def certify(self, nodes, job):
        """Returns the exit status of fabricctl certify, the file, and the certificate or None."""
        path = self.folder / f"certificate-{job}-{time.time_ns()}.json"
        within = self.settings["certify-within"]
        status, _, error = self.command(
            "fabricctl", "certify", "--nodes", nodes, "--job", str(job), "--within", within,
            "--out", str(path), *self.connection(), timeout=int(within[:-1]) + 30)
        if status not in (0, 1, 6) or not path.exists():
            raise Failure(f"job {job}: no certificate: exit status {status}: {error}")
        self.verify(path, nodes, status)
        payload = json.loads(path.read_text())["payload"]
        return status, path, json.loads(base64.urlsafe_b64decode(payload + "=="))


def failed_nodes(certificate):
    return {node["name"]: "; ".join(node.get("reasons", []))
            for node in certificate["nodes"] if node["verdict"] == "VERDICT_FAIL"}


def prolog(scheduler):
    """PrologSlurmctld. Status 1 returns the job to the queue: only if a node was drained."""
    job, nodes = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_JOB_NODELIST")
    if not job or not nodes or not job.isdigit():
        raise Failure("expected SLURM_JOB_ID and SLURM_JOB_NODELIST of slurmctld")
    status, path, certificate = scheduler.certify(nodes, job)
    if status == 0:
        path.unlink()
        return 0
    if status == 6:
        log(f"job {job}: fabric not certified: {path}")
        return 0
    failed = failed_nodes(certificate)
    if not failed:
        log(f"job {job}: failed, but no node is named: {path}")
    return 1 if scheduler.drain(failed, path) else 0


def check(scheduler):
    """HealthCheckProgram and Epilog, on the node: the rules on this machine, without fabricd."""
    name = os.environ.get("SLURMD_NODENAME")
    if not name:
        raise Failure("expected SLURMD_NODENAME of slurmd")
    status, snapshot, error = scheduler.command("fabric-agent", "inspect", "-o", "json")
    if status:
        raise Failure(f"fabric-agent inspect: exit status {status}: {error}")
    profile = scheduler.settings["profile"]
    _, text, error = scheduler.command("fabricctl", "check", "-", "-o", "json",
                                       *(["--profile", profile] if profile else []), text=snapshot)
    try:
        findings = json.loads(text)["findings"]
    except (ValueError, KeyError) as wrong:
        raise Failure(f"fabricctl check: no findings: {error}") from wrong
    failed = [finding for finding in findings if finding["verdict"] == "VERDICT_FAIL"
              and finding["severity"] in ("SEVERITY_ERROR", "SEVERITY_CRITICAL")]
    if failed:
        path = scheduler.folder / "check.json"
        path.write_text(text)
        why = "; ".join(f"{finding['rule']}: {finding['title']}" for finding in failed[:3])
        scheduler.drain({name: why}, path)
    return 0


def candidates(scheduler, nodes):
    users = scheduler.settings["slurm-users"].split(",")
    return [node for node in nodes.values() if node.ours() and node.state == "drained"
            and node.user in users and node.since is not None]


def resume(scheduler):
    """Resumes nodes that this program drained and that a new certificate passes."""
    nodes = scheduler.nodes()
    left = scheduler.settings["resumes-per-hour"] - len(scheduler.audited("resume"))
    wanted = sorted(candidates(scheduler, nodes), key=lambda node: node.since)[:max(0, left)]
    if not wanted:
        log(f"no node to resume: {left} of resumes-per-hour are left")
        return 0
    partitions = set.union(*(node.partitions for node in wanted))
    names = [node.name for node in wanted]
    if count := scheduler.settings["partners"]:
        idle = [name for name, node in nodes.items()
                if node.state == "idle" and node.partitions & partitions]
        names += slurm_partners.pick(names, idle, slurm_partners.connected(scheduler.fabricctl),
                                     count)
        if len(names) == 1:
            log(f"not resumed {names[0]}: no idle node of its partitions is connected to fabricd")
            return 0
    _, path, certificate = scheduler.certify(",".join(names), 0)
    verdicts = {node["name"]: node["verdict"] for node in certificate["nodes"]}
    fcntl.flock(scheduler.lock, fcntl.LOCK_EX)
    now = {node.name: node for node in candidates(scheduler, scheduler.nodes())}
    for node in wanted:
        verdict = verdicts.get(node.name, "VERDICT_UNKNOWN")
        if node.name not in now or now[node.name].reason != node.reason:
            log(f"not resumed {node.name}: its reason has changed")
        elif verdict != "VERDICT_PASS":
            log(f"not resumed {node.name}: {verdict}: {path}")
        elif scheduler.settings["act"] == "no":
            log(f"would resume {node.name}: {path}")
        else:
            scheduler.audit("resume", node.name, f"certificate {certificate['id']} passes",
                            evidence=str(path), reason=node.reason)
            scheduler.update(node.name, "state=resume")
            scheduler.actions.report(node.name, "reverted", f"certificate {certificate['id']}")
    return 0


def actions(scheduler):
    """Drains nodes whose actions are approved now, and resumes those that a person reverted."""
    nodes = scheduler.nodes()
    for action in scheduler.actions.read():
        name, state = action["node"], action["state"].removeprefix("NODE_ACTION_STATE_")
        ours = name in nodes and nodes[name].ours()
        if state == "APPROVED":
            scheduler.drain({name: action["reason"]}, action.get("evidence") or action["id"])
        elif state == "REVERTING" and ours and scheduler.settings["act"] == "no":
            log(f"would resume {name}: action {action['id']} is reverted")
        elif state == "REVERTING" and ours:
            fcntl.flock(scheduler.lock, fcntl.LOCK_EX)
            scheduler.revert(name, f"action {action['id']} is reverted")
            fcntl.flock(scheduler.lock, fcntl.LOCK_UN)
        elif state in ("REVERTING", "APPLIED") and not ours:
            scheduler.actions.report(name, "reverted", "the node no longer has a drain of fabricd")
    return 0


def show(scheduler):
    """Prints the nodes that this program drained."""
    for name, node in sorted(scheduler.nodes().items()):
        if node.ours():
            print(f"{name} {node.state} {node.reason}")
    return 0


def topology(scheduler):
    """Prints topology.conf from the leaf switches that fabricd knows by LLDP or InfiniBand."""
    status, text, error = scheduler.command("fabricctl", "devices", "-o", "json",
                                            *scheduler.connection())
    if status:
        raise Failure(f"fabricctl devices: exit status {status}: {error}")
    made, without = slurm_topology(json.loads(text).get("devices", []))
    if not made:
        raise Failure("no leaf switch is known: expected LLDP or a topology file")
    for name in without:
        log(f"{name}: its leaf switch is not known; left out")
    print(made, end="")
    return 0


COMMANDS = {"prolog": prolog, "check": check, "resume": resume, "actions": actions, "list": show,
            "topology": topology}


def main(words):
    if len(words) != 1 or words[0] not in COMMANDS:
        print(f"fabric_slurm.py: expected one of {', '.join(COMMANDS)}, saw "
              f"'{' '.join(words)}'", file=sys.stderr)
        return 2
    syslog.openlog("fabric-slurm", syslog.LOG_PID, syslog.LOG_DAEMON)
    try:
        path = pathlib.Path(os.environ.get("FABRIC_SLURM_SETTINGS", SETTINGS))
        return COMMANDS[words[0]](Scheduler(read_settings(path)))
    except (Failure, OSError, ValueError, KeyError) as error:
        log(f"{words[0]}: {error}")
        # A defect of this program stops no job.
        return 1 if words[0] in ("resume", "actions", "list", "topology") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
