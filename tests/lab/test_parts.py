#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the lab that need no guest."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import labdefs
import labfaults
import labimage
import labpackages
import labstate
from labdefs import LabError
from labtest import cli


class TestParts(unittest.TestCase):
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

    def test_libraries_come_from_the_unpacked_packages(self):
        """Never from this machine, even where a link in a package would lead there."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            places = root / labpackages.LIBRARIES
            places.mkdir(parents=True)
            python = pathlib.Path(sys.executable).resolve()
            with self.assertRaisesRegex(LabError, "needs lib.*, which no unpacked package has"):
                labpackages.libraries(root, [python])
            needed = labpackages.sonames([python])[python]
            self.assertIn("libc.so.6", needed)
            for name in needed:
                (places / f"{name}.0").write_text("not ELF: it needs nothing")
                (places / name).symlink_to(f"/{labpackages.LIBRARIES}/{name}.0")
            self.assertEqual(labpackages.libraries(root, [python]),
                             {name: places / f"{name}.0" for name in needed})

    def test_packages_of_a_program(self):
        python = pathlib.Path("/usr/bin/python3").resolve()
        owner = subprocess.run(["dpkg-query", "-S", python], capture_output=True, check=False)
        if owner.returncode:
            self.skipTest("this machine's python3 comes from no Debian package")
        self.assertIn("libc6", labpackages.providers([python]))
        self.assertEqual(labpackages.providers([pathlib.Path(__file__)]), [])

    def test_controller_as_guests_see_it(self):
        for given, seen in [("127.0.0.1:7470", "10.0.2.2:7470"), ("localhost:1", "10.0.2.2:1"),
                            (":99", "10.0.2.2:99"), ("192.0.2.7:7470", "192.0.2.7:7470")]:
            self.assertEqual(labdefs.guest_view(given), seen)
        for bad in ("localhost", "a:b", "a:0", "a:65536", ""):
            with self.assertRaisesRegex(LabError, "expected HOST:PORT, saw"):
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
            self.assertTrue(fault.apply and fault.repair and fault.help, fault.name)
            self.assertIn(fault.usage(), labfaults.help_text())
        for node, name, words in labfaults.planted(["n1", "n2", "n3"]):
            labfaults.check(labfaults.FAULTS[name], words, False, [node])

    def test_fault_words(self):
        def check(name, *words, repair=False):
            return labfaults.check(labfaults.FAULTS[name], list(words), repair, ["n1", "n2"])

        self.assertEqual(check("mtu", "rail1"), ["rail1", "1500"])
        self.assertEqual(check("loss", "rail0", repair=True), ["rail0"])
        self.assertEqual(check("counter", "rail0", "rx_discards_phy", repair=True),
                         ["rail0", "rx_discards_phy"])
        for words, message in [
                (("mtu",), "needs RAIL: mtu RAIL"),
                (("mtu", "rail9"), "expected one of rail0, rail1, saw 'rail9'"),
                (("mtu", "rail0", "9000"), "expected a whole number .*, saw '9000'"),
                (("mtu", "rail0", "1", "2"), "expected at most 2 words, saw 3"),
                (("pfc", "rail0", "8"), "expected a comma-.* list of priorities 0 to 7, saw '8'"),
                (("loss", "rail0", "101"), "expected a number from 0 to 100, saw '101'"),
                (("duplicate-address", "rail0", "n3"), "expected a node of the lab, saw 'n3'"),
                (("address", "rail0", "10.1.1"), "expected an IPv4 address, saw '10.1.1'")]:
            with self.assertRaisesRegex(LabError, message) as raised:
                check(*words)
            self.assertEqual(raised.exception.status, 2)

    def test_usage_errors(self):
        for words, message in [
                ((), "the following arguments are required: COMMAND"),
                (("start",), "invalid choice: 'start'"),
                (("up", "--nodes", "x"), "invalid int value: 'x'"),
                (("up", "--nodes", "0"), "--nodes: expected 1 to 100, saw 0"),
                (("up", "--name", "a/b"), "'a/b' cannot name a lab"),
                (("up", "--agent", "/bin/true", "--controller", "here"),
                 "expected HOST:PORT, saw 'here'"),
                (("up", "--controller", ":1"), "--controller needs --agent"),
                (("list", "-o", "xml"), "invalid choice: 'xml'")]:
            done = cli(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(message, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_unknown_lab(self):
        done = cli("exec", "--name", "nowhere", "n1", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lab: unknown lab 'nowhere'; ", done.stderr)

    def test_a_lab_whose_processes_are_gone_is_removed(self):
        folder = labdefs.RUN / f"stale-{os.getpid()}"
        folder.mkdir(parents=True)
        labstate.write_json(folder / "lab.json", {"state": "up", "nodes": {}})
        labstate.write_json(folder / "keeper.json", {
            "keeper": {"pid": os.getpid(), "start": 1}, "children": {}})
        self.assertNotIn(folder.name, cli("list").stdout)
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
