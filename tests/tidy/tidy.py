#!/usr/bin/env python3
"""Style as a test: prints `file:line: what: why` for each breach of docs/STYLE.md.

Usage: tidy.py [REPOSITORY]     Exits with 1 when there is a problem.
"""

import pathlib
import sys

import catalogs
import doccommands
import docs
import language
import probekinds
import quotes
import rulenames
import runbooks
import texts
import walls
from tree import Tree

CHECKS = (
    texts.check_sizes,
    texts.check_comments,
    texts.check_promises,
    texts.check_scripts,
    texts.check_data,
    texts.check_format,
    walls.check_walls,
    walls.check_own_header_first,
    walls.check_words,
    catalogs.check_catalogs,
    quotes.check_quotes,
    docs.check_layout,
    docs.check_threads,
    docs.check_paths,
    doccommands.check_commands,
    language.check_language,
    rulenames.check_rule_names,
    runbooks.check_runbooks,
    probekinds.check_probe_kinds,
)


def problems(tree):
    return sorted({problem for check in CHECKS for problem in check(tree)})


def main(arguments):
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[2]
    found = problems(Tree(root))
    for problem in found:
        print(problem)
    if found:
        print(f"tidy: {len(found)} problems", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
