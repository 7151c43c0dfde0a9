# SPDX-License-Identifier: Apache-2.0
"""Tests of the lab's switches. This process acts as the guests."""

import json
import pathlib
import select
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import labimage
import labswitch
from fabriclab import Lab
from labdefs import HERE, LabError, mac
from labvm import connect

NODES = (1, 2, 3, 4)  # 1 and 2 under leaf1, 3 and 4 under leaf2
SPINES = (1, 2, 3)
LLDP = b"\x88\xcc"


def raw_mac(node):
    return bytes.fromhex(mac("rail0", node).replace(":", ""))


def udp(source, target, port, payload=b"x" * 100, dscp=0):
    """A RoCE v2 frame without checksums, which the switch does not check."""
    length = 28 + len(payload)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, dscp << 2 | 2, length, 0, 0, 64, 17, 0,
                         bytes((10, 10, 0, source)), bytes((10, 10, 0, target)))
    return raw_mac(target) + raw_mac(source) + b"\x08\x00" + header + \
        struct.pack("!HHHH", port, 4791, length - 20, 0) + payload


class Guest:
    def __init__(self, folder, rail, node):
        self.sock, self.data, self.announced = connect(folder, f"{rail}.{node}.sock", 10), b"", []

    def send(self, frame):
        self.sock.sendall(struct.pack("!I", len(frame)) + frame)

    def receive(self, wait=0.3):
        """Receives frames until none arrives for `wait` seconds. Keeps LLDP separately."""
        frames, quiet_at = [], time.monotonic() + wait
        while select.select([self.sock], [], [], max(0, quiet_at - time.monotonic()))[0]:
            data = self.sock.recv(1 << 16)
            if not data:
                raise EOFError("the switch has closed the port")
            self.data += data
            while frame := self.next_frame():
                if frame[12:14] == LLDP:
                    self.announced.append(frame)
                else:
                    frames.append(frame)
                    quiet_at = time.monotonic() + wait
        return frames

    def next_frame(self):
        """The next complete frame, or None."""
        end = 4 + int.from_bytes(self.data[:4], "big")
        if len(self.data) < max(4, end):
            return None
        frame, self.data = self.data[4:end], self.data[end:]
        return frame


class TestLinks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = pathlib.Path(place.name)
        switch = subprocess.Popen(
            [labimage.program(HERE / "switch"), "2", "3", "4", "rail0", "rail1"],
            cwd=place.name, stdout=subprocess.PIPE)
        cls.addClassCleanup(switch.wait)
        cls.addClassCleanup(switch.kill)
        cls.addClassCleanup(switch.stdout.close)
        assert switch.stdout.readline() == b"ready\n"
        cls.guests = {node: Guest(cls.folder, "rail0", node) for node in NODES}
        for guest in cls.guests.values():
            cls.addClassCleanup(guest.sock.close)
        for node, guest in cls.guests.items():  # the switch learns the guests' ports
            guest.send(b"\xff" * 6 + raw_mac(node) + b"\x08\x06" + bytes(46))
        for guest in cls.guests.values():
            assert len(guest.receive()) == len(NODES) - 1

    def setUp(self):
        self.addCleanup(self.ask, "clear")

    def ask(self, *words):
        return labswitch.ask(self.folder, *words)

    def way(self, link, direction):
        return next(way for way in map(json.loads, self.ask("show"))
                    if (way["rail"], way["link"], way["direction"]) == ("rail0", link, direction))

    def uplinks(self, leaf, direction="up"):
        return [self.way(f"leaf{leaf}-spine{s}", direction)["frames"] for s in SPINES]

    def crossing(self, source, target, ports, payload=b"x" * 100):
        """Sends a frame from each UDP port. Returns the frames that arrive."""
        for port in ports:
            self.guests[source].send(udp(source, target, port, payload))
        arrived = self.guests[target].receive()
        self.assertLessEqual(len(arrived), len(ports))
        return arrived

    def test_a_frame_goes_to_its_guest_alone_and_unchanged(self):
        frame = udp(1, 4, 50000)
        self.guests[1].send(frame)
        self.assertEqual(self.guests[4].receive(), [frame])
        for other in (2, 3):
            self.assertEqual(self.guests[other].receive(0.05), [])

    def test_neighbours_under_one_leaf_use_no_spine(self):
        before = self.uplinks(1)
        self.assertEqual(len(self.crossing(1, 2, range(50000, 50020))), 20)
        self.assertEqual(self.uplinks(1), before)

    def test_flows_spread_over_all_spines(self):
        before = self.uplinks(1), self.uplinks(2, "down")
        self.assertEqual(len(self.crossing(1, 3, range(49152, 49152 + 300))), 300)
        used = [new - old for new, old in zip(self.uplinks(1), before[0])]
        self.assertEqual(sum(used), 300)
        self.assertGreater(min(used), 60, used)
        came = [new - old for new, old in zip(self.uplinks(2, "down"), before[1])]
        self.assertEqual(came, used, "down by the spine that it went up to")

    def test_a_flow_stays_on_its_path(self):
        before = self.uplinks(1)
        self.crossing(1, 3, [50000] * 50)
        used = [new - old for new, old in zip(self.uplinks(1), before)]
        self.assertEqual(sorted(used), [0, 0, 50])

    def test_one_path_of_three_that_loses_everything(self):
        self.ask("set", "rail0", "leaf1-spine2", "up", "cut", 1)
        ports = range(49152, 49152 + 300)
        arrived = {frame[34:36] for frame in self.crossing(1, 3, ports)}
        self.assertTrue(150 < len(arrived) < 250, len(arrived))
        again = {frame[34:36] for frame in self.crossing(1, 3, ports)}
        self.assertEqual(again, arrived, "the same flows each time")
        self.assertEqual(len(self.crossing(3, 1, ports)), 300, "the other way is whole")

    def test_one_direction_of_a_guest(self):
        self.ask("set", "rail0", "n3", "up", "cut", 1)
        self.assertEqual(len(self.crossing(1, 3, [50000] * 5)), 5)
        self.assertEqual(len(self.crossing(3, 1, [50000] * 5)), 0)
        self.ask("clear")
        self.assertEqual(len(self.crossing(3, 1, [50000] * 5)), 5)

    def test_one_class_of_traffic(self):
        self.ask("set", "rail0", "n2", "down", "dscp", 26)
        self.ask("set", "rail0", "n2", "down", "cut", 1)
        before = self.way("n2", "down")["lost"]
        for dscp in (26, 0, 48, 26):
            self.guests[1].send(udp(1, 2, 50000, dscp=dscp))
        self.guests[1].send(raw_mac(2) + raw_mac(1) + b"\x86\xdd" + bytes(60))  # Not IPv4
        arrived = self.guests[2].receive()
        self.assertEqual([frame[15] >> 2 for frame in arrived[:2]], [0, 48])
        self.assertEqual(len(arrived), 3)
        way = self.way("n2", "down")
        self.assertEqual((way["lost"] - before, way["dscp"]), (2, 26))
        self.guests[2].announced.clear()
        self.guests[2].receive(1.2)
        self.assertTrue(self.guests[2].announced, "LLDP has another queue")
        self.ask("clear")
        self.assertIsNone(self.way("n2", "down")["dscp"])
        self.guests[1].send(udp(1, 2, 50000, dscp=26))
        self.assertEqual(len(self.guests[2].receive()), 1)

    def test_a_cut_link_carries_no_lldp(self):
        guest = self.guests[2]
        guest.receive(1.2)
        self.assertIn(b"rail0-leaf1", guest.announced[-1])
        self.assertIn(b"swp2", guest.announced[-1])
        self.guests[3].receive(0.1)
        self.assertIn(b"rail0-leaf2", self.guests[3].announced[-1])
        self.ask("set", "rail0", "n2", "down", "cut", 1)
        guest.receive(0.1)
        guest.announced.clear()
        guest.receive(1.2)
        self.assertEqual(guest.announced, [])

    def test_loss_has_the_requested_rate(self):
        self.ask("set", "rail0", "n2", "down", "loss", 10)
        before = self.way("n2", "down")
        arrived = len(self.crossing(1, 2, [50000] * 3000))
        after = self.way("n2", "down")
        self.assertTrue(2600 < arrived < 2800, arrived)
        # LLDP frames are not counted, because they do not use the rail's links.
        self.assertEqual(after["lost"] - before["lost"], 3000 - arrived)
        self.assertEqual(after["frames"] - before["frames"], 3000)

    def test_delay(self):
        self.ask("set", "rail0", "leaf1-spine1", "up", "delay", 150)
        self.ask("set", "rail0", "leaf1-spine2", "up", "delay", 150)
        self.ask("set", "rail0", "leaf1-spine3", "up", "delay", 150)
        self.ask("set", "rail0", "n3", "down", "delay", 50)
        start = time.monotonic()
        self.guests[1].send(udp(1, 3, 50000))
        self.assertEqual(len(self.guests[3].receive(1)), 1)
        self.assertGreaterEqual(time.monotonic() - start, 0.2)

    def test_corruption_changes_one_bit_behind_the_headers(self):
        self.ask("set", "rail0", "n2", "down", "corrupt", 100)
        sent = udp(1, 2, 50000)
        for seen in self.crossing(1, 2, [50000] * 20):
            self.assertEqual(len(seen), len(sent))
            self.assertEqual(seen[:50], sent[:50])
            bits = sum(bin(a ^ b).count("1") for a, b in zip(seen, sent))
            self.assertEqual(bits, 1)

    def test_a_guest_that_goes_and_comes_back(self):
        guest = Guest(self.folder, "rail1", 1)
        guest.receive(0.1)
        guest.sock.close()
        guest = Guest(self.folder, "rail1", 1)
        self.addCleanup(guest.sock.close)
        guest.receive(1.2)
        self.assertTrue(guest.announced)

    def test_errors(self):
        for words, why in [(("rail0", "n9", "both", "cut", 1), "no such rail or link"),
                           (("rail7", "n1", "both", "cut", 1), "no such rail or link"),
                           (("rail0", "n1", "both", "cute", 1), "expected loss, corrupt, delay"),
                           (("rail0", "n1", "both", "loss", 101), "0 to 100 percent"),
                           (("rail0", "n1", "both", "delay", 1e6), "0 to 10000 ms"),
                           (("rail0", "n1", "both", "dscp", 64), "a DSCP is 0 to 63"),
                           (("rail0", "n1", "both", "dscp", 1.5), "a DSCP is 0 to 63"),
                           (("rail0", "n1", "both", "loss", "much"), "expected a number"),
                           (("rail0", "n1", "both", "loss", "nan"), "expected a number"),
                           (("rail0", "n1", "both", "loss"), "expected show, clear, or set"),
                           (("rail0", "n1", "left", "cut", 1), "expected up, down or both")]:
            with self.assertRaisesRegex(LabError, why):
                self.ask("set", *words)
        with self.assertRaisesRegex(LabError, "no more than nodes"):
            Lab(nodes=1, leaves=2)


if __name__ == "__main__":
    unittest.main()
