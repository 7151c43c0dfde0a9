"""Every component in a CMake catalog has a unit test that names it and a line in docs."""

import re

from tree import Problem

_CATALOG = re.compile(r"fabric_catalog\s*\((?P<body>[^)]*)\)")


def entries(text):
    """Yields (line, type, name) for each entry of each catalog of a CMakeLists.txt."""
    code = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), text)
    for catalog in _CATALOG.finditer(code):
        body = catalog["body"]
        kind = re.search(r"\bTYPE\s+(\w+)", body)
        listed = re.search(r"\bENTRIES\b", body)
        if kind is None or listed is None:
            continue
        for name in re.finditer(r"(?<![\w/:])[\w/:]+", body[listed.end():]):
            position = catalog.start("body") + listed.end() + name.start()
            yield text.count("\n", 0, position) + 1, kind[1], re.split("[/:]", name[0])[-1]


def names(entry):
    """A pattern for probe_run, "probe run", "probe-run" and ProbeRun."""
    snake = r"[-_ ]".join(re.escape(part) for part in entry.split("_"))
    camel = "".join(part.capitalize() for part in entry.split("_"))
    return re.compile(rf"(?<![a-z0-9_])(?:{snake})(?![a-z0-9_])|(?<![A-Za-z]){camel}(?![a-z])")


class _Text:
    """A text in which a pattern is searched only if a faster check finds no name."""

    def __init__(self, text):
        self.text = text
        self.words = set(re.findall(r"[a-z0-9_]+", text))
        self.joined = re.sub("[- ]", "_", text)

    def has(self, entry):
        camel = "".join(part.capitalize() for part in entry.split("_"))
        return entry in self.words or bool(
            (camel in self.text or entry in self.joined)
            and names(entry).search(self.text))


def check_catalogs(tree):
    tests = _Text("\n".join(tree.text(p) for p in tree.files
                            if p.startswith("tests/unit/") and p.endswith(".cc")))
    docs = _Text("\n".join(tree.text(p) for p in tree.files
                           if p.startswith("docs/") and p.endswith(".md")))
    for path in tree.files:
        if not path.endswith("CMakeLists.txt"):
            continue
        for line, kind, entry in entries(tree.text(path)):
            if not tests.has(entry):
                yield Problem(path, line, f"{kind} {entry}", "no test under tests/unit names it")
            if not docs.has(entry):
                yield Problem(path, line, f"{kind} {entry}", "no line of docs/ names it")
