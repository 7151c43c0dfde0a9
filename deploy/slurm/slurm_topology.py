"""topology.conf of Slurm from the leaf switches that fabricd knows. Pure."""

import re

ROOT = "fabric"  # The switch above all leaves


def unique_names(leaves):
    """{leaf: name}: what Slurm accepts, different for different leaves and from the root."""
    names, taken = {}, {ROOT}
    for leaf in sorted(leaves):
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", leaf)
        name, number = base, 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name)
        names[leaf] = name
    return names


def slurm_topology(devices):
    """topology.conf for topology/tree, and the nodes that it omits. Leaves that share nodes are
    one switch, because a node of Slurm is below one switch only."""
    leaves_of = {}
    for port in devices:
        leaf = port.get("leaf")
        leaves_of.setdefault(port["node"], set()).update([leaf] if leaf else [])
    groups = []  # Leaves, nodes
    for node, leaves in leaves_of.items():
        same = [group for group in groups if group[0] & leaves]
        groups = [group for group in groups if not group[0] & leaves]
        groups.append((leaves.union(*(group[0] for group in same)),
                       [node] + [name for group in same for name in group[1]]))
    nodes_of = {min(leaves): nodes for leaves, nodes in groups if leaves}
    names = unique_names(nodes_of)
    lines = sorted(f"SwitchName={names[leaf]} Nodes={','.join(sorted(nodes))}"
                   for leaf, nodes in nodes_of.items())
    if len(lines) > 1:
        lines.append(f"SwitchName={ROOT} Switches={','.join(sorted(names.values()))}")
    return "".join(line + "\n" for line in lines), sorted(
        node for node, leaves in leaves_of.items() if not leaves)
