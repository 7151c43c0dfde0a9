#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a running agent shows of a captured tree while its files change, at /metrics and at the
controller: values follow, what cannot be read is absent, and nothing ever moves by more than it
did.

test_running.py BIN  where fabric-agent, fabricd, fabricctl and unpack are
"""

import contextlib
import json
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

BIN = pathlib.Path("build/release/bin")
TESTS = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = sorted(TESTS.glob("fixtures/*.tree"))
NODE = TESTS / "fixtures/h100_infiniband.tree"
FOLLOWS_IN = 2.0  # Seconds until a changed value is shown, of a machine that has time
PATIENCE = 20.0  # What a loaded machine is given
PORT = "sys/class/infiniband/mlx5_0/ports/1"
DATA = 'fabric_port_received_bytes_total{device="mlx5_0",port="1"}'
ORDER = 'fabric_port_out_of_sequence_total{device="mlx5_0",port="1"}'
SYMBOL = 'fabric_port_symbol_errors_total{device="mlx5_0",port="1"}'
LAST = 'fabric_port_received_bytes_total{device="mlx5_8",port="1"}'


def fetch(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def samples(exposition):
    """{series: number}"""
    rows = (line.rsplit(" ", 1) for line in exposition.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, value in rows}


class RunningTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="fabric-running-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def unpack(self, tree):
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run([BIN / "unpack", tree, root], check=True)
        return root

    def start(self, name, *arguments):
        """A program that must end well when the test has."""
        log = self.folder / f"{name}.log"
        out = open(log, "wb")
        process = subprocess.Popen([BIN / name, *map(str, arguments)], stdout=out, stderr=out)

        def end():
            out.close()
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0, log.read_text())

        self.addCleanup(end)
        return process, log

    def until(self, condition, what, patience=PATIENCE):
        """Asks until the answer is true. Returns the seconds that took."""
        begin = time.monotonic()
        while not condition():
            self.assertLess(time.monotonic() - begin, patience, what)
            time.sleep(0.05)
        return time.monotonic() - begin

    def start_agent(self, root, *arguments):
        """The URL of its metrics, once counters are sampled."""
        process, log = self.start("fabric-agent", "run", "--root", root, "--no-controller",
                                  "--metrics", "127.0.0.1:0", *arguments)
        self.until(lambda: "metrics on" in log.read_text() or process.poll() is not None, "start")
        found = re.search(r"metrics on (\S+)", log.read_text())
        self.assertIsNotNone(found, log.read_text())
        self.agent = process
        return f"http://{found[1]}/metrics"


class Counters(RunningTest):
    def setUp(self):
        super().setUp()
        self.root = self.unpack(NODE)
        self.port = (self.root / PORT).resolve()
        self.data = self.port / "counters/port_rcv_data"
        self.order = self.port / "hw_counters/out_of_sequence"
        self.data.write_text("1000\n")
        self.order.write_text("4294967200\n")
        self.url = self.start_agent(self.root)
        self.wait_for(DATA, 4000)

    def value(self, series):
        return samples(fetch(self.url)).get(series)

    def wait_for(self, series, expected):
        seen = []

        def there():
            seen.append(self.value(series))
            return seen[-1] == expected

        return self.until(there, f"{series} {expected}")

    def test_values_follow(self):
        times = []
        for raw in range(2000, 12_000, 2000):
            self.data.write_text(f"{raw}\n")
            times.append(self.wait_for(DATA, raw * 4))
        self.assertLess(sorted(times)[len(times) // 2], FOLLOWS_IN, times)

    def test_a_file_that_is_replaced_is_followed(self):
        fresh = self.folder / "root/fresh"
        fresh.write_text("5000\n")
        fresh.rename(self.data)
        self.assertLess(self.wait_for(DATA, 20_000), PATIENCE)

    def test_a_register_that_falls_begins_anew_or_goes_over_its_top(self):
        self.data.write_text("7\n")
        self.wait_for(DATA, 28)
        self.wait_for(ORDER, 4294967200)
        self.order.write_text("4\n")  # 100 more, in 32 bits
        self.wait_for(ORDER, 4294967300)

    def test_what_cannot_be_read_any_more_is_absent(self):
        self.data.unlink()
        self.data.mkdir()
        self.order.write_text("N/A\n")
        (self.port / "counters/symbol_error").unlink()
        for series in (DATA, ORDER, SYMBOL):
            self.wait_for(series, None)
        self.assertIsNotNone(self.value(LAST))
        self.data.rmdir()
        self.data.write_text("1001\n")
        self.order.write_text("4294967201\n")
        self.wait_for(DATA, 4004)
        self.wait_for(ORDER, 4294967201)

    def test_a_driver_that_is_reloaded(self):
        """The device is gone, comes back with registers that have begun anew, many times."""
        steps = []
        stop = threading.Event()

        def watch():
            before = None
            while not stop.is_set():
                now = self.value(DATA)
                if None not in (now, before):
                    steps.append(now - before)
                before = now if now is not None else before
                time.sleep(0.02)

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            device = (self.root / "sys/class/infiniband/mlx5_0").resolve()
            away = self.folder / "away"
            for raw in (900, 30, 800):
                device.rename(away)
                self.wait_for(DATA, None)
                self.assertIsNotNone(self.value(LAST))
                (away / "ports/1/counters/port_rcv_data").write_text(f"{raw}\n")
                away.rename(device)
                self.wait_for(DATA, raw * 4)
        finally:
            stop.set()
            watching.join()
        self.assertLessEqual(max(steps), 4000, "more than the register ever held")
        self.assertIsNone(self.agent.poll())

    def test_inspections_of_a_node_that_changes(self):
        """A device vanishes, returns, and the whole of sys/ does, while settings are read."""
        url = self.start_agent(self.root, "--settings-interval", "1s")
        device = self.root / "sys/class/infiniband/mlx5_8"
        target = device.readlink()
        device.unlink()
        self.until(lambda: 'device="mlx5_8"' not in fetch(url), "gone")
        device.symlink_to(target)
        self.until(lambda: LAST in samples(fetch(url)), "back")
        (self.root / "sys").rename(self.root / "sys.away")
        self.until(lambda: "fabric_port" not in fetch(url), "nothing")
        (self.root / "sys.away").rename(self.root / "sys")
        self.until(lambda: LAST in samples(fetch(url)), "all back")


class Privileges(RunningTest):
    def test_the_agent_gives_up_net_raw_and_keeps_its_packet_socket(self):
        net_raw = 1 << 13
        held = re.search(r"^CapEff:\s*(\w+)$", pathlib.Path("/proc/self/status").read_text(), re.M)
        if not int(held[1], 16) & net_raw:
            self.skipTest("needs CAP_NET_RAW")
        self.start_agent("/")
        process = pathlib.Path(f"/proc/{self.agent.pid}")
        threads = [status.read_text() for status in process.glob("task/*/status")]
        self.assertGreater(len(threads), 1)
        for kind in ("CapEff", "CapPrm"):
            for status in threads:
                value = re.search(rf"^{kind}:\s*(\w+)$", status, re.M)[1]
                self.assertFalse(int(value, 16) & net_raw, status)
        inodes = {row.split()[-1] for row in (process / "net/packet").read_text().splitlines()[1:]}
        targets = [str(fd.readlink()) for fd in process.glob("fd/*")]
        own = [target for target in targets if target[len("socket:["):-1] in inodes]
        self.assertNotEqual(own, [], "no packet socket")


class Fixtures(RunningTest):
    def test_promtool_has_nothing_to_say_of_a_daemon(self):
        tool = shutil.which("promtool")
        if tool is None:
            self.skipTest("no promtool on this machine; run deploy/install-dependencies test")
        for tree in FIXTURES:
            with self.subTest(tree.stem):
                url = self.start_agent(self.unpack(tree), "--compat", "node-exporter")
                self.until(lambda: "fabric_agent_inspections_total" in fetch(url), "inspected")
                time.sleep(1.2)  # A sample
                text = fetch(url)
                done = subprocess.run([tool, "check", "metrics"], input=text, text=True,
                                      capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
                once = subprocess.run([BIN / "fabric-agent", "metrics", "--compat",
                                       "node-exporter", "--root", self.folder / "root"],
                                      capture_output=True, text=True, check=True).stdout
                missing = samples(once).keys() - samples(text).keys()
                self.assertEqual({name for name in missing if "fabric_agent" not in name}, set())
                self.doCleanups()
                self.setUp()


class Controller(RunningTest):
    def start_controller_process(self, *arguments):
        addresses = self.folder / "addresses.json"
        process, _ = self.start("fabricd", "--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0",
                                "--state", self.folder / "state.db", "--addresses-file", addresses,
                                *arguments)
        self.until(lambda: addresses.exists() and addresses.read_text(), "fabricd")
        return process

    def start_controller(self):
        """Its addresses."""
        self.start_controller_process()
        return json.loads((self.folder / "addresses.json").read_text())

    def watching(self, controller, ignored):
        """A fabricctl that waits for its next turn. `ignored`: as nohup starts it."""
        handler = signal.SIG_IGN if ignored else signal.SIG_DFL
        process = subprocess.Popen(
            [BIN / "fabricctl", "--controller", controller, "version", "--watch", "--interval",
             "60s"], stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, handler))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.until(lambda: process.stdout.readline(), "the first output")
        caught = re.compile(r"^SigCgt:\s*([0-9a-f]+)$", re.MULTILINE)
        status = pathlib.Path(f"/proc/{process.pid}/status")
        interrupt = 1 << (signal.SIGINT - 1)
        self.until(lambda: int(caught.search(status.read_text())[1], 16) & interrupt, "it waits")
        return process

    def test_a_closed_session_is_an_interrupt_for_fabricctl(self):
        controller = self.start_controller()["grpc"]
        process = self.watching(controller, ignored=False)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(PATIENCE), 130)

    def test_nohup_keeps_its_effect_on_fabricctl(self):
        controller = self.start_controller()["grpc"]
        process = self.watching(controller, ignored=True)
        ignored = re.search(r"^SigIgn:\s*([0-9a-f]+)$",
                            pathlib.Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        self.assertTrue(int(ignored[1], 16) & 1 << (signal.SIGHUP - 1))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 130)

    def test_health_answers_while_the_state_is_loaded(self):
        """A state file of 10,000 nodes."""
        process = self.start_controller_process()
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0)
        with contextlib.closing(sqlite3.connect(self.folder / "state.db")) as state, state:
            for number in range(10_000):
                name = f"n{number}".encode()
                node = b"\x0a" + bytes([len(name)]) + name
                state.execute("INSERT INTO nodes (name, taken_at, snapshot) VALUES (?, 1, ?)",
                              (name.decode(), b"\x0a" + bytes([len(node)]) + node))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            health = f"127.0.0.1:{listener.getsockname()[1]}"
        (self.folder / "addresses.json").unlink()
        pages, alive = [], []

        def page(path):
            try:
                return 200, fetch(f"http://{health}{path}")
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except OSError:
                return 0, ""

        def ready():
            pages.append(page("/readyz"))
            if pages[-1][0] == 503:
                alive.append(page("/livez"))
            return pages[-1][0] == 200

        polling = threading.Thread(target=lambda: self.until(ready, "ready"))
        polling.start()
        self.start_controller_process("--health", health)
        polling.join()
        self.assertIn((200, "ok\n"), alive)
        loading = [text for status, text in pages if status == 503]
        self.assertRegex(loading[0], r"^loading the state for \d+\.\d s\n$")
        addresses = json.loads((self.folder / "addresses.json").read_text())
        self.assertIn('"n9999"', fetch(f"http://{addresses['rest']}/v1/nodes/n9999"))

    def test_shows_the_samples(self):
        root = self.unpack(NODE)
        told = self.start_controller()
        self.start("fabric-agent", "run", "--root", root, "--node", "n1", "--controller",
                   told["grpc"])

        def by_rest():
            try:
                return json.loads(fetch(f"http://{told['rest']}/v1/nodes/n1"))
            except OSError:
                return {}

        def by_command():
            command = [BIN / "fabricctl", "--controller", told["grpc"], "node", "n1", "-o", "json"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return json.loads(done.stdout) if done.returncode == 0 else {}

        def value(node):
            sets = node.get("snapshot", node).get("counters", [])
            found = [c for one in sets if one.get("device") == "mlx5_0" for c in one["counters"]
                     if c["name"] == "port_rcv_data"]
            return int(found[0]["value"]) if found else None

        file = root / PORT / "counters/port_rcv_data"
        for raw in (5000, 6000, 10):  # The last is a reset.
            file.write_text(f"{raw}\n")
            for ask in (by_rest, by_command):
                self.until(lambda: value(ask()) == raw * 4, f"{raw} by {ask.__name__}")
        device = (root / "sys/class/infiniband/mlx5_0").resolve()
        device.rename(self.folder / "away")
        self.until(lambda: value(by_rest()) is None, "gone")
        (self.folder / "away").rename(device)
        self.until(lambda: value(by_rest()) == 40, "back")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BIN = pathlib.Path(sys.argv.pop(1))
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
