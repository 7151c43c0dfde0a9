#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests of the lab: python3 tests/lab/test_lab.py. TestGuests is one lab of two nodes."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position,unused-import
import labdefs
import labimage
from fabriclab import Lab
from labdefs import HERE, LabError
from labtest import cli, until
from test_links import TestLinks
from test_lives import TestLives
from test_parts import TestParts


class TestGuests(unittest.TestCase):
    """One lab of two nodes for all these tests. Each leaves the lab healthy."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(nodes=2, leaves=2, spines=2,
                      programs=[str(labimage.program(HERE / "switch"))])
        cls.addClassCleanup(cls.lab.down)
        cls.lab.up()

    def shell(self, node, script):
        return self.lab.shell(node, script)

    def broken(self, what, *words, node="n1", seen, broken, sound):
        """Causes and repairs a fault. The script `seen` prints `broken`, then `sound`."""
        self.assertIn(sound, self.shell(node, seen))
        self.lab.fault(node, what, *words)
        try:
            self.assertIn(broken, self.shell(node, seen))
        finally:
            self.lab.fault(node, what, *words, repair=True)
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

    def test_clocks_run_as_fast_as_this_machine(self):
        """A guest that measures a tenth of its processor's frequency has a clock that runs ten
        times too fast, so every time limit of its agent expires too early."""
        for node in self.lab.nodes:
            begun, there = time.monotonic(), float(self.shell(node, "cut -d' ' -f1 /proc/uptime"))
            time.sleep(2)
            there = float(self.shell(node, "cut -d' ' -f1 /proc/uptime")) - there
            self.assertAlmostEqual(there / (time.monotonic() - begun), 1, delta=0.3, msg=node)

    def test_verbs_between_the_nodes(self):
        for rail in (0, 1):
            command = f"ibv_rc_pingpong -d rxe{rail} -g 1 -n 50"
            server = threading.Thread(target=self.lab.exec, args=("n1", command))
            server.start()
            until(lambda: ":4853 " in self.shell("n1", "cat /proc/net/tcp /proc/net/tcp6"),
                  "the server listens")  # 0x4853 is the program's port, 18515
            done = self.lab.exec("n2", f"{command} 10.10.{rail}.1")
            server.join()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("50 iters in", done.stdout)

    def test_links_of_the_switches(self):
        ping = "ping -c 2 -W 3 10.10.0.2"
        self.assertIn("2 packets received", self.shell("n1", ping))
        self.addCleanup(self.lab.repair_links)
        self.lab.link("rail0", "n2", "cut", 1, "down")
        self.assertIn(" 0 packets received", self.lab.exec("n1", ping).stdout)
        self.assertIn("state ACTIVE", self.shell("n2", "rdma link show rxe0/1"))
        name = self.lab.name
        self.assertEqual(cli("link", "--name", name, "rail0", "leaf1-spine2", "delay", "5",
                             "up").returncode, 0)
        rows = [line.split() for line in cli("link", "--name", name).stdout.splitlines()]
        self.assertEqual(rows[0][:4], ["RAIL", "LINK", "DIRECTION", "LOSS"])
        cut = next(row for row in rows if row[:3] == ["rail0", "n2", "down"])
        self.assertEqual(cut[9], "yes")
        self.assertGreaterEqual(int(cut[11]), 2)
        self.assertEqual(cli("link", "--name", name, "--repair").returncode, 0)
        self.assertIn("2 packets received", self.shell("n1", ping))
        self.assertFalse(any(way["cut"] or way["delay_ms"] for way in self.lab.links()))
        done = cli("link", "--name", name, "rail1", "n1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected RAIL LINK WHAT VALUE", done.stderr)

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
        self.broken("pfc", "rail0", "5", seen=seen, broken="rx_prio5_pause:",
                    sound="rx_prio3_pause:")

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
        self.lab.fault("n1", "counter", "rail1", "tx_prio3_pause", repair=True)
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
        self.lab.fault("n1", "loss", "rail0", repair=True)
        self.assertEqual(self.lab.exec("n1", "ping -c 1 -W 5 10.10.0.2").returncode, 0)

    def test_peermem(self):
        seen = "[ -e /sys/module/nvidia_peermem ] && echo in || echo out"
        self.broken("peermem-unload", seen=seen, broken="out\n", sound="in\n")

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
            self.lab.fault("n2", "freeze", repair=True)
        self.assertLess(abs(float(self.shell("n2", "date +%s")) - time.time()), 3)

    def test_exec(self):
        done = self.lab.exec("n1", "cat; echo two >&2; exit 7", stdin="one")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "one", "two\n"))
        self.assertEqual(self.lab.exec("n1", ["no-such-program"]).returncode, 127)
        self.assertEqual(self.lab.exec("n1", "kill -9 $$").returncode, 137)
        with self.assertRaises(subprocess.TimeoutExpired):
            self.lab.exec("n1", ["sleep", "777"], timeout=0.7)
        until(lambda: "sleep 777" not in self.shell("n1", "ps"), "the command is killed")
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
                         (2, f"lab: lab '{name}': unknown node 'n7'; expected one of n1, n2\n"))
        done = cli("fault", "--name", name, "n1", "mtux")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown fault 'mtux'; expected one of mtu, ", done.stderr)
        done = cli("fault", "--name", name, "n1", "mtu", "rail0", "--repair")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = cli("up", "--name", name, "--nodes", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is already up", done.stderr)
        listed = [lab for lab in json.loads(cli("list", "-o", "json").stdout)
                  if lab["name"] == name][0]
        self.assertEqual(listed["alive"], ["n1", "n2"])
        self.assertIn("lab: ready", cli("console", "--name", name, "n2").stdout)


if __name__ == "__main__":
    unittest.main()
