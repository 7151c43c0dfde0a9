"""Words that docs/STYLE.md rejects in string literals, headers and docs."""

import re

import cpp
from tree import Problem

WORDS = ("told", "tells", "nobody", "somebody", "anew", "beside", "mend", "mends", "mended",
         "alike", "whatever", "so long", "as many", "is no", "what is")
PATTERN = re.compile(r"\b(" + "|".join(re.sub(" ", r"\\s+", word) for word in WORDS) + r")\b", re.I)

SOURCES = ("base/", "proto/", "subnet/", "nccl/", "agents/", "daemon/", "ctl/")
PAGES = ("README.md", "docs/")
# Where a word is allowed, and why.
ALLOWED = (
    (r"docs/STYLE\.md$", r".*"),                    # Lists the words.
    (r"daemon/explain/", r"is no|told|what is"),    # Quotes messages of other programs.
)

_STRINGS = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|(?P<raw>R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?<![0-9])'(?:\\.[^']*|[^'\\\n])'", re.S)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.M)


def _strings_only(text):
    """All but string literals becomes blanks; lines stay. Adjacent literals stay adjacent."""
    text = _INCLUDE.sub(lambda m: " " * len(m[0]), text)
    out = []
    end = 0
    for match in _STRINGS.finditer(text):
        literal = match["raw"] or match["string"]
        out.append(re.sub(r"[^\n]", " ", text[end:match.start()]))
        kept = match[0] if literal else re.sub(r"[^\n]", " ", match[0])
        out.append(kept.replace('"', " "))
        end = match.end()
    return "".join(out)


def _allowed(path, word):
    return any(re.match(where, path) and re.fullmatch(words, word, re.I)
               for where, words in ALLOWED)


def _texts(tree):
    for path in tree.files:
        if path.endswith(".proto") and path.startswith(SOURCES) and "google/" not in path:
            yield path, tree.text(path)
        elif path.endswith(".h") and path in set(tree.cpp()):
            yield path, _INCLUDE.sub(lambda m: " " * len(m[0]), tree.text(path))
        elif path.endswith(".cc") and path.startswith(SOURCES):
            yield path, _strings_only(tree.text(path))
        elif path.endswith(".md") and path.startswith(PAGES):
            yield path, tree.text(path)


def check_language(tree):
    for path, text in _texts(tree):
        text = re.sub(r"\n(\s*)(//|#)", lambda m: "\n" + m[1] + " " * len(m[2]), text)
        for match in PATTERN.finditer(text):
            word = " ".join(match[1].split())
            if not _allowed(path, word):
                yield Problem(path, cpp.line_of(text, match.start()), word,
                              "write plain technical English: docs/STYLE.md")
