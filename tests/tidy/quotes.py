"""What docs quote from the tree says what the tree says.

A code block below a line `<!-- from PATH -->` is the whole file when that is an example, and a run
of its lines otherwise.
"""

import re

from tree import Problem

EXAMPLES = "tests/examples/"
_QUOTE = re.compile(r"^<!-- from (?P<path>\S+) -->\n(?:```\w*\n(?P<text>.*?)^```$)?", re.M | re.S)


def check_quotes(tree):
    shown = set()
    for page in tree.files:
        if not page.endswith(".md"):
            continue
        text = tree.text(page)
        for quote in _QUOTE.finditer(text):
            path = quote["path"]
            shown.add(path)
            line = text.count("\n", 0, quote.start()) + 1
            if quote["text"] is None:
                yield Problem(page, line, path, "expected a code block in the next line")
            elif not tree.exists(path):
                yield Problem(page, line, path, "quoted, but there is no such file")
            elif not _agrees(path, quote["text"], tree.text(path)):
                yield Problem(page, line, path, "quoted, but the file reads differently")
    for path in tree.files:
        if path.startswith(EXAMPLES) and path not in shown:
            yield Problem(path, 1, "example", "no page of docs/ quotes it")


def _agrees(path, quoted, text):
    return quoted == text if path.startswith(EXAMPLES) else "\n" + quoted in "\n" + text
