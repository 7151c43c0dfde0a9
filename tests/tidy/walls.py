"""Who may include whom, and which words may stand where. The picture is docs/ARCHITECTURE.md."""

import re

import cpp
from tree import Problem

_SHARED = ("base/", "proto/", "fabric/v1/")
_PURE = ("daemon/expression/", "daemon/custom/", "daemon/profile/", "daemon/fleet/",
         "daemon/rules/", "daemon/infer/", "daemon/snapshot_diff/", "daemon/plan/",
         "daemon/explain/", "daemon/blame/")

# The first folder that a file is below decides; it may include what is below the second ones.
WALLS = (
    ("base/", ("base/",)),
    ("proto/", _SHARED),
    ("subnet/", _SHARED + ("subnet/",)),
    ("nccl/", _SHARED + ("nccl/",)),
    ("agents/host/", _SHARED + ("agents/host/",)),
    ("agents/inspect/", _SHARED + ("agents/host/", "agents/inspect/")),
    ("agents/counters/", _SHARED + ("agents/host/", "agents/inspect/", "agents/counters/")),
    ("agents/probe/", _SHARED + ("agents/host/", "agents/probe/")),
    ("agents/subnet/", _SHARED + ("agents/host/", "agents/subnet/", "subnet/")),
    ("agents/", _SHARED + ("nccl/", "agents/")),
    ("daemon/expression/", ("base/", "daemon/expression/")),
    ("daemon/custom/", _SHARED + ("subnet/", "daemon/expression/", "daemon/profile/",
                                  "daemon/fleet/", "daemon/rules/", "daemon/custom/")),
    ("daemon/profile/", _SHARED + ("daemon/profile/",)),
    ("daemon/fleet/", _SHARED + ("subnet/", "daemon/profile/", "daemon/fleet/")),
    ("daemon/rules/", _SHARED + ("daemon/profile/", "daemon/fleet/", "daemon/rules/")),
    ("daemon/infer/", _SHARED + ("daemon/profile/", "daemon/fleet/", "daemon/rules/",
                                 "daemon/infer/")),
    ("daemon/snapshot_diff/", _SHARED + ("daemon/snapshot_diff/",)),
    ("daemon/plan/", _SHARED + ("daemon/fleet/", "daemon/plan/")),
    ("daemon/blame/", _SHARED + ("daemon/fleet/", "daemon/blame/")),
    ("daemon/explain/", _SHARED + ("daemon/explain/",)),
    ("daemon/store/", _SHARED + _PURE + ("daemon/store/",)),
    ("daemon/access/", _SHARED + ("daemon/profile/", "daemon/store/", "daemon/access/")),
    ("daemon/join/", _SHARED + ("daemon/profile/", "daemon/store/", "daemon/access/",
                                "daemon/files/", "daemon/join/")),
    ("daemon/control/", _SHARED + _PURE + ("subnet/", "daemon/store/", "daemon/control/")),
    ("daemon/api/", _SHARED + _PURE + ("daemon/access/", "daemon/join/", "daemon/store/",
                                       "daemon/control/", "daemon/api/")),
    ("daemon/otlp/", _SHARED + ("daemon/control/", "daemon/otlp/")),
    ("daemon/web/", _SHARED + ("daemon/api/rest/", "daemon/web/")),
    ("daemon/", _SHARED + ("subnet/", "daemon/")),
    ("ctl/", _SHARED + _PURE + ("subnet/", "nccl/", "ctl/")),
)
OWN = ("base/", "proto/", "fabric/v1/", "subnet/", "nccl/", "agents/", "daemon/", "ctl/",
       "tests/")
GENERATED = re.compile(r"fabric/v1/\w+(\.grpc)?\.pb\.h$|google/(api|rpc)/\w+\.pb\.h$"
                       r"|opentelemetry/proto/[\w/]+\.pb\.h$|kubernetes/\w+(\.grpc)?\.pb\.h$")

QUIET = ("proto/", "subnet/", "nccl/", "agents/host/", "agents/inspect/", "agents/counters/",
         "daemon/store/", "ctl/") + _PURE
CLOCKLESS = ("subnet/", "nccl/", "daemon/expression/", "daemon/custom/", "daemon/profile/",
             "daemon/rules/", "daemon/infer/", "daemon/snapshot_diff/", "daemon/plan/",
             "daemon/explain/", "daemon/blame/")
CLOCKLESS_HEADERS = re.compile(
    r"(fstream|filesystem|mutex|shared_mutex|condition_variable|thread|cstdio|unistd\.h|fcntl\.h"
    r"|sys/.*|netinet/.*|base/log\.h|base/mutex\.h)$")

_TESTS_TESTING = r"tests/testing/"
# Pattern, where it is allowed, why it is not elsewhere. In code without comments and strings.
WORDS = (
    (r"\bsleep_for\b|\bsleep_until\b", r"$^", "wait on a condition, a stop token or a deadline"),
    (r"\bgetenv\b", rf".*/main\.cc$|{_TESTS_TESTING}", "only main.cc reads the environment"),
    (r"\bInstance\(", r"$^", "no singletons: main.cc wires objects"),
    (r"\bshared_ptr\b", r"$^", "one owner: a value or unique_ptr"),
    (r"^\s*#\s*define\b", r"base/", "a constant or a function; macros live in base"),
    (r"\bsystem_clock::now\b", r"base/clock\.", "time comes in: ask a Clock"),
    (r"\branges::(?:unique|remove|remove_if|partition|stable_partition|rotate)\b", r"$^",
     "clang 14 cannot compile it with the library of g++ 12: use the one of std with iterators"),
)
# In code without comments, strings kept.
KERNEL_WORDS = r'"/sys(?=[/"])|"/proc(?=[/"])|\bibv_|\bnvml|\bNETLINK_'
# daemon/explain quotes what logs say and what an operator may type.
# base/process_stats reads only what concerns its own process.
KERNEL_ALLOWED = ("agents/host/", "base/process_stats.", "daemon/explain/", "tests/")


def check_walls(tree):
    for path in tree.cpp():
        allowed = next((to for folder, to in WALLS if path.startswith(folder)), None)
        for line, quote, included in cpp.includes(tree.text(path)):
            own = included.startswith(OWN)
            if quote == "<" and own:
                yield Problem(path, line, f"<{included}>", "our own headers stand in quotes")
            if quote == '"' and not (tree.exists(included) or tree.exists(included + ".in")
                                     or GENERATED.match(included)):
                yield Problem(path, line, f'"{included}"',
                              "includes are written from the repository root")
            elif own and allowed is not None and not included.startswith(allowed):
                folder = path.rsplit("/", 1)[0]
                yield Problem(path, line, f'"{included}"', f"{folder} must not know it")
            yield from _check_quiet(path, line, included)


def _check_quiet(path, line, included):
    if path.startswith(QUIET) and included == "base/log.h":
        yield Problem(path, line, "base/log.h", "return a Status and let the caller log")
    if path.startswith(CLOCKLESS) and CLOCKLESS_HEADERS.match(included):
        yield Problem(path, line, included, "no clock, file, socket, log or mutex here")


def check_own_header_first(tree):
    """With this, a header that has a .cc is known to compile alone."""
    for path in tree.cpp():
        header = path[:-3] + ".h"
        if not path.endswith(".cc") or not tree.exists(header):
            continue
        first = next(cpp.includes(tree.text(path)), (1, "", "nothing"))
        if first[2] != header:
            yield Problem(path, first[0], f"includes {first[2]} first",
                          f"{header} comes first, which shows that it compiles alone")


def _matches(pattern, path, text):
    for match in re.finditer(pattern, text, re.M):
        yield Problem(path, cpp.line_of(text, match.end() - 1), match[0].strip(), "")


def check_words(tree):
    for path in tree.cpp():
        code = cpp.code_only(tree.text(path))
        for pattern, allowed, why in WORDS:
            if not re.match(allowed, path):
                for found in _matches(pattern, path, code):
                    yield Problem(path, found.line, found.what, why)
        if path.startswith(CLOCKLESS):
            for found in _matches(r"\bSystemClock\b|\bClock\b|::now\(", path, code):
                yield Problem(path, found.line, found.what, "no clock here: time comes in")
        if not path.startswith(KERNEL_ALLOWED):
            text = cpp.without_comments(tree.text(path))
            for found in _matches(KERNEL_WORDS, path, text):
                yield Problem(path, found.line, found.what,
                              "only agents/host touches the machine")
