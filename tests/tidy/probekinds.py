"""The controller, fault location and fabricctl have no list of probe kinds.

They use the options of the arm in ProbeSpec.kind (proto/probe_kinds.h). To choose a kind, with
mutable_<kind>(), is not a list.
"""

import re

from tree import Problem

SCHEMA = "proto/fabric/v1/probe.proto"


def arms(tree):
    if SCHEMA not in tree.files:
        return []
    kinds = re.search(r"oneof kind \{(.*?)\n  \}", tree.text(SCHEMA), re.S)
    return re.findall(r"^    \w+ (\w+) = \d+", kinds[1], re.M) if kinds else []


def check_probe_kinds(tree):
    kinds = arms(tree)
    if not kinds:
        return
    camel = ["".join(part.capitalize() for part in kind.split("_")) for kind in kinds]
    quoted = [kind for kind in kinds if "_" in kind]  # "incast" is also a pattern.
    listed = re.compile(rf"\bhas_(?:{'|'.join(kinds)})\(|ProbeSpec::k(?:{'|'.join(camel)})\b"
                        rf'|"(?:{"|".join(quoted)})"')
    for path in tree.files:
        if path.startswith(("daemon/", "ctl/")) and path.endswith((".cc", ".h")):
            for number, line in enumerate(tree.lines(path), 1):
                for found in listed.finditer(line):
                    yield Problem(path, number, found[0],
                                  "use the options of the kind: proto/probe_kinds.h")
