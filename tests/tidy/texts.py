"""Sizes, comments, and whether texts parse."""

import ast
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import cpp
from tree import FOREIGN, Problem

LINE_MAX = 100
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
TEST_LINES_MAX = 500
SELF = "tests/tidy/"  # Names what it forbids.


def check_sizes(tree):
    for path in tree.written():
        lines = tree.lines(path)
        count = len(lines) - (lines[-1] == "")
        limit = TEST_LINES_MAX if path.startswith("tests/") else FILE_LINES_MAX
        if count > limit:
            yield Problem(path, count, f"{count} lines",
                          f"a file has at most {limit}: split it")
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                yield Problem(path, number, f"{len(line)} columns",
                              f"a line has at most {LINE_MAX}")
        for number, length in _functions(tree, path):
            if length > FUNCTION_LINES_MAX:
                yield Problem(path, number, f"function of {length} lines",
                              f"a function has at most {FUNCTION_LINES_MAX}")


def _functions(tree, path):
    interpreter = tree.interpreter(path)
    if path.endswith((".cc", ".h", ".c")):
        yield from cpp.functions(tree.text(path))
    elif interpreter == "python":
        yield from _python_functions(tree.text(path))
    elif interpreter == "shell":
        yield from _shell_functions(tree.lines(path))


def _python_functions(text):
    try:
        module = ast.parse(text)
    except SyntaxError:
        return  # check_scripts says so.
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1


def _shell_functions(lines):
    begin = None
    for number, line in enumerate(lines, 1):
        if re.match(r"(function\s+)?[\w-]+\s*\(\)\s*\{?\s*$", line):
            begin = number
        elif begin is not None and line.startswith("}"):
            yield begin, number - begin + 1
            begin = None


# One blank after the slashes: an example in a comment is indented further.
_CPP_DEAD = re.compile(
    r"^\s*//\s?(?:(?:return|if|for|while|switch|else|case)\b.*[;{]|[}\]]+[);]*"
    r"|#\s*include\b.*|(?:TEST|EXPECT|ASSERT)(?:_\w+)?\(.*|[\w:.>&*<\[\]-]+\([^)]*\)\s*;"
    r"|(?:const |auto |static )*[\w:<>&*]+\s+\w+\s*(?:=[^=].*|\{.*\})?;"
    r"|[\w.>-]+(?:\[[^\]]*\])?\s*[-+|&]?=[^=].*;)\s*$")
_SCRIPT_DEAD = re.compile(
    r"^\s*#\s?(?:(?:def|class|elif|while)\s.*:|(?:from\s+[\w.]+\s+)?import\s+[\w.]+"
    r"|return(?:\s+\w+)?|[\w.]+\([^)]*\)|[\w.]+\s*\+?=\s*[\w\"'\[({].*|fi|done|then|esac)\s*$")
_PROMISE = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")


def check_comments(tree):
    for path in tree.written():
        if path.startswith(FOREIGN + (SELF,)):
            continue
        dead = _CPP_DEAD if path.endswith((".cc", ".h")) else _SCRIPT_DEAD
        for number, line in enumerate(tree.lines(path), 1):
            if dead.match(line):
                yield Problem(path, number, line.strip()[:40], "code in a comment: git remembers")


def check_promises(tree):
    texts = (".cc", ".h", ".c", ".py", ".sh", ".md", ".proto", ".cmake", ".txt", ".yaml", ".yml")
    for path in tree.files:
        if path.startswith(SELF) or not (path.endswith(texts) or tree.interpreter(path)):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            for found in _PROMISE.finditer(line):
                yield Problem(path, number, found[0], f"needs its issue: {found[0]}(#12)")


def check_scripts(tree):
    for path in tree.scripts("shell"):
        ran = subprocess.run(["bash", "-n", str(tree.root / path)], capture_output=True, text=True)
        if ran.returncode != 0:
            said = ran.stderr.strip().split("\n")[0]
            line = re.search(r"line (\d+)", said)
            yield Problem(path, int(line[1]) if line else 1, "bash -n", said.split(": ", 1)[-1])
    for path in tree.scripts("python"):
        try:
            ast.parse(tree.text(path))
        except SyntaxError as error:
            yield Problem(path, error.lineno or 1, "python", error.msg)


def check_data(tree):
    for path in tree.files:
        if path.endswith(".json"):
            try:
                json.loads(tree.text(path))
            except json.JSONDecodeError as error:
                yield Problem(path, error.lineno, "json", error.msg)
        elif path.endswith((".yaml", ".yml")) and "{{" not in tree.text(path):
            yield from _check_yaml(tree, path)


def _check_yaml(tree, path):
    try:
        import yaml  # Not of the standard library: checked where it is installed.
    except ImportError:
        return
    try:
        for _ in yaml.safe_load_all(tree.text(path)):
            pass
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield Problem(path, mark.line + 1 if mark else 1, "yaml",
                      getattr(error, "problem", None) or str(error).split("\n", 1)[0])


def check_format(tree):
    program = shutil.which("clang-format-14")
    if program is None:
        return
    files = tree.cpp()
    jobs = os.cpu_count() or 1
    batches = [files[i::4 * jobs] for i in range(4 * jobs) if files[i::4 * jobs]]

    def run(batch):
        return subprocess.run([program, "--dry-run", "-Werror", *batch], cwd=tree.root,
                              capture_output=True, text=True).stderr

    seen = set()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for said in pool.map(run, batches):
            for match in re.finditer(r"^(\S+?):(\d+):\d+: error:", said, re.M):
                if match[1] not in seen:  # One line for each file is enough to act on.
                    seen.add(match[1])
                    yield Problem(match[1], int(match[2]), "not formatted",
                                  f"clang-format-14 -i {match[1]}")
