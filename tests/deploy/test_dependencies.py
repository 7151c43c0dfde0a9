#!/usr/bin/env python3
"""Tests of deploy/dependencies.txt: its format, and that its groups are those in use."""

import re
import subprocess

from deploytest import DEPLOY, ROOT, DeployTest, main

LINE = re.compile(r"(\w+) +([a-z0-9][a-z0-9.+|-]+)")
# Files that install groups, and a pattern of the groups.
USES = (("tests/run", r"install-dependencies((?: \w+)+)"),
        ("deploy/quickstart", r'install-dependencies"((?: \w+)+)'),
        ("deploy/quickstart.py", r"install\(progress, (\[.*\].*)\)"))


class TestDependencies(DeployTest):
    def setUp(self):
        text = (DEPLOY / "dependencies.txt").read_text()
        self.lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.packages = [match.groups() for match in map(LINE.fullmatch, self.lines) if match]
        self.groups = {group for group, _ in self.packages}

    def test_lines_are_a_group_and_a_package(self):
        self.assertEqual([line for line in self.lines if not LINE.fullmatch(line)], [])

    def test_no_line_twice(self):
        twice = {entry for entry in self.packages if self.packages.count(entry) > 1}
        self.assertEqual(twice, set())

    def test_groups_are_those_that_are_used(self):
        used = set()
        for file, pattern in USES:
            found = re.findall(pattern, (ROOT / file).read_text())
            self.assertTrue(found, f"{file} installs no group")
            used |= set(re.findall(r"[a-z]+", " ".join(found))) - {"if", "else"}
        self.assertEqual(used, self.groups)

    def test_an_unknown_group_is_an_error(self):
        done = subprocess.run([DEPLOY / "install-dependencies", "biuld"], capture_output=True,
                              text=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'biuld'", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    main()
