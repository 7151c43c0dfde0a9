#!/usr/bin/env python3
"""Tests of deploy/dependencies.txt: its format, and that its groups are those in use."""

import os
import re
import shutil
import subprocess

from deploytest import DEPLOY, ROOT, DeployTest, main

LINE = re.compile(r"(\w+) +([a-z0-9][a-z0-9./+|-]+)")
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

    def test_packages_build_with_what_the_page_installs(self):
        """dpkg-buildpackage stops at a missing package of Build-Depends."""
        control = (ROOT / "debian/control").read_text()
        depends = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.M)[1]
        needed = {line.split()[0].strip(",") for line in depends.splitlines()}
        page = (ROOT / "docs/OPERATIONS.md").read_text()
        installed = set(re.search(r"apt-get install (debhelper .*)", page)[1].split())
        build = {name.split("|")[0] for group, name in self.packages if group == "build"}
        self.assertEqual(needed - {"debhelper-compat"} - build, installed - {"debhelper"})
        tested = {name for group, name in self.packages if group == "test"}
        self.assertLessEqual(installed, tested)

    def test_an_unknown_group_is_an_error(self):
        done = subprocess.run([DEPLOY / "install-dependencies", "biuld"], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'biuld'", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def install_npm(self, npm):
        """Runs `install-dependencies npm` in a copy of the tree with this script as npm."""
        here = self.folder()
        (here / "deploy").mkdir()
        for name in ("dependencies.txt", "install-dependencies"):
            shutil.copy(DEPLOY / name, here / "deploy" / name)
        folders = [name for group, name in self.packages if group == "npm"]
        for name in folders:
            (here / name).mkdir(parents=True)
            shutil.copy(ROOT / name / "package-lock.json", here / name)
        (here / "bin").mkdir()
        for name, script in (("npm", npm), ("node", "exit 0")):
            (here / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
            (here / "bin" / name).chmod(0o755)
        environment = {**os.environ, "PATH": f"{here}/bin:{os.environ['PATH']}"}

        def run():
            done = subprocess.run([here / "deploy/install-dependencies", "npm"], text=True,
                                  capture_output=True, timeout=60, check=False, env=environment)
            self.assertEqual((done.returncode, done.stdout), (0, ""))
            return done.stderr.splitlines()
        return here, folders, run

    def test_packages_of_npm_are_installed_once(self):
        here, folders, run = self.install_npm('mkdir -p node_modules && echo "$*" >>calls')
        self.assertTrue(folders)
        self.assertEqual(run(), [])
        self.assertEqual(run(), [])
        for name in folders:
            calls = (here / name / "calls").read_text().splitlines()
            self.assertEqual([call.split()[0] for call in calls], ["ci"], name)

    def test_without_the_registry_of_npm_the_reason_is_printed(self):
        _, folders, run = self.install_npm("echo npm error network ENOTFOUND >&2; exit 1")
        lines = run()
        self.assertEqual(len(lines), len(folders))
        for line, name in zip(lines, folders):
            self.assertIn(f"packages of {name} are not installed: npm ci failed: npm error "
                          "network ENOTFOUND", line)

    def test_lock_files_of_npm_agree_with_their_packages(self):
        """npm ci refuses a lock file that lacks packages."""
        if not shutil.which("npm"):
            self.skipTest("npm is not installed")
        for group, name in self.packages:
            if group == "npm":
                here = self.folder()
                for file in ("package.json", "package-lock.json", ".npmrc"):
                    if (ROOT / name / file).exists():
                        shutil.copy(ROOT / name / file, here)
                self.run_well("npm", "ci", "--dry-run", "--offline", "--no-audit", cwd=here)


if __name__ == "__main__":
    main()
