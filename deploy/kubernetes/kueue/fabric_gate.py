#!/usr/bin/python3
"""Admission check of Kueue: a workload starts when a certificate of fabricd passes for its nodes.

docs/KUBERNETES.md describes the set-up and the limits. State is in the workloads only: a restart
starts new certificates. Python 3.9 or newer, without other packages.
"""

import argparse
import sys
import time
import urllib.parse

from fabric_api import Failure, Unreachable, connect, fabricd_options, log, now

CONTROLLER = "fabricd.io/certificate"  # spec.controllerName of the AdmissionCheck
KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
HOSTNAME = "kubernetes.io/hostname"
MESSAGE_MAX = 1024
PASS, FAIL = "VERDICT_PASS", "VERDICT_FAIL"


def condition(item, name):
    return any(one["type"] == name and one["status"] == "True"
               for one in item.get("status", {}).get("conditions", []))


def nodes_of(workload):
    """The nodes that Kueue has chosen. Failure if it chose only a part of the fabric."""
    nodes = set()
    for part in workload["status"].get("admission", {}).get("podSetAssignments", []):
        chosen = part.get("topologyAssignment")
        if not chosen or chosen["levels"][-1] != HOSTNAME:
            raise Failure(f"pod set {part.get('name')}: Kueue chose no nodes; use a topology with "
                          f"the level {HOSTNAME}")
        nodes.update(domain["values"][-1] for domain in chosen["domains"])
    if not nodes:
        raise Failure("Kueue chose no nodes")
    return sorted(nodes)


def summary(certificate):
    """One line: the verdict, and the nodes that do not pass with their first reason."""
    bad = [f"{node['name']}: {'; '.join(node.get('reasons', [])[:1]) or node['verdict']}"
           for node in certificate.get("nodes", []) if node["verdict"] != PASS]
    words = certificate["verdict"].removeprefix("VERDICT_")
    text = f"certificate {certificate['id']}: {words}" + "".join(f"; {one}" for one in bad)
    return text[:MESSAGE_MAX]


class Gate:
    """Sets the state of the checks of this controller."""

    def __init__(self, kubernetes, fabricd, within_seconds=30, on_unknown="Ready"):
        self.kubernetes, self.fabricd = kubernetes, fabricd
        self.within_seconds, self.on_unknown = within_seconds, on_unknown
        self.patience_seconds = 30  # For a restart of fabricd
        self.running = {}  # (uid, nodes) -> (id of the certificate or None, deadline)

    def turn(self):
        """Looks at all workloads once."""
        checks = self.checks()
        waiting = []
        for workload in self.kubernetes.call("GET", f"{KUEUE}/workloads")["items"]:
            for check in workload.get("status", {}).get("admissionChecks", []):
                if (check["name"] in checks and check["state"] == "Pending"
                        and condition(workload, "QuotaReserved")):
                    waiting.append((workload, check["name"]))
        keys = set()
        for workload, check in waiting:
            name = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
            try:
                keys.add(self.look(workload, check))
            except Failure as failure:  # Of one workload: the others go on.
                log(f"{name}: {failure}")
        self.running = {key: value for key, value in self.running.items() if key in keys}

    def checks(self):
        """Names of the checks of this controller. Kueue waits until they are active."""
        names = set()
        for check in self.kubernetes.call("GET", f"{KUEUE}/admissionchecks")["items"]:
            if check["spec"].get("controllerName") != CONTROLLER:
                continue
            name = check["metadata"]["name"]
            names.add(name)
            if not condition(check, "Active"):
                self.kubernetes.call(
                    "PATCH", f"{KUEUE}/admissionchecks/{name}/status",
                    {"status": {"conditions": [
                        {"type": "Active", "status": "True", "reason": "Active",
                         "message": "fabric-gate is running", "lastTransitionTime": now()}]}},
                    "application/merge-patch+json")
        return names

    def look(self, workload, check):
        """Starts or reads the certificate of a workload. Returns its key."""
        key = None
        try:
            nodes = nodes_of(workload)
            key = (workload["metadata"]["uid"], tuple(nodes))
            certificate = self.certificate(key, nodes, workload["metadata"]["name"])
        except Failure as failure:
            self.decide(workload, check, self.on_unknown, f"not certified: {failure}")
            return key
        if certificate is not None:
            verdict = certificate["verdict"]
            state = {PASS: "Ready", FAIL: "Retry"}.get(verdict, self.on_unknown)
            self.decide(workload, check, state, summary(certificate))
        return key

    def certificate(self, key, nodes, job):
        """The certificate, or None while it is being made, or while fabricd does not answer."""
        name, deadline = self.running.setdefault(
            key, (None, time.monotonic() + self.within_seconds + self.patience_seconds))
        try:
            if name is None:
                started = self.fabricd.call("POST", "/v1/certificates", {"request": {
                    "nodes": nodes, "job_id": job, "within_seconds": self.within_seconds}})
                self.running[key] = (started["id"], deadline)
                return None
            path = f"/v1/certificates/{urllib.parse.quote(name, safe='')}"
            certificate = self.fabricd.call("GET", path)["certificate"]
        except Unreachable:
            if time.monotonic() > deadline:
                raise
            return None
        if certificate["state"] == "CERTIFICATE_STATE_DONE":
            return certificate
        if time.monotonic() > deadline:
            raise Failure(f"certificate {name} is not done in time")
        return None

    def decide(self, workload, check, state, message):
        """Server-side apply of this check only. resourceVersion: not of a later admission."""
        meta = workload["metadata"]
        log(f"{meta['namespace']}/{meta['name']}: {state}: {message}")
        self.kubernetes.call(
            "PATCH",
            f"{KUEUE}/namespaces/{meta['namespace']}/workloads/{meta['name']}/status"
            "?fieldManager=fabric-gate&force=true",
            {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
             "metadata": {"name": meta["name"], "namespace": meta["namespace"],
                          "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
             "status": {"admissionChecks": [{"name": check, "state": state, "message": message,
                                             "lastTransitionTime": now()}]}},
            "application/apply-patch+yaml")


def parse(words):
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    fabricd_options(options, "operator")
    options.add_argument("--within", type=int, default=30, metavar="SECONDS",
                         help="time of a certificate; default: %(default)s")
    options.add_argument("--on-unknown", choices=("Ready", "Retry"), default="Ready",
                         help="state for a workload that cannot be certified; default: Ready")
    options.add_argument("--once", action="store_true", help="look at all workloads once")
    return options.parse_args(words)


def main(words):
    options = parse(words)
    try:
        gate = Gate(*connect(options), options.within, options.on_unknown)
    except (OSError, ValueError) as error:  # No certificate, or not a valid one
        log(f"TLS files: {error}")
        return 1
    while True:
        try:
            gate.turn()
        except Failure as failure:  # The API server is not reachable: try again.
            log(str(failure))
            if options.once:
                return 1
        if options.once:
            return 0
        time.sleep(2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
