"""Conditions and labels of a Kubernetes node from the findings of fabricd. Nothing here reads or
writes.

Python 3.9 or newer, without other packages.
"""

import re

DEGRADED, PORT_DOWN = "RDMAFabricDegraded", "RDMAPortDown"
CONDITIONS = (DEGRADED, PORT_DOWN)
# Rules whose failure says that a port which should be active is down. Not link_stays_up and
# bond_members_active: their port can be up.
PORT_DOWN_RULES = ("port_active", "vf_port_up")
SEVERITIES = ("SEVERITY_ERROR", "SEVERITY_CRITICAL")
MESSAGE_MAX = 1024
TITLES_MAX = 3
TITLE_MAX = 200
RAILS_MAX = 16
LEAF, RAIL_COUNT = "fabricd.io/leaf", "fabricd.io/rail-count"
OWN_LABEL = re.compile(r"fabricd\.io/(leaf|rail-count|rail-\d+-leaf)")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def match_names(kubernetes, fabricd):
    """({Kubernetes node: fabricd node}, [error line]). Equal names, else the short host name of one
    is the name of the other, if only one such pair exists."""
    pairs = {name: name for name in kubernetes if name in fabricd}
    wanted = {}  # Kubernetes node -> fabricd nodes
    claims = {}  # fabricd node -> Kubernetes nodes
    by_name, by_short = {}, {}
    for name in fabricd:
        if name not in pairs:
            by_name[name] = name
            by_short.setdefault(name.split(".")[0], []).append(name)
    for name in kubernetes:
        if name in pairs:
            continue
        short = name.split(".")[0]
        found = by_short.get(name, []) if short == name else [
            by_name[one] for one in (short,) if one in by_name]
        if found:
            wanted[name] = found
            for one in found:
                claims.setdefault(one, []).append(name)
    errors = []
    for name, found in sorted(wanted.items()):
        rivals = sorted({rival for one in found for rival in claims[one]})
        if len(found) == 1 and len(rivals) == 1:
            pairs[name] = found[0]
        else:
            errors.append(f"node {name}: the name is ambiguous: nodes of fabricd "
                          f"{', '.join(sorted(found)[:5])}; nodes of Kubernetes "
                          f"{', '.join(rivals[:5])}")
    return pairs, errors


def counts(finding):
    """An open failure of severity error or critical."""
    return (finding.get("verdict") == "VERDICT_FAIL" and finding.get("severity") in SEVERITIES
            and finding.get("state") == "FINDING_STATE_OPEN")


def by_node(findings):
    """({node: [finding]}, whether a list of affected nodes was cut). A finding about several nodes
    is of each of them only if it stands for the same fault on each."""
    result, cut = {}, False
    for finding in findings:
        if not counts(finding):
            continue
        names = {finding.get("subject", {}).get("node")}
        if finding.get("common_cause"):
            names |= {one.get("node") for one in finding.get("affected", [])}
            cut = cut or (finding.get("affected_total", 0) > len(finding.get("affected", []))
                          and not finding.get("silenced"))
        for name in names - {None, ""}:
            result.setdefault(name, []).append(finding)
    return result, cut


def order(finding):
    return (finding["severity"] != "SEVERITY_CRITICAL", finding["rule"], finding["id"])


def camel(rule):
    """A reason of a condition: letters and digits, at most 128."""
    return "".join(part[:1].upper() + part[1:] for part in re.split("[^A-Za-z0-9]+", rule))[:128]


def where(finding):
    subject = finding.get("subject", {})
    port = f"/{subject['port']}" if subject.get("port") else ""
    return f"{subject['device']}{port}: " if subject.get("device") else ""


def titles(findings):
    """The first titles, "and N more"."""
    shown = "; ".join((where(one) + one.get("title", ""))[:TITLE_MAX]
                      for one in findings[:TITLES_MAX])
    more = len(findings) - TITLES_MAX
    return shown + (f"; and {more} more" if more > 0 else "")


def judge(node, findings, cut):
    """{condition: (status, reason, message)} of a node that fabricd knows."""
    if node.get("state") == "NODE_STATE_LOST":
        why = node.get("lost_reason") or "no reports"
        return {name: ("Unknown", "NodeLost", f"fabricd has lost the node: {why}"[:MESSAGE_MAX])
                for name in CONDITIONS}
    result = {}
    seen = sorted((one for one in findings if not one.get("silenced")), key=order)
    for name, healthy, text in (
            (DEGRADED, "FabricHealthy", "no finding of severity error or critical"),
            (PORT_DOWN, "PortsActive", "no RDMA port is down that should be active")):
        bad = [one for one in seen if name == DEGRADED or one["rule"] in PORT_DOWN_RULES]
        judged = [one for one in bad if not one.get("expired_reason")]
        if judged:
            result[name] = ("True", camel(judged[0]["rule"]), titles(judged))
        elif bad:
            result[name] = ("Unknown", "FactsTooOld", bad[0]["expired_reason"][:MESSAGE_MAX])
        elif cut:
            result[name] = ("Unknown", "AffectedListCut",
                            "a finding affects more nodes than fabricd lists")
        else:
            result[name] = ("False", healthy, text)
    return result


def labels(ports):
    """({label}, [error line]) of the ports of one node. Not known, or not the same: no label."""
    rails, leaves = {}, set()
    for port in ports:
        if port.get("rail") is not None:
            rails.setdefault(port["rail"], set()).add(port.get("leaf") or "")
            leaves.add(port.get("leaf") or "")
    made = {RAIL_COUNT: str(len(rails))} if rails else {}
    for rail, found in sorted(rails.items())[:RAILS_MAX]:
        if len(found) == 1 and "" not in found:
            made[f"fabricd.io/rail-{rail}-leaf"] = next(iter(found))
    if len(leaves) == 1 and "" not in leaves:
        made[LEAF] = next(iter(leaves))
    wrong = {key for key, value in made.items() if not LABEL_VALUE.fullmatch(value)}
    return ({key: value for key, value in made.items() if key not in wrong},
            [f"{key}: '{made[key][:80]}' cannot be the value of a label" for key in sorted(wrong)])


def label_changes(have, want):
    """The changes of a merge patch: None removes. Only the labels of this program."""
    gone = {key: None for key in have if OWN_LABEL.fullmatch(key) and key not in want}
    return gone | {key: value for key, value in want.items() if have.get(key) != value}
