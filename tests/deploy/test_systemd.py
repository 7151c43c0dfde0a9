#!/usr/bin/env python3
"""The systemd units are valid, restricted, and match the programs that they start."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time

from deploytest import BIN, DEPLOY, ROOT, DeployTest, main

UNITS = {"fabricd": "fabricd.service", "fabric-agent": "fabric-agent.service"}
# Of 10, as systemd-analyze security counts. The agent needs the kernel log, packet sockets and
# devices.
EXPOSURE_MAX = {"fabricd": 1.5, "fabric-agent": 2.5}
DROP_INS = ("deep", "nvidia", "amd", "clock", "umad", "pods")


def unit_text(name):
    return (DEPLOY / "systemd" / UNITS[name]).read_text()


def values(text, key):
    return re.findall(rf"^{key}=(.*)$", text, re.M)


class TestSystemd(DeployTest):
    def copy(self, name):
        """Copies a unit, with the path of the built program. Returns the copy."""
        text = unit_text(name)
        changed = text.replace(f"ExecStart=/usr/bin/{name} ", f"ExecStart={self.program(name)} ")
        self.assertNotEqual(text, changed, f"{UNITS[name]} does not start /usr/bin/{name}")
        path = self.folder() / UNITS[name]
        path.write_text(changed)
        return path

    def test_systemd_accepts_the_units(self):
        tool = self.tool("systemd-analyze")
        for name in UNITS:
            with self.subTest(name):
                done = subprocess.run([tool, "verify", "--man=no", self.copy(name)], text=True,
                                      capture_output=True, timeout=60, check=False)
                ours = [line for line in (done.stdout + done.stderr).splitlines()
                        if UNITS[name] in line]
                self.assertEqual((done.returncode, ours), (0, []), done.stderr)

    def test_systemd_rejects_a_broken_unit(self):
        """Shows that test_systemd_accepts_the_units can fail."""
        tool = self.tool("systemd-analyze")
        unit = self.copy("fabricd")
        unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=often"))
        done = subprocess.run([tool, "verify", "--man=no", unit], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertIn("fabricd.service:", done.stderr)

    def test_exposure_is_low(self):
        tool = self.tool("systemd-analyze")
        for name in UNITS:
            with self.subTest(name):
                printed = self.run_well(tool, "security", "--offline=true", "--no-pager",
                                        self.copy(name))
                exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", printed)
                self.assertIsNotNone(exposure, printed)
                self.assertLessEqual(float(exposure[1]), EXPOSURE_MAX[name], printed)

    def test_systemd_accepts_the_drop_ins(self):
        for name in DROP_INS:
            with self.subTest(name):
                unit = self.copy("fabric-agent")
                folder = unit.with_name("fabric-agent.service.d")
                folder.mkdir()
                drop_in = DEPLOY / f"systemd/fabric-agent-{name}.conf"
                (folder / "x.conf").write_text(drop_in.read_text())
                done = subprocess.run([self.tool("systemd-analyze"), "verify", "--man=no", unit],
                                      text=True, capture_output=True, timeout=60, check=False)
                self.assertEqual((done.returncode, "x.conf" in done.stderr), (0, False),
                                 done.stderr)

    def test_doctor_names_files_that_are_installed(self):
        text = (ROOT / "agents/doctor/doctor.cc").read_text()
        text = re.sub(r'"\s+"', "", text)
        named = set(re.findall(r"/usr/share/fabricd/systemd/(\S+)", text))
        mentioned = set(re.findall(r"[\w-]+\.(?:conf|rules)\b", text)) & {
            path.name for path in (DEPLOY / "systemd").iterdir()}
        self.assertEqual(named, mentioned, "a grant without the command that installs the file")
        self.assertIn("fabric-agent-nvidia.conf", named)
        installed = re.findall(r"deploy/systemd/(\S+)", (ROOT / "CMakeLists.txt").read_text())
        for name in named:
            self.assertTrue((DEPLOY / "systemd" / name).exists(), name)
            self.assertIn(name, installed)

    def test_the_udev_rule_has_the_form_of_one(self):
        """By its form: udevadm of Debian 12 has no command verify."""
        rules = (DEPLOY / "systemd/70-fabric-umad.rules").read_text().splitlines()
        [rule] = [line for line in rules if not line.startswith("#")]
        for part in rule.split(", "):
            self.assertRegex(part, r'^[A-Z]+(==|=)"[^"]+"$')

    def test_units_have_limits(self):
        for name in UNITS:
            for key in ("WatchdogSec", "MemoryMax", "TasksMax"):
                self.assertEqual(len(values(unit_text(name), key)), 1, f"{name} {key}")

    def test_reload_is_the_signal_of_the_programs(self):
        for name in UNITS:  # A minimal system has no /bin/kill.
            self.assertEqual(["/bin/sh -c 'kill -HUP $MAINPID'"],
                             values(unit_text(name), "ExecReload"))

    def test_agent_has_only_the_capabilities_of_its_inspectors(self):
        text = unit_text("fabric-agent")
        self.assertEqual(["CAP_SYSLOG CAP_NET_RAW"], values(text, "CapabilityBoundingSet"))
        self.assertEqual(["CAP_SYSLOG CAP_NET_RAW"], values(text, "AmbientCapabilities"))
        self.assertIn("AF_PACKET", values(text, "RestrictAddressFamilies")[0].split())
        self.assertIn("/dev/kmsg r", values(text, "DeviceAllow"))
        # "yes" would hide /dev/kmsg, regardless of the capabilities.
        self.assertEqual(["no"], values(text, "ProtectKernelLogs"))
        # Without capset the agent cannot give up CAP_NET_RAW.
        self.assertIn("syslog capset", values(text, "SystemCallFilter"))
        page = (DEPLOY.parent / "docs" / "OPERATIONS.md").read_text()
        deep, pods = ((DEPLOY / "systemd" / f"fabric-agent-{name}.conf").read_text()
                      for name in ("deep", "pods"))
        for capability in " ".join([*values(text, "AmbientCapabilities"),
                                    *values(deep, "AmbientCapabilities"),
                                    *values(pods, "AmbientCapabilities")]).split():
            self.assertIn(f"| `{capability}` |", page, "docs/OPERATIONS.md explains it")

    def test_programs_accept_the_settings(self):
        """Checks the arguments of ExecStart, with their settings file of /etc/fabricd."""
        for name, expected in (("fabricd", {"grpc": "0.0.0.0:9418", "rest": "0.0.0.0:9419",
                                            "state": "/var/lib/fabricd/fabricd.db"}),
                               ("fabric-agent", {"controller": "fabricd.example.internal:9418",
                                                 "metrics": "0.0.0.0:9417"})):
            with self.subTest(name):
                start = values(unit_text(name), "ExecStart")[0]
                local = start.replace("/etc/fabricd/", f"{DEPLOY}/systemd/")
                self.assertNotEqual(start, local, "no settings in /etc/fabricd")
                settings = self.settings_of(name, *shlex.split(local)[1:])
                self.assertEqual(expected, {key: settings.get(key) for key in expected})

    def test_the_installation_makes_the_groups_of_the_units(self):
        """A unit with a group that does not exist fails with 216/GROUP."""
        made = set(re.findall(r"^g (\S+) -$",
                              (DEPLOY / "systemd/fabricd-sysusers.conf").read_text(), re.M))
        for name in UNITS:
            [groups] = values(unit_text(name), "SupplementaryGroups")
            self.assertLessEqual(set(groups.split()), made)

    def test_installed_units_start_the_programs_of_their_prefix(self):
        if not (BIN.parent / "cmake_install.cmake").exists():
            self.skipTest(f"{BIN.parent} is not a build tree")
        for name in (*UNITS, "fabricctl"):
            self.program(name)
        root = self.folder()
        self.run_well("cmake", "--install", BIN.resolve().parent, "--prefix", "/usr/local",
                      env=dict(os.environ, DESTDIR=str(root)))
        for name, unit in UNITS.items():
            text = (root / "usr/local/lib/systemd/system" / unit).read_text()
            [start] = values(text, "ExecStart")
            self.assertTrue((root / start.split()[0].lstrip("/")).exists(), start)
            self.assertEqual(start.split()[0], f"/usr/local/bin/{name}")
        share = root / "usr/local/share"
        for path in ("bash-completion/completions/fabricctl", "zsh/site-functions/_fabricctl",
                     "fish/vendor_completions.d/fabricctl.fish",
                     *(f"fabricd/systemd/fabric-agent-{name}.conf" for name in DROP_INS)):
            self.assertTrue((share / path).exists(), path)
        self.check_man_pages(share / "man")

    def check_man_pages(self, folder):
        self.assertIn(".TH", (folder / "man1/fabricctl.1").read_text())
        if shutil.which("help2man") is None:
            self.skipTest("help2man is not installed: no man pages of fabricd and fabric-agent")
        for name in UNITS:
            page = (folder / f"man8/{name}.8").read_text()
            self.assertRegex(page, rf'\.TH {name.upper()} "8" "\w+ \d+" "{name} [0-9.]+"')
            self.assertNotIn("unknown option", page)
        for program in ("fabricd", "fabric-agent"):
            description = re.search(rf"^Package: {program}$.*?^Description: (.*?)$",
                                    (ROOT / "debian/control").read_text(), re.M | re.S)[1]
            self.assertIn(description, (folder / f"man8/{program}.8").read_text())

    def test_state_is_in_a_writable_folder(self):
        text = unit_text("fabricd")
        state = re.search(r"--state (\S+)", values(text, "ExecStart")[0])[1]
        self.assertTrue(state.startswith(f"/var/lib/{values(text, 'StateDirectory')[0]}/"), state)

    def test_the_agent_can_write_what_doctor_reads(self):
        """fabric-agent doctor --unit, for all users."""
        text = unit_text("fabric-agent")
        self.assertEqual(["fabric-agent"], values(text, "RuntimeDirectory"))
        self.assertEqual(["0755"], values(text, "RuntimeDirectoryMode"))
        self.assertIn('"/run/fabric-agent/doctor.json"',
                      (ROOT / "agents/doctor/unit_report.h").read_text())

    def test_a_started_agent_writes_what_its_permissions_are(self):
        folder = self.folder()
        words = ["run", "--no-controller", "--interval=100ms"]
        with subprocess.Popen([self.program("fabric-agent"), *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              env=dict(os.environ, RUNTIME_DIRECTORY=str(folder))) as agent:
            try:
                deadline = time.monotonic() + 30
                while not (folder / "doctor.json").exists() and time.monotonic() < deadline:
                    time.sleep(0.1)
            finally:
                agent.terminate()
        written = json.loads((folder / "doctor.json").read_text())
        self.assertIn("verbs", [row["feature"] for row in written["features"]])
        self.assertRegex(written["examined_at"], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual((folder / "doctor.json").stat().st_mode & 0o777, 0o644)

    def test_a_configuration_error_causes_no_restart(self):
        for name in UNITS:
            with self.subTest(name):
                done = subprocess.run([self.program(name), *(["run"] if "agent" in name else []),
                                       "--no-such-setting=1"], capture_output=True, timeout=60,
                                      check=False)
                prevented = values(unit_text(name), "RestartPreventExitStatus")
                self.assertEqual(prevented, [str(done.returncode)])

    def test_programs_notify_systemd(self):
        """Type=notify waits for READY=1. WatchdogSec needs WATCHDOG=1 in time."""
        arguments = {"fabricd": ["--grpc=127.0.0.1:0", "--rest=127.0.0.1:0", "--state=f.db"],
                     "fabric-agent": ["run", "--controller=127.0.0.1:1", "--interval=100ms"]}
        for name, words in arguments.items():
            with self.subTest(name):
                text = unit_text(name)
                expected = {"READY=1"} if values(text, "Type") == ["notify"] else set()
                expected |= {"WATCHDOG=1"} if values(text, "WatchdogSec") else set()
                self.assertEqual(expected, self.notifications(name, words, expected))

    def notifications(self, name, words, expected):
        """Runs a program until it has sent the expected messages to systemd. Returns those sent."""
        folder = self.folder()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(str(folder / "notify"))
            systemd.settimeout(20)
            environment = dict(os.environ, NOTIFY_SOCKET=str(folder / "notify"),
                               WATCHDOG_USEC="400000")
            with subprocess.Popen([self.program(name), *words], cwd=folder, env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                seen = set()
                try:
                    while not seen >= expected:
                        seen |= set(systemd.recv(4096).decode().split("\n"))
                except TimeoutError:
                    pass
                finally:
                    process.terminate()
            return seen & expected


if __name__ == "__main__":
    main()
