"""Each family of rules has a runbook with all parts, and each runbook has a family."""

import re

from tree import Problem

RULES = "docs/reference/RULES.md"
FOLDER = "docs/runbooks/rules/"
PARTS = ("**Meaning.**", "**Check.**", "**Fix.**", "**Not a fault.**")


def check_runbooks(tree):
    if not tree.exists(RULES):
        return
    families = set(re.findall(r"^\| \[.*?\) \| (\w+) \|", tree.text(RULES), re.M))
    pages = {path.removeprefix(FOLDER).removesuffix(".md")
             for path in tree.files if path.startswith(FOLDER)}
    for family in sorted(families - pages):
        yield Problem(RULES, 1, family, f"family without a runbook; write {FOLDER}{family}.md")
    for page in sorted(pages - families):
        yield Problem(f"{FOLDER}{page}.md", 1, page, "runbook without a family of rules")
    for page in sorted(pages & families):
        text = tree.text(f"{FOLDER}{page}.md")
        for part in (f"# Rules: {page}\n", *PARTS):
            if part not in text:
                yield Problem(f"{FOLDER}{page}.md", 1, part.strip(), "missing in a runbook")
