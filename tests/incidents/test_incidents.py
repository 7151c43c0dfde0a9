"""Incidents of incidents.txt, played as an operator would: fabric-agent inspect --root TREE,
fabricctl check FILES, fabricctl explain-log FILE.

    == name
    source: where it was reported
    tree: NAME [xN]     machine of tests/fixtures, N copies with their own names, addresses and ids
    each: WORD...       the following edits with EACH are made for each of these words
    before: EDIT        a change that the healthy machine has, too
    edit: [N:] set PATH VALUE | append PATH TEXT | remove PATH | replace PATH OLD => NEW
               | bytes PATH OFFSET HEX | copy PATH FROM | link PATH TARGET
                        on node N, without it on the first
    finding: RULE SUBJECT   the failing findings that the edits add and that no other explains; the
                        first line is the first that is printed
    changed: TEXT       a line of `fabricctl diff` of the first node, before and after the edits
    log: TEXT           a line of the job's log
    cause: ID           its first cause; none: no cause and no note
"""

import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
# What differs between copies of a machine: text, and the text of copy N.
NAMES = {
    "h100_infiniband": [("h100-01", "h100-0{n}"), ("a088:c203", "a088:c20{m}"),
                        ("a0:88:c2:03", "a0:88:c2:0{m}"), ("lid = 0x2", "lid = 0x{n}02"),
                        ("lid = 0x3", "lid = 0x{n}03"), ("4c1f7f0a", "4c1f7f0{n}"),
                        ("6c2f1e0d", "6c2f1e0{n}"), ("GPU-5b0c77a4", "GPU-5b0c77a{n}")],
    "roce_connectx6dx": [("roce-07", "roce-0{m}"), ("9a8b7c6d", "9a8b7c6{n}"),
                         ("01234567-89ab", "0123456{n}-89ab"), ("00aa:00", "00aa:{n}0"),
                         ("feaa:00", "feaa:{n}0"), ("aa:00:1", "aa:{n}0:1"),
                         ("0a01:0007", "0a01:000{m}"), ("0a09:0007", "0a09:000{m}")],
    "thor2_bnxt": [("thor-03", "thor-0{m}"), ("ccddeeff", "ccddee{n}f"), ("89abcdef", "89abcde{n}"),
                   ("69ff:fe00", "69ff:fe0{n}"), ("6f:69:00", "6f:69:0{n}"),
                   ("0a03:0003", "0a03:000{m}"), ("0a03:0103", "0a03:010{m}")],
    "e810_irdma": [("e810-04", "e810-0{n}"), ("43526170", "4352617{n}"), ("7d0c2b1a", "7d0c2b1{n}"),
                   ("fed2:10a", "fee{n}:10a"), ("91:d2:10", "91:e{n}:10"),
                   ("0a06:0004", "0a06:000{n}")],
}


class Incident:
    def __init__(self, name):
        self.name = name
        self.tree = None
        self.copies = 1
        self.each = []
        self.before = []
        self.edits = []
        self.findings = []
        self.changed = []
        self.log = []
        self.cause = None

    def add(self, key, value):
        if key == "tree":
            self.tree, _, copies = value.partition(" x")
            self.copies = int(copies or 1)
        elif key == "each":
            self.each = value.split()
        elif key in ("edit", "before"):
            node, colon, edit = value.partition(": ")
            numbered = bool(colon) and node.isdigit()
            edit = edit if numbered else value
            words = self.each if "EACH" in edit else [""]
            edits = self.edits if key == "edit" else self.before
            edits += [(int(node) if numbered else 1, edit.replace("EACH", word))
                      for word in words]
        elif key == "finding":
            self.findings.append(value)
        elif key == "changed":
            self.changed.append(value)
        elif key == "log":
            self.log.append(value)
        elif key == "cause":
            self.cause = value
        elif key != "source":
            raise ValueError(f"{self.name}: unknown key {key}")


def read(path):
    incidents = []
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            incidents.append(Incident(line[3:]))
        elif line and not line.startswith("#"):
            key, _, value = line.partition(":")
            incidents[-1].add(key, value[1:])
    return incidents


def edit(root, words):
    verb, path, rest = (words + "  ").split(" ", 2)
    at = root / path
    rest = rest.strip(" ") if verb != "replace" else rest
    if verb == "set":
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(rest + "\n")
    elif verb == "append":
        at.write_text(at.read_text() + (rest + "\n" if rest else ""))
    elif verb == "remove":
        if at.is_dir() and not at.is_symlink():
            shutil.rmtree(at)
        else:
            at.unlink()
    elif verb == "bytes":
        offset, _, digits = rest.partition(" ")
        data = bytearray(at.read_bytes())
        new = bytes.fromhex(digits)
        data[int(offset, 16):int(offset, 16) + len(new)] = new
        at.write_bytes(data)
    elif verb == "copy":
        shutil.copytree(root / rest, at, symlinks=True)
    elif verb == "link":
        at.symlink_to(rest)
    elif verb == "replace":
        old, _, new = rest.partition("=>")
        text = at.read_text()
        if old.strip() not in text:
            raise ValueError(f"{path}: expected {old.strip()!r}")
        at.write_text(text.replace(old.strip(), new.strip(), 1))
    else:
        raise ValueError(f"unknown edit {words}")


class Player:
    def __init__(self, tools, scratch):
        self.tools = pathlib.Path(tools)
        self.scratch = pathlib.Path(scratch)
        self.bases = {}

    def run(self, tool, *arguments):
        return subprocess.run([self.tools / tool, *map(str, arguments)], capture_output=True,
                              text=True, check=False)

    def unpack(self, tree, number, folder):
        text = (FIXTURES / f"{tree}.tree").read_text()
        if number > 1:
            for old, new in NAMES[tree]:
                text = text.replace(old, new.format(n=number, m=number + 2))
        archive = folder / f"{number}.tree"
        archive.write_text(text)
        root = folder / f"root{number}"
        done = self.run("unpack", archive, root)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return root

    def check(self, incident, edits, folder):
        folder.mkdir()
        files = []
        for number in range(1, incident.copies + 1):
            root = self.unpack(incident.tree, number, folder)
            for node, words in edits:
                if node == number:
                    edit(root, words)
            snapshot = folder / f"{number}.json"
            seen = self.run("fabric-agent", "inspect", "--root", root, "-o", "json")
            if seen.returncode:
                raise RuntimeError(seen.stderr)
            snapshot.write_text(seen.stdout)
            files.append(snapshot)
        done = self.run("fabricctl", "check", "-o", "json", *files)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        findings = json.loads(done.stdout).get("findings", [])
        return [f"{f['rule']} {subject(f['subject'])}" for f in findings
                if f.get("verdict") == "VERDICT_FAIL" and not f.get("explained_by")]

    def base(self, incident):
        """Findings of the healthy machine, and its folder."""
        key = (incident.tree, incident.copies, *incident.before)
        if key not in self.bases:
            folder = self.scratch / f"base{len(self.bases)}"
            self.bases[key] = (self.check(incident, incident.before, folder), folder)
        return self.bases[key]

    def difference(self, before, after):
        done = self.run("fabricctl", "diff", before / "1.json", after / "1.json")
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr)
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    def play(self, incident):
        problems = []
        if incident.tree:
            base, healthy = self.base(incident)
            folder = self.scratch / incident.name
            seen = [f for f in self.check(incident, incident.before + incident.edits, folder)
                    if f not in base]
            lines = functools.partial(self.difference, healthy, folder)
            problems += [f"no change {text!r} in {lines()}" for text in incident.changed
                         if not any(text in line for line in lines())]
            if seen[:1] != incident.findings[:1] or sorted(seen) != sorted(incident.findings):
                problems.append(f"findings: expected {incident.findings}, saw {seen}")
        if incident.cause:
            log = self.scratch / f"{incident.name}.log"
            log.write_text("\n".join(incident.log) + "\n")
            done = self.run("fabricctl", "explain-log", "-o", "json", log)
            answer = json.loads(done.stdout)
            causes = [c["id"] for c in answer.get("causes", [])]
            first = causes[0] if causes else "unknown" if answer.get("notes") else "none"
            if first != incident.cause:
                problems.append(f"cause: expected {incident.cause}, saw {first} of {causes}")
        return problems


def subject(of):
    if of.get("switch_name"):
        return of["switch_name"]
    parts = [of.get("node"), of.get("device"), of.get("port")]
    return "/".join(str(p) for p in parts if p) or "fleet"


def main():
    tools = sys.argv[1]
    wanted = sys.argv[2:]
    failed = 0
    incidents = [i for i in read(HERE / "incidents.txt") if not wanted or i.name in wanted]
    with tempfile.TemporaryDirectory() as scratch:
        player = Player(tools, scratch)
        for incident in incidents:
            problems = player.play(incident)
            failed += bool(problems)
            for problem in problems:
                print(f"FAIL {incident.name}: {problem}")
    print(f"{len(incidents) - failed} of {len(incidents)} incidents found")
    return 1 if failed or not incidents else 0


if __name__ == "__main__":
    sys.exit(main())
