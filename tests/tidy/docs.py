"""Lists in docs agree with the tree: folders, threads, and paths that pages name."""

import re

from tree import Problem

PAGE = "docs/ARCHITECTURE.md"
TOPS = ("proto", "base", "subnet", "nccl", "agents", "daemon", "ctl", "web", "deploy", "tests",
        "docs", "cmake")
_PATH = re.compile(r"`((?:" + "|".join(TOPS) + r")/[\w./*<>-]+)`")
_DATA = ("tests/fixtures/", "tests/golden/", "tests/fuzz/corpus")


def _section(text, title):
    match = re.search(rf"^## {title}\n(?P<body>.*?)(?=^## |\Z)", text, re.M | re.S)
    return (match["body"], text.count("\n", 0, match.start("body")) + 1) if match else ("", 1)


def _folders(tree):
    """Folders that hold files of ours, with those above them."""
    folders = set()
    for path in tree.files:
        parts = path.split("/")[:-1]
        if parts and parts[0] in TOPS and not path.startswith(_DATA):
            depth = 3 if parts[0] in ("agents", "daemon") else 2
            folders.update("/".join(parts[:n]) for n in range(1, min(len(parts), depth) + 1))
    return folders


def check_layout(tree):
    if not tree.exists(PAGE):
        return
    body, first = _section(tree.text(PAGE), "Layout")
    words = {}
    top = ""
    for number, line in enumerate(body.split("\n"), first):
        match = re.match(r"([\w/]+)/", line)
        if match:
            top = match[1].split("/")[0]
        words.setdefault(top, set()).update(re.findall(r"\w+", line))
        named = re.match(r"(?:  )?([\w/]+)/ ", line)
        if named and top:
            path = named[1] if not line.startswith(" ") else f"{top}/{named[1]}"
            if path not in _folders(tree) | {"proto/fabric/v1"}:
                yield Problem(PAGE, number, path, "no such folder")
    for folder in sorted(_folders(tree)):
        parts = folder.split("/")
        if parts[-1] not in words.get(parts[0], set()):
            yield Problem(PAGE, first, folder, "the layout does not name this folder")


def check_threads(tree):
    """The table of threads names each file that starts one, and no other."""
    if not tree.exists(PAGE):
        return
    body, first = _section(tree.text(PAGE), "Threads")
    named = set(re.findall(r"`((?:agents|daemon)/[\w/]+\.cc)`", body))
    start = re.compile(r"\bstd::j?thread\b[ \w]*[({]|\bthread_\(\[|\bthread_ = ")
    starting = {path for path in tree.cpp()
                if path.startswith(("agents/", "daemon/")) and path.endswith(".cc")
                and start.search(tree.text(path))}
    for path in sorted(starting - named):
        yield Problem(PAGE, first, path, "starts a thread that the table does not name")
    for path in sorted(named - starting):
        yield Problem(PAGE, first, path, "named in the table, but starts no thread")


def check_paths(tree):
    known = set(tree.files)
    for path in tree.files:
        known.update("/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1))
    for page in tree.files:
        if not page.endswith(".md") or page.startswith(("docs/reference/", "tests/")):
            continue
        text = tree.text(page)
        for match in _PATH.finditer(text):
            path = match[1].rstrip("/")
            exists = (path in known or path + ".cc" in known or path + ".h" in known
                      or (tree.root / path).exists() or re.search(r"[*<>]", path))
            if not exists:
                yield Problem(page, text.count("\n", 0, match.start()) + 1, path, "no such path")
