#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lab itself: python3 tests/lab/test_lab.py. The ones in TestGuests boot two guests."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
import labdefs
import labfaults
import labimage
import labstate
from fabriclab import Lab
from labdefs import LabError


def cli(*words, **options):
    env = dict(os.environ)
    env.pop("FABRIC_LAB", None)
    return subprocess.run([sys.executable, str(HERE / "lab"), *words], capture_output=True,
                          text=True, env=env, check=False, timeout=100, **options)


def running(name):
    """Processes whose command line or directory belongs to the lab of that name."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = os.readlink(entry / "cwd") + (entry / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if str(labdefs.RUN / name) in place:
                found.append(int(entry.name))
    return found


def until(test, what, limit=10):
    deadline = time.monotonic() + limit
    while not test():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.05)


class TestParts(unittest.TestCase):
    """What needs no guest."""

    def test_archive_depends_on_contents_only(self):
        def archive(order):
            made = labimage.Archive()
            for name in order:
                made.file(f"usr/bin/{name}", name.encode() * 3)
            made.link("bin", "usr/bin")
            made.device("dev/console", 5, 1)
            return made.bytes()

        self.assertEqual(archive(["a", "bb"]), archive(["bb", "a"]))
        self.assertNotEqual(archive(["a"]), archive(["b"]))
        self.assertEqual(len(archive(["a"])) % 512, 0)

    @unittest.skipUnless(shutil.which("cpio"), "no cpio on this machine")
    def test_archive_is_read_by_cpio(self):
        made = labimage.Archive()
        made.file("etc/one", b"text\n", 0o640)
        made.link("etc/two", "one")
        seen = subprocess.run(["cpio", "-itv", "--quiet"], input=made.bytes(), check=True,
                              capture_output=True).stdout.decode()
        self.assertIn("-rw-r----- ", seen)
        self.assertIn("etc/two -> one", seen)

    def test_digest_separates_its_parts(self):
        self.assertNotEqual(labimage.digest("ab", "c"), labimage.digest("a", "bc"))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"content")
            file.flush()
            self.assertEqual(labimage.digest(pathlib.Path(file.name)), labimage.digest("content"))

    def test_controller_as_guests_see_it(self):
        for given, seen in [("127.0.0.1:7470", "10.0.2.2:7470"), ("localhost:1", "10.0.2.2:1"),
                            (":99", "10.0.2.2:99"), ("192.0.2.7:7470", "192.0.2.7:7470")]:
            self.assertEqual(labdefs.guest_view(given), seen)
        for bad in ("localhost", "a:b", "a:0", "a:65536", ""):
            with self.assertRaisesRegex(LabError, "is not HOST:PORT"):
                labdefs.guest_view(bad)

    def test_process_identity(self):
        me = labstate.identity(os.getpid())
        self.assertTrue(labstate.alive(me))
        self.assertFalse(labstate.alive(dict(me, start=me["start"] - 1)))
        self.assertFalse(labstate.alive(None))
        self.assertFalse(labstate.alive({"pid": 1 << 22, "start": None}))

    def test_every_fault_has_known_words_and_a_way_back(self):
        for fault in labfaults.TABLE:
            for param in fault.params:
                self.assertIn(param.partition("=")[0], labfaults.KINDS)
            self.assertTrue(fault.apply and fault.mend and fault.help, fault.name)
            self.assertIn(fault.usage(), labfaults.help_text())
        for node, name, words in labfaults.planted(["n1", "n2", "n3"]):
            labfaults.check(labfaults.FAULTS[name], words, False, [node])

    def test_fault_words(self):
        def check(name, *words, mend=False):
            return labfaults.check(labfaults.FAULTS[name], list(words), mend, ["n1", "n2"])

        self.assertEqual(check("mtu", "rail1"), ["rail1", "1500"])
        self.assertEqual(check("loss", "rail0", mend=True), ["rail0"])
        self.assertEqual(check("counter", "rail0", "rx_discards_phy", mend=True),
                         ["rail0", "rx_discards_phy"])
        for words, message in [
                (("mtu",), "needs RAIL: mtu RAIL"), (("mtu", "rail9"), "is not one of rail0, rail1"),
                (("mtu", "rail0", "9000"), "'9000' is not a whole number"),
                (("mtu", "rail0", "1", "2"), "takes 2 words, not 3"),
                (("pfc", "rail0", "8"), "'8' is not priorities"),
                (("loss", "rail0", "101"), "is not a number from 0 to 100"),
                (("duplicate-address", "rail0", "n3"), "'n3' is not a node of the lab"),
                (("address", "rail0", "10.1.1"), "is not an IPv4 address")]:
            with self.assertRaisesRegex(LabError, message) as raised:
                check(*words)
            self.assertEqual(raised.exception.status, 2)

    def test_usage_errors(self):
        for words, message in [
                ((), "the following arguments are required: COMMAND"),
                (("start",), "invalid choice: 'start'"),
                (("up", "--nodes", "x"), "invalid int value: 'x'"),
                (("up", "--nodes", "0"), "a lab has 1 to 100 nodes, not 0"),
                (("up", "--name", "a/b"), "'a/b' cannot name a lab"),
                (("up", "--agent", "/bin/true", "--controller", "here"), "'here' is not HOST:PORT"),
                (("up", "--controller", ":1"), "a controller without an agent"),
                (("list", "-o", "xml"), "invalid choice: 'xml'")]:
            done = cli(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_unknown_lab(self):
        done = cli("exec", "--name", "nowhere", "n1", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lab: there is no lab 'nowhere'; ", done.stderr)

    def test_a_lab_whose_processes_are_gone_is_removed(self):
        folder = labdefs.RUN / f"stale-{os.getpid()}"
        folder.mkdir(parents=True)
        labstate.write_json(folder / "lab.json", {"state": "up", "nodes": {}})
        labstate.write_json(folder / "keeper.json", {
            "keeper": {"pid": os.getpid(), "start": 1}, "children": {}})
        self.assertNotIn(folder.name, cli("list").stdout)
        self.assertFalse(folder.exists())


class TestGuests(unittest.TestCase):
    """One lab of two nodes for all of these; each leaves it as it found it."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(nodes=2, programs=[str(labimage.program(HERE / "switch" / "labswitch.c"))])
        cls.addClassCleanup(cls.lab.down)
        cls.lab.up()

    def shell(self, node, script):
        return self.lab.shell(node, script)

    def broken(self, what, *words, node="n1", seen, broken, sound):
        """Breaks and mends; `seen` is a script whose output has `broken` and then `sound`."""
        self.assertIn(sound, self.shell(node, seen))
        self.lab.fault(node, what, *words)
        try:
            self.assertIn(broken, self.shell(node, seen))
        finally:
            self.lab.fault(node, what, *words, mend=True)
        self.assertIn(sound, self.shell(node, seen))

    def test_nodes_are_healthy_and_equal(self):
        for index, node in enumerate(self.lab.nodes, 1):
            links = json.loads(self.shell(node, "rdma -j link"))
            self.assertEqual([(l["ifname"], l["netdev"], l["state"]) for l in links],
                             [("rxe0", "rail0", "ACTIVE"), ("rxe1", "rail1", "ACTIVE")])
            self.assertEqual(self.shell(node, "hostname").strip(), node)
            for number, rail in enumerate(labdefs.RAILS):
                seen = json.loads(self.shell(node, f"ip -j address show {rail}"))[0]
                self.assertEqual(seen["mtu"], 4200)
                self.assertEqual(seen["addr_info"][0]["local"], f"10.10.{number}.{index}")
                self.assertIn(f"0000:00:0{4 + number}.0",
                              self.shell(node, f"readlink /sys/class/net/{rail}"))
                self.assertEqual(json.loads(self.shell(node, f"dcb -j pfc show dev {rail}"))
                                 ["prio_pfc"], [i == 3 for i in range(8)])
                app = self.shell(node, f"dcb app show dev {rail} dscp-prio")
                self.assertIn(" 26:3 ", app)
                self.assertIn(" 48:6 ", app)
                self.assertIn("host ieee", self.shell(node, f"dcb dcbx show dev {rail}"))
                self.assertIn("driver: mlx5_core", self.shell(node, f"ethtool -i {rail}"))
            self.assertIn("nvidia_peermem", self.shell(node, "cat /proc/modules"))
            self.assertEqual(self.shell(node, "cat /sys/bus/pci/devices/0001:1b:00.0/vendor "
                                        "/sys/bus/pci/devices/0001:1b:00.0/class"),
                             "0x10de\n0x030200\n")
        ids = {self.shell(node, "cat /etc/machine-id") for node in self.lab.nodes}
        self.assertEqual({len(i) for i in ids}, {33})
        self.assertEqual(len(ids), 2)

    def test_verbs_between_the_nodes(self):
        for rail in (0, 1):
            command = f"ibv_rc_pingpong -d rxe{rail} -g 1 -n 50"
            server = threading.Thread(target=self.lab.exec, args=("n1", command))
            server.start()
            until(lambda: ":4A15 " in self.shell("n1", "cat /proc/net/tcp /proc/net/tcp6")
                  or ":4A15 " in self.shell("n1", "cat /proc/net/tcp6"), "the server listens")
            done = self.lab.exec("n2", f"{command} 10.10.{rail}.1")
            server.join()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("50 iters in", done.stdout)

    def test_mtu(self):
        self.broken("mtu", "rail0", seen="cat /sys/class/net/rail0/mtu; ibv_devinfo -d rxe0 | "
                    "grep active_mtu", broken="1500\n\t\t\tactive_mtu:\t\t1024",
                    sound="4200\n\t\t\tactive_mtu:\t\t4096")

    def test_link_down(self):
        for how in ("cable", "admin"):
            self.broken("link-down", "rail1", how, seen="sleep 0.3; rdma link show rxe1/1",
                        broken="state DOWN", sound="state ACTIVE")

    def test_addresses(self):
        seen = "ip address show rail0; cat /sys/class/infiniband/rxe0/ports/1/gids/*"
        self.broken("address", "rail0", "10.10.0.77", seen=seen, broken="ffff:0a0a:004d",
                    sound="ffff:0a0a:0001")
        self.broken("duplicate-address", "rail0", "n2", seen=seen + "| grep -c :0a0a:0002 || :",
                    broken="1\n", sound="0\n")
        self.broken("gid-loss", "rail0", seen=seen + "| grep -c :ffff: || :", broken="0\n",
                    sound="1\n")

    def test_pfc(self):
        seen = "dcb pfc show dev rail0; ethtool -S rail0"
        self.broken("pfc-off", "rail0", seen=seen, broken="3:off", sound="3:on")
        self.broken("pfc", "rail0", "4,5", seen=seen, broken="3:off 4:on 5:on", sound="3:on 4:off")
        self.broken("pfc", "rail0", "5", seen=seen, broken="rx_prio5_pause:", sound="rx_prio3_pause:")

    def test_dscp(self):
        seen = "dcb app show dev rail0 dscp-prio | tr ' ' '\\n' | grep -c : || :"
        self.broken("dscp-missing", "rail0", seen=seen, broken="63\n", sound="64\n")
        self.broken("dscp-missing", "rail0", "trust", seen=seen, broken="0\n", sound="64\n")

    def test_counter(self):
        seen = "ethtool -S rail1 | grep rx_prio3_pause: ; dcb -s pfc show dev rail1"
        self.broken("counter", "rail1", "rx_prio3_pause", "1000", seen=seen,
                    broken="rx_prio3_pause: 1000", sound="rx_prio3_pause: 0")
        self.lab.fault("n1", "counter", "rail1", "tx_prio3_pause", "+7")
        self.lab.fault("n1", "counter", "rail1", "tx_prio3_pause", "+7")
        self.assertIn("requests 0:0 1:0 2:0 3:14 ", self.shell("n1", seen))
        self.lab.fault("n1", "counter", "rail1", "tx_prio3_pause", mend=True)
        with self.assertRaisesRegex(LabError, "n1: status"):
            self.lab.fault("n1", "counter", "rail1", "no_such_counter", "1")

    def test_loss_and_delay(self):
        seen = "tc qdisc show dev rail0"
        self.broken("loss", "rail0", "10", seen=seen + "| grep -c 'loss 10%' || :", broken="1\n",
                    sound="0\n")
        self.broken("delay", "rail0", "20", seen=seen + "| grep -c 'delay 20ms' || :",
                    broken="1\n", sound="0\n")
        self.lab.fault("n1", "loss", "rail0", "100")
        self.assertEqual(self.lab.exec("n1", "ping -c 1 -W 1 10.10.0.2").returncode, 1)
        self.lab.fault("n1", "loss", "rail0", mend=True)
        self.assertEqual(self.lab.exec("n1", "ping -c 1 -W 5 10.10.0.2").returncode, 0)

    def test_peermem(self):
        self.broken("peermem-unload", seen="[ -e /sys/module/nvidia_peermem ] && echo in || echo out",
                    broken="out\n", sound="in\n")

    def test_modules_can_be_unloaded(self):
        script = "rmmod labnic && ethtool -i rail0 && insmod /lib/modules/labnic.ko " \
                 "devices=rail0,rail1 && . /etc/lab/healthy && healthy_dcb rail0 && " \
                 "healthy_dcb rail1 && rmmod labgpu && insmod /lib/modules/labgpu.ko"
        self.assertIn("driver: virtio_net", self.shell("n2", script))
        self.assertNotIn("Call Trace", self.shell("n2", "dmesg"))

    def test_freeze(self):
        self.lab.fault("n2", "freeze")
        try:
            with self.assertRaisesRegex(LabError, "^n2 is frozen$"):
                self.lab.exec("n2", ["true"])
        finally:
            self.lab.fault("n2", "freeze", mend=True)
        self.assertLess(abs(float(self.shell("n2", "date +%s")) - time.time()), 3)

    def test_exec(self):
        done = self.lab.exec("n1", "cat; echo two >&2; exit 7", stdin="one")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "one", "two\n"))
        self.assertEqual(self.lab.exec("n1", ["no-such-program"]).returncode, 127)
        self.assertEqual(self.lab.exec("n1", "kill -9 $$").returncode, 137)
        with self.assertRaises(subprocess.TimeoutExpired):
            self.lab.exec("n1", ["sleep", "777"], timeout=0.7)
        until(lambda: "sleep 777" not in self.shell("n1", "ps"), "the late command is killed")
        start = time.monotonic()
        self.shell("n1", "sleep 5 &")
        self.assertLess(time.monotonic() - start, 4, "a background command is not waited for")

    def test_exec_binary_and_concurrent(self):
        data = os.urandom(200000)
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            self.lab.put("n1", file.name, "/tmp/data")
        self.assertEqual(self.lab.get("n1", "/tmp/data"), data)
        results = {}

        def call(i):
            results[i] = self.lab.exec("n1", ["sh", "-c", "sleep 0.3; echo $1", "sh", i]).stdout

        threads = [threading.Thread(target=call, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {i: f"{i}\n" for i in range(12)})

    def test_programs_and_cli(self):
        name = self.lab.name
        program = pathlib.Path(self.lab.programs[0]).name
        done = cli("exec", "--name", name, "n1", program)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: labswitch", done.stderr)
        done = cli("exec", "--name", name, "n7", "true")
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"lab: lab '{name}' has no node 'n7'; it has n1, n2\n"))
        done = cli("fault", "--name", name, "n1", "mtux")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no fault 'mtux'; known are: mtu, ", done.stderr)
        done = cli("fault", "--name", name, "n1", "mtu", "rail0", "--mend")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = cli("up", "--name", name, "--nodes", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is already up", done.stderr)
        listed = [lab for lab in json.loads(cli("list", "-o", "json").stdout)
                  if lab["name"] == name][0]
        self.assertEqual(listed["alive"], ["n1", "n2"])
        self.assertIn("lab: ready", cli("console", "--name", name, "n2").stdout)


class TestSecondLab(unittest.TestCase):
    """Labs beside each other, the agent, and what happens when something dies."""

    def agent(self, folder):
        """A stand-in for the agent: a script that notes its arguments and serves a page."""
        path = pathlib.Path(folder) / "fabric-agent"
        path.write_text('#!/bin/sh\necho "$@"; ulimit -l\nwhile :; do { printf '
                        '"HTTP/1.0 200 OK\\r\\n\\r\\nup 1\\n"; } | nc -l -p 9417; done\n')
        path.chmod(0o755)
        return str(path)

    def test_two_labs_and_an_agent(self):
        name = f"cli-{os.getpid()}"
        with tempfile.TemporaryDirectory() as folder, Lab(nodes=1, quiet=True) as other:
            try:
                done = cli("up", "--name", name, "--nodes", "1", "--no-faults", "--agent",
                           self.agent(folder), "--controller", "127.0.0.1:7470",
                           "--agent-flags=--extra 'a b'")
                self.assertEqual(done.returncode, 0, done.stderr)
                lab = Lab.attach(name)
                log = "cat /var/log/fabric-agent.log"
                until(lambda: "unlimited" in lab.shell("n1", log), "the agent runs")
                self.assertIn("--controller 10.0.2.2:7470 --metrics 0.0.0.0:9417 --node n1 "
                              "--extra a b\nunlimited\n", lab.shell("n1", log))
                self.assertIn("up 1", self.fetch(lab.metrics("n1")))
                lab.fault("n1", "kill-agent")
                time.sleep(1.5)
                self.assertEqual(lab.shell("n1", "pgrep -f -- --controller.10 | "
                                           "grep -vc x || :"), "1\n")  # its loop only
                lab.fault("n1", "kill-agent", mend=True)
                until(lambda: lab.shell("n1", log).count("unlimited") == 2, "it is back")
                # the labs have the same addresses and do not hear each other
                self.assertEqual(other.shell("n1", "hostname"), lab.shell("n1", "hostname"))
                self.assertNotEqual(other.metrics("n1"), lab.metrics("n1"))
                several = cli("exec", "n1", "true")
                self.assertEqual(several.returncode, 2)
                self.assertIn("several labs are up", several.stderr)
            finally:
                done = cli("down", "--name", name)
            self.assertEqual((done.returncode, running(name)), (0, []))
            self.assertTrue(running(other.name))
        self.assertEqual(running(other.name), [])

    def fetch(self, address):
        done = subprocess.run(["curl", "-s", "--max-time", "10", f"http://{address}/metrics"],
                              capture_output=True, text=True, check=False)
        return done.stdout

    def test_a_killed_up_leaves_nothing(self):
        name = f"killed-{os.getpid()}"
        with subprocess.Popen([sys.executable, str(HERE / "lab"), "up", "--nodes", "1", "--name",
                               name], stderr=subprocess.DEVNULL) as child:
            until(lambda: (labdefs.RUN / name / "keeper.json").exists(), "guests start", 60)
            child.send_signal(signal.SIGKILL)
        until(lambda: not running(name), "all processes of the killed lab are gone")
        self.assertNotIn(name, cli("list").stdout)
        self.assertFalse((labdefs.RUN / name).exists())

    def test_a_killed_keeper_takes_its_guests_along(self):
        lab = Lab(nodes=1, quiet=True, boot_limit=0.5)
        with self.assertRaisesRegex(LabError, r"n1 was not ready within 0.5 s; the end of its "):
            lab.up()
        self.assertEqual(running(lab.name), [])
        kept = labdefs.LAB / "failed" / lab.name
        self.assertTrue((kept / "n1" / "console.log").exists())
        shutil.rmtree(kept)

    def test_a_killed_keeper(self):
        name = f"keeper-{os.getpid()}"
        lab = Lab(nodes=1, name=name, quiet=True)
        lab.up()
        try:
            os.kill(labstate.keeper(lab.folder)["keeper"]["pid"], signal.SIGKILL)
            until(lambda: not running(name), "the guest has ended with its keeper")
        finally:
            lab.down()


if __name__ == "__main__":
    unittest.main()
