"""Rules that texts and tables name are in the catalog.

Looked at is what stands where only a rule can: `.rule = "a, b"` of a table, `--rule a` and
`fabricctl explain a` of a command, and the second column of a quoted table of findings.
"""

import re

from catalogs import entries
from tree import Problem

_NAME = r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
_PLACES = (
    re.compile(rf'\.rule = "(?P<names>{_NAME}(?:, {_NAME})*)"'),
    re.compile(rf"--rule[ =](?P<names>{_NAME})"),
    re.compile(rf"fabricctl explain (?P<names>{_NAME})"),
    re.compile(r"^ *(?:\w+ +)?(?:info|warning|error|critical|unknown) +"
               rf"(?P<names>{_NAME}) +\S+ +\S", re.M),
)


def rules(tree):
    """Those of every catalog, the examples' too."""
    return {name for path in tree.files if path.endswith("CMakeLists.txt")
            for _, kind, name in entries(tree.text(path)) if kind == "Rule"}


def _named_in(tree):
    for path in tree.files:
        if path.endswith((".cc", ".h")) and not path.startswith("tests/"):
            yield path
        elif path.endswith(".md"):
            yield path


def check_rule_names(tree):
    known = rules(tree)
    for path in _named_in(tree):
        text = tree.text(path)
        for place in _PLACES:
            for match in place.finditer(text):
                for name in match["names"].split(", "):
                    if name not in known:
                        line = text.count("\n", 0, match.start("names")) + 1
                        yield Problem(path, line, name, "no rule of this name")
