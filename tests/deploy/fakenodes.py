"""A fake API server with nodes and events, and a fake fabricd. Both answer in pages of two."""

import copy
import urllib.parse

from fakeserver import FakeServer

STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"


def merged(old, change):
    """JSON merge patch (RFC 7396)."""
    if not isinstance(change, dict):
        return change
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


class FakeKubernetes:
    """Keeps nodes and events. `refuse`: {(verb, path): HTTP status}."""

    def __init__(self, *names):
        self.nodes = {name: {"metadata": {"name": name, "uid": f"uid-{name}", "labels": {},
                                          "annotations": {}, "resourceVersion": "1"},
                             "spec": {}, "status": {"conditions": [
                                 {"type": "Ready", "status": "True"}]}} for name in names}
        self.events = {}
        self.refuse = {}
        self.server = FakeServer(self.answer, with_kind=True)

    def answer(self, verb, path, body, kind):
        path, _, query = path.partition("?")
        if status := self.refuse.get((verb, path)):
            return status, {"message": f"refused with {status}"}
        if (verb, path) == ("GET", "/api/v1/nodes"):
            return 200, self.page(urllib.parse.parse_qs(query))
        if (verb, path) == ("POST", "/api/v1/namespaces/default/events"):
            return self.event(body)
        name = path.removeprefix("/api/v1/nodes/").removesuffix("/status")
        if verb != "PATCH" or name not in self.nodes:
            return 404, {"message": f"{verb} {path} is not found"}
        if path.endswith("/status"):
            return self.patch_status(self.nodes[name], body, kind)
        return self.patch(name, body, kind)

    def page(self, query):
        names = sorted(self.nodes)
        start = int(query.get("continue", ["0"])[0])
        rest = {"continue": str(start + 2)} if start + 2 < len(names) else {}
        return {"metadata": rest,
                "items": [copy.deepcopy(self.nodes[name]) for name in names[start:start + 2]]}

    def event(self, body):
        name = body["metadata"]["name"]
        if name in self.events:
            return 409, {"message": "already exists"}
        self.events[name] = body
        return 201, body

    @staticmethod
    def patch_status(node, body, kind):
        if kind != STRATEGIC:
            return 415, {"message": kind}
        have = {one["type"]: one for one in node["status"]["conditions"]}
        for change in body["status"]["conditions"]:
            if change.get("$patch") == "delete":
                have.pop(change["type"], None)
            else:
                have[change["type"]] = have.get(change["type"], {}) | change
        node["status"]["conditions"] = list(have.values())
        return 200, node

    def patch(self, name, body, kind):
        node = self.nodes[name]
        if kind != MERGE:
            return 415, {"message": kind}
        version = node["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion", version) != version:
            return 409, {"message": "the object has been modified"}
        if "taints" in body.get("spec", {}) and "resourceVersion" not in body["metadata"]:
            return 422, {"message": "the test wants a version: taints are one list"}
        self.nodes[name] = merged(node, body)
        self.nodes[name]["metadata"]["resourceVersion"] = str(int(version) + 1)
        return 200, self.nodes[name]

    def condition(self, name, kind):
        found = [one for one in self.nodes[name]["status"]["conditions"] if one["type"] == kind]
        return found[0] if found else None

    def writes(self):
        return [one for one in self.server.requests if one[0] != "GET"]

    def event_lines(self):
        """[(node, reason, message)]"""
        return [(one["involvedObject"]["name"], one["reason"], one["message"])
                for one in self.events.values()]


class FakeFabricd:
    """Lists nodes, findings and devices. `status`: the HTTP status of each answer."""

    def __init__(self, *names):
        self.nodes = [{"name": name, "state": "NODE_STATE_CONNECTED"} for name in names]
        self.findings, self.devices, self.actions = [], [], []
        self.approve = False  # Each action at once
        self.status = 200
        self.server = FakeServer(self.answer)

    def answer(self, verb, path, body):
        path, _, query = path.partition("?")
        if self.status != 200:
            return self.status, {"message": "not now"}
        if verb == "POST":
            return self.act(path, body)
        what = path.rpartition("/")[2]
        start = int(urllib.parse.parse_qs(query).get("page_token", ["0"])[0])
        listed = {"nodes": self.nodes, "findings": self.findings, "devices": self.devices,
                  "node-actions": self.actions}[what]
        more = str(start + 2) if start + 2 < len(listed) else ""
        return 200, {what.replace("-", "_"): listed[start:start + 2], "next_page_token": more}

    def act(self, path, body):
        """ProposeNodeAction and ReportNodeAction."""
        if path.endswith(":report"):
            name = path.removesuffix(":report").rpartition("/")[2]
            found = next(one for one in self.actions if one["id"] == name)
            found["state"] = body["state"]
            return 200, found
        for one in self.actions:
            if one["node"] == body["node"] and one["state"].rpartition("_")[2] in (
                    "PROPOSED", "APPROVED", "APPLIED", "REVERTING"):
                return 200, one
        state = "APPROVED" if self.approve else "PROPOSED"
        self.actions.append(body | {"id": f"a{len(self.actions) + 1}",
                                    "state": f"NODE_ACTION_STATE_{state}"})
        return 200, self.actions[-1]

    def fail(self, node, rule="port_active", severity="CRITICAL", **fields):
        made = {"id": f"{rule}-{node}-{len(self.findings)}", "rule": rule,
                "verdict": "VERDICT_FAIL", "severity": f"SEVERITY_{severity}",
                "state": "FINDING_STATE_OPEN", "subject": {"node": node, "device": "mlx5_0",
                                                           "port": 1},
                "title": "port is DOWN", "opened_at": "2026-01-01T00:00:00Z"} | fields
        self.findings.append(made)
        return made
