#!/usr/bin/env python3
"""The Debian packages: build, lintian, installation, upgrade, removal, purge, boot with systemd.

The packages contain the programs of build/release: they are not compiled again. A minimal Debian
with systemd is made in memory. systemd-nspawn boots it.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import minimalroot
from container import CannotBoot, Container
from deploytest import BIN, ROOT, DeployTest, main

PACKAGES = ("fabricd", "fabric-agent", "fabricctl")
UNITS = ("fabricd", "fabric-agent")
# The first is the container, with the unit, the others are captured machines.
NODES = ("gpu-1", "gpu-2", "gpu-3")
FIXTURES = {"gpu-2": "roce_connectx6dx", "gpu-3": "thor2_bnxt"}
METRICS = {"gpu-1": 9417, "gpu-2": 9427, "gpu-3": 9437}  # Ports; real nodes have the same.
PKI = "/root/pki"
# What the user of ten_minutes() writes and makes
JOIN = "join-ca: /etc/fabricd/tls/ca.pem\njoin-ca-key: /etc/fabricd/tls/ca-key.pem\n"
AGENT = """node: gpu-1
controller: 127.0.0.1:9418
metrics: 0.0.0.0:9417
join-dir: /var/lib/fabric-agent
join-token: /etc/fabricd/join-token
"""
SITE = (PKI, "/etc/fabricd/tls", "/etc/fabricd/join-token", "/nodes", "/etc/prometheus")


# The default, xz, needs more time than all other steps of a build.
FAST = {"DPKG_DEB_COMPRESSOR_TYPE": "gzip", "DPKG_DEB_COMPRESSOR_LEVEL": "1"}


def build_packages(folder, version):
    """Builds the packages from the programs of the build tree. Returns their folder."""
    source = folder / version / "fabricd"
    source.mkdir(parents=True)
    for name in ("debian", "deploy", "cmake", "docs", "proto", "daemon"):
        shutil.copytree(ROOT / name, source / name)
    for name in ("README.md", "CHANGELOG.md"):  # Pages of the manual, which links to the folders.
        shutil.copy(ROOT / name, source)
    changelog = source / "debian/changelog"
    changelog.write_text(changelog.read_text().replace("(0.1.0)", f"({version})"))
    minimalroot.command(
        "dpkg-buildpackage", "-b", "-us", "-uc", cwd=source,
        env=dict(os.environ, FABRIC_BUILD=str(BIN.resolve().parent), **FAST))
    return source.parent


def debs(folder):
    return sorted(folder.glob("*.deb"))


class TestPackages(DeployTest):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory(prefix="fabric-packages-")
        cls.addClassCleanup(made.cleanup)
        cls.built = pathlib.Path(made.name)

    @classmethod
    def packages(cls, version):
        """The folder with the packages of a version, which are built once for all tests."""
        folder = cls.built / version
        return folder if folder.exists() else build_packages(cls.built, version)

    def setUp(self):
        for tool in ("dpkg-buildpackage", "dh", "help2man", "lintian"):
            self.tool(tool)
        for name in (*PACKAGES, "unpack"):
            self.program(name)

    def test_packages_are_clean_and_reproducible(self):
        first = self.packages("0.1.0")
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
        old, new = map(self.packages, ("0.1.0", "0.1.1"))
        root = minimalroot.MinimalRoot(include=("systemd", "systemd-sysv"))
        for folder, name in ((old, "old"), (new, "new")):
            shutil.copytree(folder, root.path / "packages" / name)
        policy = root.path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        root.run("apt-get", "update", "-qq")
        begun = time.monotonic()
        self.install(root, "old", "prometheus")
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
        settings.write_text(settings.read_text() + JOIN)
        (root.path / "etc/fabricd/agent.yaml").write_text(AGENT)
        policy.unlink()
        with self.subTest("boot"):
            try:
                with Container(root) as container:
                    self.ten_minutes(container, begun)
                    self.kill(container)
                    self.upgrade(container)
                    self.assertEqual(container.poweroff(), 0)
            except CannotBoot as error:
                self.skipTest(str(error))
        self.install(root, "new", "-o", "Dpkg::Options::=--force-confold")
        self.assertIn(JOIN, settings.read_text())
        for path in SITE:
            root.run("rm", "-rf", path)
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

    def ten_minutes(self, container, begun):
        """What a new user does: CA, controller, three nodes that join, a finding, Prometheus."""
        states = container.run("systemctl", "show", "-P", "ActiveState", *UNITS).split()
        self.assertEqual(states, ["inactive", "inactive"], "the packages start nothing")
        container.run("fabricctl", "pki", "init", "--dir", PKI)
        self.issue(container, "server", "fabricd", "--ip", "127.0.0.1")
        container.run("sh", "-ec", f"""
            cp -r {PKI}/server/fabricd /etc/fabricd/tls
            cp {PKI}/ca-key.pem /etc/fabricd/tls
            chown -R root:fabric-tls /etc/fabricd/tls
            chmod 0750 /etc/fabricd/tls && chmod 0640 /etc/fabricd/tls/*key.pem""")
        container.run("systemctl", "start", "fabricd")
        self.issue(container, "admin", "alice")
        container.environment += ["FABRICCTL_CONTROLLER=127.0.0.1:9418",
                                  f"FABRICCTL_TLS_CA={PKI}/admin/alice/ca.pem",
                                  f"FABRICCTL_TLS_CERT={PKI}/admin/alice/cert.pem",
                                  f"FABRICCTL_TLS_KEY={PKI}/admin/alice/key.pem"]
        container.run("sh", "-ec", f"""
            umask 027
            fabricctl join-token create nodes --uses {len(NODES)} -o name >/etc/fabricd/join-token
            chgrp fabric-tls /etc/fabricd/join-token""")
        container.run("systemctl", "start", "fabric-agent")
        for node in FIXTURES:
            self.captured_node(container, node)
        self.await_nodes(container)
        # The unit forbids what only drop-ins permit, and the agent says so.
        container.await_output(("journalctl", "-u", "fabric-agent", "-o", "cat"),
                               r"clock \(clock synchronization\) needs adjtimex")
        # A shell of root has other permissions.
        container.await_output(("fabric-agent", "doctor", "--unit"),
                               r"at its start, \d+ s ago(.|\n)*\nclock +clock sync\w+ +missing")
        container.await_output(("fabricctl", "findings", "--node", ",".join(NODES), "-o", "name"),
                               r"\S")
        # The journal has the levels of the lines.
        warnings = ("journalctl", "-u", "fabricd", "-p", "warning", "-o", "cat")
        container.await_output(warnings, "fabricd warning finding .* opened: ")
        self.assertNotIn("fabricd info", container.run(*warnings))
        self.scrape(container)
        took = time.monotonic() - begun
        print(f"[first ten minutes: {took:.0f} s] ", end="", file=sys.stderr, flush=True)
        self.assertLess(took, 600)

    def issue(self, container, *words):
        container.run("fabricctl", "pki", "issue", *words, "--dir", PKI)

    def captured_node(self, container, node):
        """An agent on a captured tree, in place of a machine with RDMA devices."""
        tree = container.place(f"/nodes/{node}")
        tree.with_suffix(".join").mkdir(parents=True)
        fixture = ROOT / f"tests/fixtures/{FIXTURES[node]}.tree"
        self.run_well(self.program("unpack"), fixture, tree)
        container.run("systemd-run", f"--unit={node}", "fabric-agent", "run", f"--node={node}",
                      f"--root=/nodes/{node}", "--controller=127.0.0.1:9418",
                      f"--metrics=0.0.0.0:{METRICS[node]}", f"--join-dir=/nodes/{node}.join",
                      "--join-token=/etc/fabricd/join-token")

    def await_nodes(self, container):
        container.await_output(
            ("fabricctl", "nodes", "--filter", "state=connected", "-o", "name"),
            "\n".join(NODES))

    def scrape(self, container):
        """Prometheus with the shipped files, and the lines about TLS of their page."""
        self.issue(container, "metrics", "prometheus")
        container.run("sh", "-ec", f"""
            cp -r {PKI}/metrics/prometheus /etc/prometheus/fabricd
            chown -R prometheus: /etc/prometheus/fabricd""")
        folder = container.place("/etc/prometheus")
        shipped = (ROOT / "deploy/prometheus/prometheus.yml").read_text()
        page = (ROOT / "deploy/prometheus/README.md").read_text()
        job = "  - job_name: fabricd\n"
        lines = re.search(r"\n((?:    (?:scheme|tls_config): .*\n)+)", page)[1]
        self.assertIn(job, shipped)
        (folder / "prometheus.yml").write_text(shipped.replace(job, job + lines))
        shutil.copy(ROOT / "deploy/prometheus/alerts.yml", folder)
        (folder / "fabricd.json").write_text('[{"targets": ["127.0.0.1:9420"]}]')
        (folder / "fabric-agents.json").write_text(json.dumps(
            [{"targets": [f"127.0.0.1:{port}"], "labels": {"node": node}}
             for node, port in METRICS.items()]))
        container.run("systemctl", "restart", "prometheus")
        container.await_output(
            ("promtool", "query", "instant", "http://127.0.0.1:9090",
             'count(up{job=~"fabricd|fabric-agent"} == 1)'), f"=> {1 + len(NODES)} ")

    def kill(self, container):
        """systemd starts a program again that was killed, and its nodes are there again."""
        for unit in UNITS:
            container.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", unit)
            container.await_output(("systemctl", "show", "-P", "NRestarts", unit), "^1$")
            container.await_output(("systemctl", "is-active", unit), "^active")
            self.await_nodes(container)

    def upgrade(self, container):
        """The package starts units that run again. Settings and certificates stay."""
        before = self.invocations(container)
        container.run("sh", "-ec", "dpkg -i /packages/new/*.deb")
        for package in PACKAGES:
            version = container.run("dpkg-query", "-W", "-f", "${Version}", package)
            self.assertEqual(version, "0.1.1")
        after = self.invocations(container)
        for unit in UNITS:
            self.assertNotEqual(before[unit], after[unit], f"{unit} was not started again")
            container.await_output(("systemctl", "is-active", unit), "^active")
        self.await_nodes(container)
        container.run("systemctl", "reload", *UNITS)
        for unit in UNITS:
            container.await_output(("journalctl", "-u", unit, "-o", "cat"),
                                   "reloaded: .*log level info")
        self.assertEqual(after, self.invocations(container), "a reload starts nothing again")

    def invocations(self, container):
        return {unit: container.run("systemctl", "show", "-P", "InvocationID", unit)
                for unit in UNITS}


if __name__ == "__main__":
    print(f"packages of {BIN}", file=sys.stderr)
    main()
