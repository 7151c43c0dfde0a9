"""Nodes that a certificate probes together with nodes to resume: docs/SLURM.md."""

import json
import random

from slurm_failure import Failure


def connected(fabricctl):
    """The nodes that are connected to fabricd: {name: summary}."""
    status, text, error = fabricctl("nodes", "--filter", "state=connected", "-o", "json")
    if status:
        raise Failure(f"fabricctl nodes: exit status {status}: {error}")
    return {node["name"]: node for node in json.loads(text).get("nodes", [])}


def pick(wanted, idle, known, count):
    """At most `count` of the names `idle`: those that `known` lists with active ports.

    Nodes with at least the active ports of the wanted ones come first, then those with fewer
    findings. Their order is random among equals: a partner with a fault is not picked each time.
    """
    ports = max((known[name].get("ports_active", 0) for name in wanted if name in known),
                default=0)
    usable = [name for name in idle if known.get(name, {}).get("ports_active", 0) > 0]
    random.shuffle(usable)
    usable.sort(key=lambda name: (max(0, ports - known[name]["ports_active"]),
                                  known[name].get("findings_open", 0)))
    return sorted(usable[:count])
