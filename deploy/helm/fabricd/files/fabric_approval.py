"""Taints that fabricd approves: the option --approval. fabricd keeps the actions.

Python 3.9 or newer, without other packages.
"""

from fabric_api import Failure, Unreachable, log

ACTIONS = "/v1/node-actions"
KIND, STATE = "NODE_ACTION_KIND_KUBERNETES_TAINT", "NODE_ACTION_STATE_"
REASON_MAX = 250  # Characters: fabricd takes 1,000 bytes.
AUTHOR = "fabric-nodes"  # Without a certificate. With one, fabricd takes the name of it.
OPEN = ("PROPOSED", "APPROVED", "APPLIED", "REVERTING")


class Approval:
    """The open actions of one turn. Without `on` every taint is approved."""

    def __init__(self, fabricd, on, dry_run):
        self.fabricd, self.on, self.dry_run = fabricd, on, dry_run
        self.open = {}  # {node of fabricd: [id, state]}

    def read(self):
        if not self.on:
            return
        for page in self.fabricd.pages(
                ACTIONS, ("page_size", 500),
                ("page_token", lambda answer: answer.get("next_page_token"))):
            for one in page.get("node_actions", []):
                state = one["state"].removeprefix(STATE)
                if one["kind"] == KIND and state in OPEN:
                    self.open[one["node"]] = [one["id"], state]

    def state(self, node):
        """Of the open action. Empty: there is none."""
        return self.open[node][1] if node in self.open else ""

    def refusal(self, node, reason):
        """Proposes the taint. Why it may not be set. Empty: it is approved."""
        if not self.on:
            return ""
        if self.dry_run:
            return "dry run: it is not proposed to fabricd"
        try:
            made = self.fabricd.call("POST", ACTIONS, {
                "kind": KIND, "node": node, "reason": reason[:REASON_MAX], "author": AUTHOR})
        except Unreachable:
            raise
        except Failure as failure:
            return str(failure)
        state = made["state"].removeprefix(STATE)
        self.open[node] = [made["id"], state]
        return "" if state == "APPROVED" else f"action {made['id']} is {state.lower()}"

    def report(self, node, state, note=""):
        """The taint is changed already: an error is logged, and the next turn reports it."""
        if not self.on or self.dry_run or node not in self.open:
            return
        path = f"{ACTIONS}/{self.open[node][0]}:report"
        try:
            self.fabricd.call("POST", path, {"state": STATE + state, "note": note,
                                             "author": AUTHOR})
            self.open[node][1] = state
        except Failure as failure:
            log(f"node {node}: {failure}")
