"""Commands in the code blocks of a documentation page, and how a test runs them."""

import dataclasses
import os
import re
import shutil
import subprocess

from deploytest import ROOT

PROMPT = "$ "
# Not on every machine, and words of a shell
WORDS = {"fabricctl", "fabric-agent", "fabricd", "umask", "ibnetdiscover", "journalctl",
         "systemctl", "jq", "curl", "openssl"}
SYSTEMD = "needs systemd"


def blocks(text):
    """The lines of each code block that has no language, without the indentation."""
    found = []
    fence = None
    block = []
    for line in [*text.split("\n"), ""]:
        mark = re.match(r"```(\w*)", line)
        if mark:
            if fence is None:
                fence, block = mark[1], []
                continue
            if not fence:
                found.append(block)
            fence, block = None, []
        elif fence is not None:
            block.append(line)
        elif line.startswith("    "):
            block.append(line[4:])
        elif block:
            found.append(block)
            block = []
    return found


def is_command(line):
    word = re.match(r"\(?([a-z][\w.-]*)(?= |$)", line)
    return bool(word) and (word[1] in WORDS or shutil.which(word[1]) is not None)


def commands(text):
    """The command lines of a page. In a block with prompts, other lines are output."""
    found = []
    for block in blocks(text):
        joined = "\n".join(block).replace("\\\n", " ").split("\n")
        with_prompt = any(line.startswith(PROMPT) for line in joined)
        for line in joined:
            if with_prompt and line.startswith(PROMPT):
                found.append(line[len(PROMPT):])
            elif not with_prompt and is_command(line):
                found.append(line)
    return found


@dataclasses.dataclass
class Page:
    """A page below docs/, and what the test does with its commands, by their beginnings."""

    path: str
    # (pattern, text or function of the match): the names of the page, and those of the test
    replace: list = dataclasses.field(default_factory=list)
    not_run: dict = dataclasses.field(default_factory=dict)  # The reason
    status: dict = dataclasses.field(default_factory=dict)   # Other exit statuses than 0, 1, 6
    before: dict = dataclasses.field(default_factory=dict)   # A function to call before
    output: dict = dataclasses.field(default_factory=dict)   # A pattern in the output


@dataclasses.dataclass
class Counts:
    run: int = 0
    not_run: dict = dataclasses.field(default_factory=dict)  # {reason: [command]}

    def __str__(self):
        left = [f"{len(lines)} ({reason})" for reason, lines in sorted(self.not_run.items())]
        return f"{self.run} commands run, not run: {', '.join(left) or 'none'}"


def _of(rules, line, used):
    """The value of the first beginning that fits."""
    for begin, value in rules.items():
        if line.startswith(begin):
            used.add(begin)
            return value
    return None


def run(test, page, folder, environment, counts):
    """Runs the commands of a page in the folder, in their order."""
    used = set()
    lines = commands((ROOT / "docs" / page.path).read_text())
    test.assertTrue(lines, f"{page.path} has no commands")
    for line in lines:
        where = f"{page.path}: {line}"
        if reason := _of(page.not_run, line, used):
            counts.not_run.setdefault(reason, []).append(where)
            continue
        if before := _of(page.before, line, used):
            before()
        statuses = _of(page.status, line, used) or (0, 1, 6)
        expected = _of(page.output, line, used)
        changed = line
        for pattern, text in page.replace:
            changed = re.sub(pattern, text, changed)
        done = subprocess.run(["bash", "-c", f"set -o pipefail\n{changed}"], text=True,
                              capture_output=True, timeout=60, check=False, cwd=folder,
                              env=dict(os.environ, **environment))
        said = f"{where}\nrun as: {changed}\n{done.stdout}\n{done.stderr}"
        test.assertIn(done.returncode, statuses, said)
        if statuses == (0, 1, 6):
            test.assertNotIn("expected", done.stderr, said)
        if expected:
            test.assertRegex(done.stdout + done.stderr, expected, said)
        counts.run += 1
    rules = {begin for table in (page.not_run, page.status, page.before, page.output)
             for begin in table}
    test.assertEqual(rules - used, set(), f"{page.path}: no command begins so any more")
