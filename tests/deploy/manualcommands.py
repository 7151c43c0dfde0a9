"""Commands in the code blocks of a documentation page, and how a test runs them."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys

from deploytest import ROOT, DeployTest
from fleet import Fleet

PROMPT = "$ "
# Not on every machine, and words of a shell
WORDS = {"fabricctl", "fabric-agent", "fabricd", "umask", "ibnetdiscover", "journalctl",
         "systemctl", "jq", "curl", "openssl", "sudo", "kubectl", "helm", "skopeo", "rsync",
         "sinfo", "dump_lfts", "sminfo", "dpkg-buildpackage", "xdg-open", "npm", "npx", "ctest"}
# Programs of the repository and of an installation
FOLDERS = ("deploy/", "/usr/share/fabricd/")
SYSTEMD = "needs systemd"
FIXTURE = "roce_connectx6dx"


def run_by(path):
    """The reason of a command that another test runs."""
    assert (ROOT / path).exists(), path
    return f"run by {path}"


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
    word = re.match(r"\(?(?:[A-Z_]+=\S+ )*([a-z/][\w./-]*)(?= |$)", line)
    return bool(word) and (word[1] in WORDS or word[1].startswith(FOLDERS)
                           or "/" not in word[1] and shutil.which(word[1]) is not None)


def section(text, begin, end):
    """The part of a page from a heading to another one."""
    text = text[text.index(f"\n{begin}\n") if begin else 0:]
    return text[:text.index(f"\n{end}\n")] if end else text


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
    begin: str = ""  # The headings before and after the part that is run; empty: all
    end: str = ""
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
    lines = commands(section((ROOT / "docs" / page.path).read_text(), page.begin, page.end))
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


class ManualTest(DeployTest):
    """Runs the commands of pages, and prints at the end how many."""

    @classmethod
    def setUpClass(cls):
        cls.counts = Counts()

    @classmethod
    def tearDownClass(cls):
        print(f"manual: {cls.counts}", file=sys.stderr)
        for reason, lines in sorted(cls.counts.not_run.items()):
            for line in lines:
                print(f"NOT RUN: {line}: {reason}", file=sys.stderr)

    def start(self, *settings, names=("n1", "n2")):
        """A fleet of healthy nodes."""
        fleet = Fleet(self.folder(), self.program, *settings)
        self.addCleanup(fleet.__exit__)
        for name in names:
            fleet.add(name, FIXTURE)
        fleet.wait(lambda: len(fleet.get("/v1/nodes")["nodes"]) == len(names), "the nodes")
        for name in names:
            self.await_state(fleet, name, "CONNECTED")
        return fleet

    @staticmethod
    def await_state(fleet, node, state):
        def reached():
            nodes = {one["name"]: one["state"] for one in fleet.get("/v1/nodes")["nodes"]}
            return nodes.get(node) == f"NODE_STATE_{state}"

        fleet.wait(reached, f"{node} is {state}")

    def environment(self, folder, controller, **more):
        return {"USER": "ada", "HOME": str(folder), "FABRICCTL_CONTROLLER": controller,
                "PATH": f"{self.program('fabricctl').parent}:{os.environ['PATH']}", **more}

    def run_page(self, page, fleet, folder=None, **environment):
        run(self, page, folder or fleet.folder,
            self.environment(fleet.folder, fleet.grpc, **environment), self.counts)

    def inspect(self, fleet, *names):
        """Writes snapshots NAME.json of captured nodes, each under its name."""
        tree = min(fleet.folder.glob("tree-*"))
        for name in names:
            snapshot = json.loads(self.run_well(self.program("fabric-agent"), "inspect", "--root",
                                                tree, "-o", "json"))
            snapshot["node"]["name"] = name
            (fleet.folder / f"{name}.json").write_text(json.dumps(snapshot))
