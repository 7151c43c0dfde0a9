"""Taints within a budget. The annotations of the nodes are the only state.

Python 3.9 or newer, without other packages.
"""

import argparse
import datetime
import re

MARK = "fabricd.io/taint"  # The taint that this program set
SET_AT = "fabricd.io/tainted-at"  # Time of the last taint; kept for an hour after its removal
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
KEY = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?"
                 r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")


def parse_taint(text):
    """KEY=VALUE:EFFECT or KEY:EFFECT, as kubectl writes it."""
    name, colon, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    if not colon or effect not in EFFECTS or not KEY.fullmatch(key) or not VALUE.fullmatch(value):
        raise argparse.ArgumentTypeError(
            f"expected KEY=VALUE:EFFECT with an effect of {', '.join(EFFECTS)}, saw '{text}'")
    return {"key": key, "value": value, "effect": effect}


def parse_share(text):
    """A number of nodes, or a share: "3", "5%"."""
    if not re.fullmatch(r"\d{1,6}|(\d{1,2}|100)%", text):
        raise argparse.ArgumentTypeError(f"expected a number or a share like 5%, saw '{text}'")
    return text


def text_of(taint):
    return f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}"


def taints_of(node):
    return node.get("spec", {}).get("taints") or []


def annotation(node, name):
    return (node["metadata"].get("annotations") or {}).get(name, "")


def has_own(node):
    """The node has the taint that this program set."""
    mark = annotation(node, MARK)
    return bool(mark) and any(text_of(one) == mark for one in taints_of(node))


def within_hour(node, moment):
    """This program set a taint of this node in the last hour. False without a valid time."""
    try:
        at = datetime.datetime.strptime(annotation(node, SET_AT), "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return moment - at.replace(tzinfo=datetime.timezone.utc) < datetime.timedelta(hours=1)


class Budget:
    """How many taints can still be set, of all nodes of the cluster."""

    def __init__(self, nodes, known, limit, per_hour, moment):
        self.allowed = (known * int(limit[:-1]) // 100 if limit.endswith("%") else int(limit))
        self.per_hour = per_hour
        self.used = sum(has_own(node) for node in nodes)
        self.recent = sum(within_hour(node, moment) for node in nodes)

    def refusal(self):
        """Why no taint can be set. Empty: one can."""
        if self.used >= self.allowed:
            return f"{self.used} nodes have a taint, {self.allowed} are allowed"
        if self.recent >= self.per_hour:
            return f"{self.recent} taints in the last hour, {self.per_hour} are allowed"
        return ""

    def take(self):
        self.used += 1
        self.recent += 1
