#!/usr/bin/env python3
"""The two commands of the README work on a minimal Debian 12.

deploy/quickstart and tests/run install groups of deploy/dependencies.txt. With only these packages,
the programs and the guests' file system must have all their libraries. The programs are not built
again: those of build/release/bin are mounted in the root.
"""

import pathlib
import sys
import tempfile
import time

import minimalroot
from deploytest import BIN, DeployTest, main

PROGRAMS = ("fabricd", "fabric-agent", "fabricctl")
LOADER = "/lib64/ld-linux-x86-64.so.2"
# Builds the guests' file system with the agent, in the root. Prints its path.
IMAGE = """
import sys
sys.path.insert(0, "tests/lab")
import labdefs, labimage
print(labimage.build_all(sys.argv[1:], labdefs.Steps())[1])
"""


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class TestMinimalRoot(DeployTest):
    def setUp(self):
        self.tool("mmdebstrap")
        reason = minimalroot.obstacle()
        if reason:
            self.skipTest(reason)
        for name in PROGRAMS:
            self.program(name)
        self.begun = time.monotonic()
        self.root = minimalroot.MinimalRoot(BIN.resolve())
        self.took("root")

    def took(self, what):
        now = time.monotonic()
        print(f"[{what} {now - self.begun:.0f} s] ", end="", file=sys.stderr, flush=True)
        self.begun = now

    def install(self, *groups):
        self.root.run("deploy/install-dependencies", *groups)
        self.took(f"install {' '.join(groups)}")

    def check_programs(self, programs):
        """The root's loader finds the libraries of all programs."""
        listed = self.root.run("sh", "-c", 'for p; do echo "$p:"; ldd "$p" 2>&1; done', "sh",
                               *programs)
        self.check_listed(listed, len(programs))
        self.took(f"libraries of {len(programs)} programs")

    def check_listed(self, listed, programs):
        """Checks the loader's output for at least this many programs."""
        wrong = [line for line in listed.splitlines()
                 if "not found" in line or "cannot open" in line or "No such file" in line]
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(listed.count("libc.so.6 => "), programs, listed[-3000:])

    def check_image(self, image):
        """The guests' loader finds the libraries of all files of their file system."""
        with tempfile.TemporaryDirectory(prefix="fabric-image-") as folder:
            guest = pathlib.Path(folder)
            minimalroot.unpack_image(image, guest)
            files = [f"/{path.relative_to(guest)}" for path in guest.rglob("*")
                     if is_elf(path) and path.suffix != ".ko"]
            self.assertIn("/usr/sbin/tc", files)
            self.assertIn("/usr/bin/fabric-agent", files)
            listed = minimalroot.command(
                "chroot", folder, "/bin/sh", "-c",
                f'for f; do echo "$f:"; {LOADER} --list "$f" 2>&1; done; true', "sh", *files)
        self.check_listed(listed, 20)
        self.took(f"libraries of {len(files)} files of the guests")

    def test_quickstart_and_then_the_tests(self):
        self.install("run")
        self.install("build", "lab")
        self.root.run("tests/lab/lab", "prepare")
        self.took("lab prepare")
        self.check_programs([BIN.resolve() / name for name in PROGRAMS])
        image = self.root.run("python3", "-B", "-c", IMAGE, BIN.resolve() / "fabric-agent")
        self.check_image(self.root.place(image.split()[-1]))
        self.root.run("qemu-system-x86_64", "--version")
        self.install("build", "run", "lab", "test")
        self.check_programs([path for path in sorted(BIN.resolve().iterdir()) if is_elf(path)])


if __name__ == "__main__":
    main()
