#!/usr/bin/env python3
"""The programs with all of their libraries: a fabricd, an agent and fabricctl run in a newer and in
an older distribution than the one that built them, without a library of theirs."""

import os
import pathlib
import re
import subprocess
import tarfile

import minimalroot
from deploytest import BIN, DEPLOY, DeployTest, main
from fleet import Fleet

SUITES = {"trixie": "2.41", "bullseye": "2.31"}  # With the version of their C library
PROVIDERS = ("bnxt_re", "efa", "hns", "irdma", "mana", "mlx4", "mlx5", "qedr", "rxe", "siw")


class TestPortable(DeployTest):
    def setUp(self):
        self.tool("mmdebstrap")
        for name in ("fabricd", "fabric-agent", "fabricctl", "unpack"):
            self.program(name)
        reason = minimalroot.obstacle()
        if reason:
            self.skipTest(reason)

    def build(self, build, out):
        return subprocess.run([DEPLOY / "portable/build", build, out], capture_output=True,
                              text=True, timeout=300, check=False,
                              env=dict(os.environ, SOURCE_DATE_EPOCH="1767225600"))

    def test_programs_run_in_other_distributions(self):
        folder = self.folder()
        done = self.build(BIN.parent, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        archive = pathlib.Path(done.stdout.strip())
        self.assertRegex(archive.name, r"^fabricd-0\.1\.0-\w+\.tar\.gz$")
        self.check_members(archive)
        for suite, library in SUITES.items():
            with self.subTest(suite):
                root = folder / suite
                self.run_well("mmdebstrap", "--quiet", "--variant=essential", suite, root,
                              env=dict(os.environ, TMPDIR=str(folder)), timeout=300)
                self.assertIn(library, self.run_well("chroot", root, "ldd", "--version"))
                self.run_well("tar", "-C", root / "opt", "-xzf", archive)
                (root / "opt/fabricd").symlink_to(archive.name.removesuffix(".tar.gz"))
                self.fleet_runs(root)

    def check_members(self, archive):
        with tarfile.open(archive) as tar:
            members = {name.partition("/")[2]: tar.getmember(name) for name in tar.getnames()}
            for member in members.values():
                self.assertEqual((member.uid, member.mode & 0o022), (0, 0), member.name)
                self.assertFalse(member.issym(), member.name)
            for name in PROVIDERS:
                self.assertIn(f"lib/fabricd/providers/lib{name}-rdmav34.so", members)
            for package in ("libc6", "libgrpc++1.51", "libibverbs1"):
                self.assertIn(f"lib/fabricd/copyright/{package}", members)
            unit = tar.extractfile(members["lib/systemd/system/fabric-agent.service"]).read()
        self.assertIn(b"ExecStart=/opt/fabricd/bin/fabric-agent run", unit)

    def fleet_runs(self, root):
        """A controller, an agent and a client, each in the root."""
        inside = root / "fleet"
        inside.mkdir()
        outside = self.folder() / "fleet"
        # Files of the fleet have one path inside and outside of the root.
        outside.symlink_to(inside)
        (root / str(outside).lstrip("/")).parent.mkdir(parents=True)
        (root / str(outside).lstrip("/")).symlink_to("/fleet")

        def program(name):
            if name == "unpack":
                return self.program(name)
            script = outside / f"in-root-{name}"
            script.write_text(f'#!/bin/sh\nexec chroot "{root}" /opt/fabricd/bin/{name} "$@"\n')
            script.chmod(0o755)
            return script

        for name, words in (("fabricd", "--version"), ("fabric-agent", "version"),
                            ("fabricctl", "--version")):
            self.assertIn("0.1.0", self.run_well(program(name), words))
        with Fleet(outside, program) as fleet:
            fleet.add("n1", "roce_connectx6dx")
            nodes = lambda: self.run_well(  # noqa: E731
                program("fabricctl"), "--controller", fleet.grpc, "nodes")
            fleet.wait(lambda: re.search(r"n1 +connected", nodes()), "n1 is connected")
            process, _ = fleet.agents["n1"]
            self.assertEqual(pathlib.Path(f"/proc/{process.pid}/comm").read_text(),
                             "fabric-agent\n")
            mapped = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
            files = set(re.findall(r"(\S*/\S+\.so\S*)$", mapped, re.M))
            self.assertTrue(files)
            self.assertEqual({file for file in files if "/lib/fabricd/" not in file}, set(),
                             "all libraries are those of the archive")

    def test_an_incomplete_build_is_one_line(self):
        done = self.build(self.folder(), self.folder())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^build: no program \S+/bin/fabricd\n$")


if __name__ == "__main__":
    main()
