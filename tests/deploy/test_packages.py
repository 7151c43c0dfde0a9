#!/usr/bin/env python3
"""The Debian packages: build, lintian, installation, upgrade, removal, purge, boot with systemd.

The packages contain the programs of build/release: they are not compiled again. A minimal Debian
with systemd is made in memory. systemd-nspawn boots it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import minimalroot
from deploytest import BIN, ROOT, DeployTest, main

PACKAGES = ("fabricd", "fabric-agent", "fabricctl")
BOOT_WITHIN = 60  # Seconds


def build_packages(folder, version):
    """Builds the packages from the programs of the build tree. Returns their folder."""
    source = folder / version / "fabricd"
    source.mkdir(parents=True)
    for name in ("debian", "deploy", "cmake", "docs", "proto", "daemon"):
        shutil.copytree(ROOT / name, source / name)
    shutil.copy(ROOT / "README.md", source)  # The manual links to it, and to the folders above.
    changelog = source / "debian/changelog"
    changelog.write_text(changelog.read_text().replace("(0.1.0)", f"({version})"))
    minimalroot.command(
        "dpkg-buildpackage", "-b", "-us", "-uc", cwd=source,
        env=dict(os.environ, FABRIC_BUILD=str(BIN.resolve().parent),
                 DEB_BUILD_OPTIONS="noautodbgsym"))
    return source.parent


def debs(folder):
    return sorted(folder.glob("*.deb"))


class TestPackages(DeployTest):
    def setUp(self):
        for tool in ("dpkg-buildpackage", "dh", "help2man", "lintian"):
            self.tool(tool)
        for name in PACKAGES:
            self.program(name)

    def test_packages_are_clean_and_reproducible(self):
        first = build_packages(self.folder(), "0.1.0")
        self.assertEqual([deb.name.split("_")[0] for deb in debs(first)], sorted(PACKAGES))
        printed = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error,warning", *first.glob("*.changes")],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((printed.returncode, printed.stdout), (0, ""))
        second = build_packages(self.folder(), "0.1.0")
        for one, other in zip(debs(first), debs(second)):
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)

    def test_life_of_a_package(self):
        reason = minimalroot.obstacle()
        if reason:
            self.skipTest(reason)
        old, new = (build_packages(self.folder(), version) for version in ("0.1.0", "0.1.1"))
        root = minimalroot.MinimalRoot(include=("systemd", "systemd-sysv"))
        for folder, name in ((old, "old"), (new, "new")):
            shutil.copytree(folder, root.path / "packages" / name)
        policy = root.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        root.run("apt-get", "update", "-qq")
        self.install(root, "old")
        self.assertIn("0.1.0", root.run("fabricd", "--version"))
        self.assertIn("rdma:", (root.path / "etc/group").read_text())
        settings = root.path / "etc/fabricd/fabricd.yaml"
        manual = root.path / "usr/share/fabricd/manual"
        self.assertIn(f"\nmanual: /{manual.relative_to(root.path)}\n", settings.read_text())
        self.assertTrue((manual / "index.html").exists())
        for path, begin in (("bash-completion/completions/fabricctl", "_fabricctl()"),
                            ("fish/vendor_completions.d/fabricctl.fish", "complete"),
                            ("zsh/vendor-completions/_fabricctl", "#compdef fabricctl")):
            self.assertIn(begin, (root.path / "usr/share" / path).read_text())
        settings.write_text("grpc: 127.0.0.1:9418\nrest: 127.0.0.1:9419\n")
        (root.path / "etc/fabricd/agent.yaml").write_text("controller: 127.0.0.1:9418\n")
        with self.subTest("boot"):
            self.boot(root)
        self.install(root, "new", "-o", "Dpkg::Options::=--force-confold")
        self.assertIn("9418", settings.read_text())
        self.assertEqual(sorted(path.name for path in settings.parent.iterdir()),
                         ["agent.yaml", "fabricd.yaml"])
        root.run("dpkg", "--remove", *PACKAGES)
        self.assertTrue(settings.exists())
        self.assertFalse((root.path / "usr/bin/fabricd").exists())
        root.run("dpkg", "--purge", *PACKAGES)
        left = root.run("sh", "-c", "find / -xdev -iname '*fabric*' -not -path '/proc/*' "
                        f"-not -path '/packages*' -not -path '{ROOT}*' -not -path '/sys/*' "
                        "-not -path '/var/lib/systemd/deb-systemd-helper*' -not -path '/tmp/*'")
        self.assertEqual(left.split(), [])

    def install(self, root, name, *options):
        root.run("sh", "-c", 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq '
                 f'--no-install-recommends "$@" /packages/{name}/*.deb', "sh", *options)

    def boot(self, root):
        """Boots the root with systemd, starts both units, kills the controller, and shuts down."""
        if shutil.which("systemd-nspawn") is None:
            self.skipTest("systemd-nspawn is not installed")
        (root.path / "etc/machine-id").write_text("")
        root.unmount_devices()  # systemd-nspawn brings its own.
        with open(self.folder() / "console", "w+", encoding="utf-8") as console, subprocess.Popen(
                ["systemd-nspawn", "-D", root.path, "--private-network", "--register=no",
                 "--keep-unit", "-b", "--console=pipe", "--quiet"], stdin=subprocess.DEVNULL,
                stdout=console, stderr=subprocess.STDOUT) as container:
            try:
                leader = self.leader(container, console.name)
                inside = ("nsenter", "-t", leader, "-a")
                self.await_output(inside, ("systemctl", "is-system-running"), "running|degraded")
                started = subprocess.run([*inside, "systemctl", "start", "fabricd", "fabric-agent"],
                                         check=False, timeout=60)
                self.assertEqual(started.returncode, 0, self.journal(inside))
                self.await_output(inside, ("fabricctl", "nodes", "-o", "name"), r"\S")
                # The unit forbids what only drop-ins permit, and the agent says so.
                self.await_output(inside, ("journalctl", "-u", "fabric-agent", "-o", "cat"),
                                  r"clock \(clock synchronization\) needs adjtimex")
                minimalroot.command(*inside, "systemctl", "kill", "-s", "KILL", "fabricd")
                self.await_output(inside, ("systemctl", "show", "-P", "NRestarts", "fabricd"), "1")
                self.await_output(inside, ("systemctl", "is-active", "fabricd"), "^active")
                self.await_output(inside, ("fabricctl", "nodes", "-o", "name"), r"\S")
                subprocess.run([*inside, "systemctl", "poweroff"], check=False, timeout=60)
                self.assertEqual(container.wait(BOOT_WITHIN), 0)
            finally:
                container.kill()
                container.wait()
                root.mount_devices()

    def leader(self, container, console):
        """The first process of the container."""
        deadline = time.monotonic() + BOOT_WITHIN
        while time.monotonic() < deadline and container.poll() is None:
            children = subprocess.run(["pgrep", "-P", str(container.pid)], capture_output=True,
                                      text=True, check=False).stdout.split()
            if children:
                return children[0]
            time.sleep(0.1)
        text = pathlib.Path(console).read_text(encoding="utf-8", errors="replace")
        self.skipTest(f"systemd-nspawn cannot run here: {text.strip()[-300:]}")

    def await_output(self, inside, words, pattern):
        """Repeats a command in the container until its output matches."""
        deadline = time.monotonic() + BOOT_WITHIN
        seen = ""
        while time.monotonic() < deadline:
            done = subprocess.run([*inside, *words], capture_output=True, text=True, timeout=60,
                                  check=False)
            seen = done.stdout + done.stderr
            if re.search(pattern, done.stdout):
                return
            time.sleep(0.2)
        self.fail(f"{' '.join(words)}: expected {pattern!r}, saw {seen!r}\n{self.journal(inside)}")

    def journal(self, inside):
        return subprocess.run([*inside, "journalctl", "-n", "40", "--no-pager"],
                              capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    print(f"packages of {BIN}", file=sys.stderr)
    main()
