#!/usr/bin/python3
"""Conditions, events, labels and taints of Kubernetes nodes from what fabricd knows.

docs/KUBERNETES.md describes the set-up and the limits. State is in the nodes only. Python 3.9 or
newer, without other packages.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import sys
import time
import urllib.parse

import fabric_approval
import fabric_judge as judge
import fabric_taint as taint
from fabric_api import Failure, Unreachable, connect, fabricd_options, log, now

NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"  # The namespace of events about nodes
STATE = "fabricd.io/findings"  # Annotation: findings whose event is written, events in the hour
FINDING_FIELDS = ("id,rule,verdict,severity,subject,title,state,opened_at,silenced,expired_reason,"
                  "affected,affected_total,common_cause")
TRACKED_MAX = 32  # findings of a node with events
FAILURES_MAX = 5  # in succession: the API server does not answer, or wants fewer requests
STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"


def when(text):
    """A time of Kubernetes. The year 1970 if it is absent or invalid."""
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").timestamp()
    except (TypeError, ValueError):
        return 0


def state_of(node):
    """{"open": {id: [rule, opened_at]}, "hour", "events"}. Empty if another program changed it."""
    try:
        state = json.loads(taint.annotation(node, STATE))
        return {"open": {str(key): [str(value[0]), str(value[1])]
                         for key, value in list(state["open"].items())[:TRACKED_MAX]},
                "hour": str(state["hour"]), "events": int(state["events"])}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return {"open": {}, "hour": "", "events": 0}


class Nodes:
    """Writes what fabricd knows to the nodes of Kubernetes."""

    def __init__(self, kubernetes, fabricd, options):
        self.kubernetes, self.fabricd, self.options = kubernetes, fabricd, options
        self.read_at = time.monotonic()  # Last complete answer of fabricd
        self.approval = None  # Of this turn
        self.lines = set()  # Error lines of the last turn: each is logged once

    def turn(self):
        """Looks at all nodes once. Failure: Kubernetes cannot be read."""
        nodes = {node["metadata"]["name"]: node for node in self.read_nodes()}
        try:
            known, findings, ports = self.read_fabricd()
            self.approval = fabric_approval.Approval(self.fabricd, self.options.approval,
                                                     self.options.dry_run)
            self.approval.read()
            self.read_at = time.monotonic()
        except (Failure, KeyError, TypeError, AttributeError) as failure:
            log(f"fabricd: {failure!r}" if not isinstance(failure, Failure) else str(failure))
            if time.monotonic() - self.read_at >= self.options.unknown_after:
                self.each(nodes, self.unreachable)
            return
        pairs, lines = judge.match_names(list(nodes), known)
        for line in set(lines) - self.lines:
            log(line)
        self.lines = set(lines)
        of_node, cut = judge.by_node(findings)
        moment = datetime.datetime.now(datetime.timezone.utc)
        budget = taint.Budget(nodes.values(), len(pairs), self.options.taint_nodes,
                              self.options.taints_per_hour, moment)

        def look(name, node):
            if name not in pairs:
                self.forget(name, node)
                return
            key = pairs[name]
            self.look(name, node, known[key], of_node.get(key, []), ports.get(key, []), cut, budget)

        self.each(nodes, look)

    def each(self, nodes, act):
        """A node that fails does not stop the others."""
        failures = 0
        for name, node in nodes.items():
            try:
                act(name, node)
                failures = 0
            except Failure as failure:  # Deleted, changed by another program, or busy: next turn
                log(f"node {name}: {failure}")
                failures += isinstance(failure, Unreachable) and failure.code in (None, 429)
                if failures >= FAILURES_MAX:
                    raise
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                log(f"node {name}: unexpected data: {error!r}")

    def read_nodes(self):
        pages = self.kubernetes.pages(
            NODES, ("limit", 500),
            ("continue", lambda answer: answer.get("metadata", {}).get("continue")))
        nodes = []
        for page in pages:
            for node in page["items"]:  # Without the long lists of images and managed fields
                node.get("status", {}).pop("images", None)
                node["metadata"].pop("managedFields", None)
                nodes.append(node)
        return nodes

    def read_fabricd(self):
        """({name: node}, findings, {node: ports})"""
        def listed(path, what, *query):
            pages = self.fabricd.pages(
                path, ("page_size", 500),
                ("page_token", lambda answer: answer.get("next_page_token")), query)
            return [one for page in pages for one in page[what]]

        known = {one["name"]: one for one in listed("/v1/nodes", "nodes")
                 if one.get("state") in ("NODE_STATE_CONNECTED", "NODE_STATE_LOST")}
        findings = listed("/v1/findings", "findings", ("min_severity", "error"),
                          ("fields", FINDING_FIELDS))
        ports = {}
        for port in listed("/v1/devices", "devices", ("fields", "node,rail,leaf")):
            ports.setdefault(port["node"], []).append(port)
        return known, findings, ports

    def look(self, name, node, known, findings, ports, cut, budget):
        """Conditions also if the taint is refused, labels also if an event is."""
        failures = []

        def step(act, *given):
            try:
                return act(name, node, *given)
            except Unreachable:
                raise
            except Failure as failure:
                failures.append(failure)
                return ""

        wanted = judge.judge(known, findings, cut)
        annotations, labels = {}, {}
        if taint.annotation(node, taint.SET_AT) and not taint.has_own(node) \
                and not taint.within_hour(node, datetime.datetime.now(datetime.timezone.utc)):
            annotations[taint.SET_AT] = None
        refused = step(self.taint, known["name"], wanted[judge.DEGRADED], annotations, budget)
        if refused:
            status, reason, message = wanted[judge.DEGRADED]
            wanted[judge.DEGRADED] = (status, reason, f"{message}; no taint: {refused}")
        step(self.conditions, wanted)
        if known["state"] != "NODE_STATE_LOST":  # Labels and findings of a lost node stay.
            step(self.events, findings, annotations)
            found, lines = judge.labels(ports)
            for line in lines:
                log(f"node {name}: {line}")
            labels = judge.label_changes(node["metadata"].get("labels") or {}, found)
        step(self.metadata, labels, annotations)
        if failures:
            raise failures[0]

    def metadata(self, name, _, labels, annotations):
        changes = {key: value for key, value in (("labels", labels), ("annotations", annotations))
                   if value}
        if changes:
            self.write("PATCH", self.path(name), {"metadata": changes}, MERGE)

    def forget(self, name, node):
        """Removes what this program wrote to a node that fabricd does not know, not a taint."""
        have = [one["type"] for one in node.get("status", {}).get("conditions") or []]
        gone = [{"type": one, "$patch": "delete"} for one in judge.CONDITIONS if one in have]
        if gone:
            self.write("PATCH", self.path(name) + "/status", {"status": {"conditions": gone}},
                       STRATEGIC)
        labels = judge.label_changes(node["metadata"].get("labels") or {}, {})
        self.metadata(name, node, labels, {STATE: None} if taint.annotation(node, STATE) else {})

    def unreachable(self, name, node):
        have = {one["type"] for one in node.get("status", {}).get("conditions") or []}
        text = f"fabricd has not answered for {self.options.unknown_after} s"
        self.conditions(name, node, {one: ("Unknown", "FabricdUnreachable", text)
                                     for one in judge.CONDITIONS if one in have})

    def conditions(self, name, node, wanted):
        """Writes conditions that changed, or whose heartbeat is old."""
        have = {one["type"]: one for one in node.get("status", {}).get("conditions") or []}
        moment, patch = now(), []
        for kind, (status, reason, message) in wanted.items():
            old = have.get(kind, {})
            message = message[:judge.MESSAGE_MAX]
            same = (old.get("status"), old.get("reason"), old.get("message")) == (
                status, reason, message)
            age = when(moment) - when(old.get("lastHeartbeatTime"))
            if same and 0 <= age < self.options.heartbeat:
                continue
            since = old.get("lastTransitionTime") if old.get("status") == status else None
            patch.append({"type": kind, "status": status, "reason": reason, "message": message,
                          "lastTransitionTime": since or moment, "lastHeartbeatTime": moment})
        if patch:
            self.write("PATCH", self.path(name) + "/status", {"status": {"conditions": patch}},
                       STRATEGIC)

    def events(self, name, node, findings, annotations):
        """Events of findings that opened or resolved since the last turn."""
        state = state_of(node)
        before, state["open"] = state["open"], dict(state["open"])
        open_now = {one["id"]: one for one in findings if not one.get("silenced")}
        silenced = {one["id"] for one in findings if one.get("silenced")}
        hour = now()[:13]
        if state["hour"] != hour and (set(before) ^ set(open_now)):
            state.update(hour=hour, events=0)
        for key, (rule, opened) in before.items():
            if key in open_now:
                continue
            act = "Silenced" if key in silenced else "Resolved"
            self.event(name, node, state, (key, opened, act), "Normal", f"FabricFinding{act}",
                       f"{rule}: {act.lower()}")
            del state["open"][key]
        for one in sorted(open_now.values(), key=judge.order):
            if one["id"] in before or len(state["open"]) >= TRACKED_MAX:
                continue
            opened = one.get("opened_at", "")
            self.event(name, node, state, (one["id"], opened, "Opened"), "Warning",
                       "FabricFindingOpened", f"{one['rule']}: {judge.titles([one])}")
            state["open"][one["id"]] = [one["rule"], opened]
        if state["open"] != before:
            annotations[STATE] = json.dumps(state, sort_keys=True)

    def event(self, name, node, state, identity, kind, reason, message):
        """One event within the budget of the hour."""
        if state["events"] >= self.options.events_per_hour:
            log(f"node {name}: no event: {self.options.events_per_hour} in this hour: {message}")
            return
        self.write_event(name, node, identity, kind, reason, message)
        state["events"] += 1

    def write_event(self, name, node, identity, kind, reason, message):
        """The name follows from the act: a second write of the same act is a conflict."""
        digest = hashlib.sha256("\0".join((name, *identity)).encode()).hexdigest()[:20]
        moment = now()
        body = {"apiVersion": "v1", "kind": "Event",
                "metadata": {"name": f"fabric-nodes.{digest}", "namespace": "default"},
                "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name,
                                   "uid": node["metadata"].get("uid", "")},
                "type": kind, "reason": reason, "message": message[:judge.MESSAGE_MAX],
                "source": {"component": "fabric-nodes"}, "count": 1,
                "firstTimestamp": moment, "lastTimestamp": moment}
        try:
            self.write("POST", EVENTS, body, "application/json")
        except Failure as failure:
            if failure.code != 409:
                raise

    def untaint(self, name, node, key, mark, why, annotations):
        left = [one for one in taint.taints_of(node) if taint.text_of(one) != mark]
        if len(left) < len(taint.taints_of(node)):
            log(f"node {name}: removes the taint {mark}")
            self.write_taints(name, node, left, {taint.MARK: None})
            self.write_event(name, node, (mark, now(), "Untainted"), "Normal",
                             "FabricTaintRemoved", f"removed the taint {mark}: {why}")
        else:  # An administrator removed it.
            annotations[taint.MARK] = None
        self.approval.report(key, "REVERTED", why)

    def taint(self, name, node, key, degraded, annotations, budget):
        """Sets or removes the taint. Returns why it may not be set. key: the node of fabricd."""
        status, _, message = degraded
        mark, wanted, moment = taint.annotation(node, taint.MARK), self.options.taint, now()
        if mark:
            if self.approval.state(key) == "REVERTING":
                self.untaint(name, node, key, mark, "a person reverted it", annotations)
            elif status == "False":
                self.untaint(name, node, key, mark, "no finding", annotations)
            elif self.approval.state(key) == "APPROVED":  # The report was lost.
                self.approval.report(key, "APPLIED")
            return ""
        if self.approval.state(key) in ("APPLIED", "REVERTING"):
            self.approval.report(key, "REVERTED", "the node no longer has a taint of fabricd")
        taints = taint.taints_of(node)
        if wanted is None or status != "True" or any(
                (one["key"], one["effect"]) == (wanted["key"], wanted["effect"])
                for one in taints):
            return ""
        refused = budget.refusal() or self.approval.refusal(key, message)
        if not refused:
            text = taint.text_of(wanted)
            log(f"node {name}: sets the taint {text}: {message}")
            budget.take()  # Also if the answer is lost: the taint can be set.
            self.write_taints(name, node, [*taints, wanted], {taint.MARK: text,
                                                              taint.SET_AT: moment})
            self.approval.report(key, "APPLIED")
            self.write_event(name, node, (text, moment, "Tainted"), "Warning",
                             "FabricTaintSet", f"set the taint {text}: {message}")
        return refused

    def write_taints(self, name, node, taints, annotations):
        """All taints are one list: the version refuses the write if another program changed it."""
        self.write("PATCH", self.path(name),
                   {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"],
                                 "annotations": annotations}, "spec": {"taints": taints}}, MERGE)

    @staticmethod
    def path(name):
        return f"{NODES}/{urllib.parse.quote(name, safe='')}"

    def write(self, verb, path, body, kind):
        if self.options.dry_run:
            log(f"dry run: {verb} {path} {json.dumps(body)}"[:2000])
            return
        self.kubernetes.call(verb, f"{path}?fieldManager=fabric-nodes", body, kind)


def positive(text):
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1000000, saw '{text}'")
    return int(text)


def parse(words):
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    fabricd_options(options, "viewer")
    options.add_argument("--token-file", type=pathlib.Path, metavar="FILE",
                         help="file with a token of fabricd, role viewer, for --tls-cert")
    for name, default, text in (
            ("--interval", 30, "seconds between two looks at all nodes"),
            ("--heartbeat", 300, "seconds after which an unchanged condition is written again"),
            ("--unknown-after", 300, "seconds without fabricd until conditions are Unknown"),
            ("--events-per-hour", 20, "events of findings, each node"),
            ("--taints-per-hour", 2, "taints, all nodes")):
        options.add_argument(name, type=positive, default=default, metavar="N",
                             help=f"{text}; default: %(default)s")
    options.add_argument("--taint", type=taint.parse_taint, metavar="KEY=VALUE:EFFECT",
                         help="taint of nodes with RDMAFabricDegraded; default: none")
    options.add_argument("--taint-nodes", type=taint.parse_share, default="5%", metavar="N|N%",
                         help="nodes with this taint at a time, of those that fabricd knows; "
                              "default: 5%%")
    options.add_argument("--approval", action="store_true",
                         help="propose each taint to fabricd, and set it when it is approved there "
                              "(fabricctl remedy); needs the role operator")
    options.add_argument("--dry-run", action="store_true", help="only log what would be written")
    options.add_argument("--once", action="store_true", help="look at all nodes once")
    return options.parse_args(words)


def main(words):
    options = parse(words)
    try:
        nodes = Nodes(*connect(options, options.token_file), options)
    except (OSError, ValueError) as error:  # No certificate, or not a valid one
        log(f"TLS files: {error}")
        return 1
    while True:
        try:
            nodes.turn()
        except (Failure, KeyError, TypeError, AttributeError) as failure:  # Kubernetes: try again.
            log(f"kubernetes: {failure}")
            if options.once:
                return 1
        if options.once:
            return 0
        time.sleep(options.interval)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
