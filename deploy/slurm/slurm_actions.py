"""Drains that fabricd approves: the setting `approval: yes`. docs/SLURM.md describes it."""

import json

from slurm_failure import Failure

REASON_MAX = 250  # Characters: fabricd takes 1,000 bytes.
AUTHOR = "fabric-slurm"  # Without a certificate. With one, fabricd takes the name of it.
KIND = "NODE_ACTION_KIND_SLURM_DRAIN"


class Actions:
    """Actions on nodes of fabricd, by fabricctl. Without `on` every drain is approved."""

    def __init__(self, fabricctl, log, on):
        self.fabricctl, self.log, self.on = fabricctl, log, on

    def approved(self, node, why, evidence):
        """Proposes the drain. True: it is approved."""
        if not self.on:
            return True
        status, text, error = self.fabricctl(
            "remedy", "propose", node, "--kind", "slurm-drain", "--reason", why[:REASON_MAX],
            "--evidence", evidence, "--author", AUTHOR, "-o", "json")
        if status:
            self.log(f"not drained {node}: {error}")
            return False
        action = json.loads(text)
        state = action["state"].removeprefix("NODE_ACTION_STATE_").lower()
        if state == "approved":
            return True
        self.log(f"not drained {node}: action {action['id']} is {state}" + (
            f": fabricctl remedy approve {action['id']}" if state == "proposed" else ""))
        return False

    def read(self):
        """The open drains."""
        if not self.on:
            raise Failure("actions: expected the setting approval: yes, saw no")
        status, text, error = self.fabricctl("remedy", "list", "-o", "json")
        if status:
            raise Failure(f"fabricctl remedy list: exit status {status}: {error}")
        return [action for action in json.loads(text).get("node_actions", [])
                if action["kind"] == KIND]

    def report(self, node, state, note=""):
        """The node is changed already: an error is logged, and `actions` reports it later."""
        if not self.on:
            return
        try:
            for action in self.read():
                if action["node"] != node:
                    continue
                words = ["--note", note] if note else []
                status, _, error = self.fabricctl("remedy", "report", action["id"], state,
                                                  "--author", AUTHOR, *words)
                if status:
                    self.log(f"{node}: action {action['id']}: not reported {state}: {error}")
        except (Failure, ValueError, KeyError) as error:
            self.log(f"{node}: not reported {state}: {error}")
