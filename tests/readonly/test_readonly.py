#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inspection changes nothing: every command that inspects, on every captured tree and on this
machine, under a filter that denies what would change anything (see main.cc). Planted writers show
that the filter sees them.

test_readonly.py BIN  where only_reads, fabric-agent and unpack are
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

BIN = pathlib.Path("build/debug/bin")
TESTS = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = sorted(TESTS.glob("fixtures/*.tree"))
DENIED, CANNOT = 99, 98
COMMANDS = [["inspect"], ["inspect", "-o", "json"], ["inspect", "-o", "yaml"], ["metrics"],
            ["metrics", "--compat", "node-exporter"], ["ibdev2netdev"], ["ibdev2netdev", "-v"],
            ["nccl-env"], ["nccl-env", "-o", "table"]]
EXIT = {"nccl-env": (0, 1)}  # 1: no port to use

NETLINK = """
import socket, struct
s = socket.socket(16, socket.SOCK_RAW, {protocol})
s.send(struct.pack("=IHHII", 16 + 16, {type}, 5, 1, 0) + bytes(16))
"""
ETHTOOL = """
import array, fcntl, socket, struct
value = array.array("B", struct.pack("=IIII", {command}, 0, 0, 0) + bytes(512))
s = socket.socket()
fcntl.ioctl(s, 0x8946, struct.pack("16sP8x", b"lo", value.buffer_info()[0]))
"""
CLOCK = """
import ctypes
timex = (ctypes.c_long * 64)()
timex[0] = {modes}
ctypes.CDLL(None).adjtimex(timex)
"""
# What the daemon does besides, and may.
TALK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client.sendall(b"x")
"""
# Name, program, what the filter says of it.
WRITERS = [
    ("creates a file", "open('planted', 'w')", "opening planted for writing"),
    ("writes a file that is there", "open('there', 'r+').write('x')", "opening there for writing"),
    ("writes to what it was given", "import os; os.write(7, b'x')", "writing to "),
    ("makes a directory", "import os; os.mkdir('planted')", "mkdir"),
    ("removes a file", "import os; os.unlink('there')", "unlink"),
    ("renames a file", "import os; os.rename('there', 'gone')", "rename"),
    ("changes permissions", "import os; os.chmod('there', 0o777)", "chmod"),
    ("truncates a file", "import os; os.truncate('there', 0)", "truncate"),
    ("mounts", "import ctypes; ctypes.CDLL(None).mount(b'n', b'/mnt', b'tmpfs', 0, 0)", "mount"),
    ("enters a namespace", "import ctypes; ctypes.CDLL(None).unshare(0x40000000)", "unshare"),
    ("sets a link", NETLINK.format(protocol=0, type=19), "rtnetlink message 19"),
    ("sets DCB", NETLINK.format(protocol=0, type=79), "rtnetlink message 79"),
    ("sets pause", ETHTOOL.format(command=0x13), "ethtool command 19"),
    ("renames a netdev", "import fcntl, socket; fcntl.ioctl(socket.socket(), 0x8923, bytes(40))",
     "ioctl 35107"),
    ("sends a datagram", "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', 9))",
     "sending over a socket of family 2"),
    ("listens to all frames", "import socket, struct; socket.socket(2, 2).setsockopt("
     "263, 1, struct.pack('iHH8s', 1, 1, 6, bytes(8)))", "setsockopt at level 263"),
    ("sets the clock", CLOCK.format(modes=0x2000), "setting the clock"),
    ("joins a group", "import socket; socket.socket(2, 2).setsockopt(0, 35, bytes(8))",
     "setsockopt at level 0"),
]
# What only asks, in the same ways.
READERS = [
    ("reads a file", "open('there').read()"),
    ("writes to its output", "print('x')"),
    ("asks for links", NETLINK.format(protocol=0, type=18)),
    ("asks for the clock", CLOCK.format(modes=0)),
    ("asks for DCB", NETLINK.format(protocol=0, type=78)),
    ("asks for pause", "\ntry:\n" + ETHTOOL.format(command=0x12).replace("\n", "\n  ")
     + "\n  pass\nexcept OSError: pass\n"),
]


def watched(command, **options):
    return subprocess.run([BIN / "only_reads", *command], capture_output=True, text=True,
                          check=False, timeout=240, **options)


def python(program, folder, *allowed):
    """With descriptor 7 open for writing on a file."""
    given = os.open(folder / "given", os.O_WRONLY | os.O_CREAT)
    try:
        return watched([*allowed, sys.executable, "-B", "-I", "-c", program], cwd=folder,
                       close_fds=True, preexec_fn=lambda: os.dup2(given, 7),
                       pass_fds=(7,))
    finally:
        os.close(given)


def digest(folder):
    """Of all that a tree holds, and when it was changed."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        whole.update(f"{path} {about.st_mode} {about.st_mtime_ns} {about.st_ctime_ns}\n".encode())
        if path.is_file() and not path.is_symlink():
            whole.update(path.read_bytes())
    return whole.hexdigest()


class TestReadOnly(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        (cls.folder / "there").write_text("there\n")
        done = watched(["true"])
        if done.returncode == CANNOT:
            raise unittest.SkipTest(f"the kernel cannot watch calls: {done.stderr.strip()}")

    def test_planted_writers_are_caught(self):
        for name, program, said in WRITERS:
            with self.subTest(writer=name):
                done = python(program, self.folder)
                self.assertEqual(done.returncode, DENIED, done.stderr)
                self.assertIn(f"only_reads: denied: {said}", done.stderr)
        self.assertEqual((self.folder / "there").read_text(), "there\n")
        self.assertFalse((self.folder / "planted").exists())

    def test_readers_are_left_alone(self):
        for name, program in READERS:
            with self.subTest(reader=name):
                done = python(program, self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_talking_over_tcp_must_be_allowed(self):
        self.assertEqual(python(TALK, self.folder).returncode, DENIED)
        self.assertEqual(python(TALK, self.folder, "--network").returncode, 0)
        done = python("import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', 9))",
                      self.folder, "--network")
        self.assertEqual(done.returncode, DENIED, "datagrams are not what the daemon sends")

    def inspects(self, words, root):
        done = watched([BIN / "fabric-agent", *words, "--root", root])
        self.assertNotIn("only_reads:", done.stderr)
        self.assertIn(done.returncode, EXIT.get(words[0], (0,)), done.stderr)
        self.assertTrue(done.stdout or words[0] == "ibdev2netdev")

    def test_inspection_of_captured_trees(self):
        for fixture in FIXTURES:
            root = self.folder / fixture.stem
            subprocess.run([BIN / "unpack", fixture, root], check=True)
            before = digest(root)
            for words in COMMANDS:
                with self.subTest(tree=fixture.stem, command=" ".join(words)):
                    self.inspects(words, root)
            self.assertEqual(digest(root), before, fixture.stem)

    def test_inspection_of_this_machine(self):
        for words in COMMANDS:
            with self.subTest(command=" ".join(words)):
                self.inspects(words, "/")

    def daemon(self, root, *words):
        """Runs it for some ticks, scrapes it, and ends it as systemd would."""
        with subprocess.Popen(
                [BIN / "only_reads", "--network", "timeout", "--preserve-status", "4",
                 BIN / "fabric-agent", "run", "--root", root, "--metrics", "127.0.0.1:0",
                 "--interval", "1s", "--settings-interval", "1s", *words],
                stderr=subprocess.PIPE, text=True) as agent:
            said = []
            for line in agent.stderr:
                said.append(line)
                if "metrics on " in line:
                    break
            place = said[-1].split()[-1]
            time.sleep(2.2)  # Ticks and checks
            with urllib.request.urlopen(f"http://{place}/metrics", timeout=60) as page:
                self.assertIn(b"fabric_agent_", page.read())
            said += agent.stderr.readlines()
        self.assertNotIn("only_reads:", "".join(said))
        self.assertEqual(agent.returncode, 0, said)

    def test_daemon_on_a_captured_tree_and_on_this_machine(self):
        root = self.folder / "daemon"
        subprocess.run([BIN / "unpack", FIXTURES[0], root], check=True)
        before = digest(root)
        self.daemon(root, "--no-controller")
        self.assertEqual(digest(root), before)
        self.daemon("/", "--controller", "127.0.0.1:1")

    def test_inspection_of_another_network_namespace(self):
        job = subprocess.Popen(["unshare", "-n", "sleep", "60"], stderr=subprocess.DEVNULL)
        try:
            here, deadline = os.readlink("/proc/self/ns/net"), time.monotonic() + 10
            while job.poll() is None and os.readlink(f"/proc/{job.pid}/ns/net") == here:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            if job.poll() is not None:
                self.skipTest("needs CAP_SYS_ADMIN to make a network namespace")
            words = [BIN / "fabric-agent", "inspect", "-o", "json", "--netns", str(job.pid)]
            done = watched(["--namespaces", *words])
            self.assertNotIn("only_reads:", done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            snapshot = json.loads(done.stdout)
            self.assertTrue(snapshot["job"]["own_network_namespace"])
            self.assertEqual([netdev["name"] for netdev in snapshot["net_interfaces"]], [])
            done = watched(words)
            self.assertEqual(done.returncode, DENIED, "entering is seen, and must be allowed")
        finally:
            job.kill()
            job.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
