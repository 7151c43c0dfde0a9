# SPDX-License-Identifier: Apache-2.0
"""Programs with TLS for tests: a CA of `fabricctl pki`, fabricd, agents, curl and openssl."""

import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path("build/release/bin")
PATIENCE = 40.0


def use_programs(folder):
    """Where fabric-agent, fabricd and fabricctl are."""
    global BIN  # pylint: disable=global-statement
    BIN = pathlib.Path(folder).resolve()


class TlsWorld(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="fabric-tls-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.pki = self.folder / "pki"
        self.started = {}  # How to end the newest process of each program

    def run_ctl(self, *words, good=True):
        done = subprocess.run([BIN / "fabricctl", *map(str, words)], text=True, timeout=60,
                              capture_output=True, check=False)
        if good:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def make_pki(self):
        self.run_ctl("pki", "init", "--dir", self.pki)
        self.issue("server", "fabricd", "--dns", "localhost", "--ip", "127.0.0.1")
        self.issue("node", "n1")
        self.issue("admin", "alice")

    def issue(self, *words):
        self.run_ctl("pki", "issue", *words, "--dir", self.pki)

    def files(self, owner):
        """The three options of TLS for a program."""
        at = self.pki / owner
        return [f"--tls-cert={at}/cert.pem", f"--tls-key={at}/key.pem", f"--tls-ca={at}/ca.pem"]

    def start(self, name, *arguments):
        log = self.folder / f"{name}-{len(list(self.folder.glob('*.log')))}.log"
        with open(log, "wb") as out:
            process = subprocess.Popen([BIN / name, *map(str, arguments)], stdout=out, stderr=out)

        def end():
            if process.poll() is None:
                process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0, log.read_text())

        self.addCleanup(end)
        self.started[name] = end
        return log

    def start_fabricd(self, *more):
        addresses = self.folder / "addresses.json"
        addresses.unlink(missing_ok=True)
        log = self.start("fabricd", "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0",
                         "--health=127.0.0.1:0", f"--state={self.folder}/state.db",
                         f"--addresses-file={addresses}", *self.files("server/fabricd"), *more)
        self.until(addresses.exists, "fabricd listens")
        self.bound = json.loads(addresses.read_text())
        return log

    def start_agent(self, node="n1", owner="node/n1"):
        return self.start("fabric-agent", "run", "--controller", self.bound["grpc"],
                          "--node", node, *self.files(owner))

    def ctl(self, *words, owner="admin/alice", good=True):
        """fabricctl with the certificate of `owner`."""
        return self.run_ctl(*words, "--controller", self.bound["grpc"], *self.files(owner),
                            good=good)

    @staticmethod
    def run_to_end(name, *words):
        return subprocess.run([BIN / name, *map(str, words)], text=True, capture_output=True,
                              timeout=PATIENCE, check=False)

    def until(self, condition, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def until_logged(self, log, text):
        self.until(lambda: text in log.read_text(), f"{log.name}: {text}")

    def handshake(self, listener, *words):
        """(accepted, output) of openssl s_client."""
        done = subprocess.run(
            ["openssl", "s_client", "-connect", self.bound[listener], "-alpn", "h2,http/1.1",
             "-CAfile", self.pki / "ca.pem", "-verify_return_error", *words],
            input=b"", capture_output=True, timeout=60, check=False)
        text = (done.stdout + done.stderr).decode(errors="replace")
        return "New, TLSv1.3" in text, text

    def curl(self, url, *words):
        done = subprocess.run(["curl", "-sS", "--max-time", "10", "--cacert", self.pki / "ca.pem",
                               *map(str, words), url], text=True, capture_output=True, check=False)
        return done.stdout + done.stderr

    def identity(self, owner):
        return ["--cert", self.pki / owner / "cert.pem", "--key", self.pki / owner / "key.pem"]

    def metric(self, name):
        text = self.curl(f"https://{self.bound['health']}/metrics", *self.identity("admin/alice"))
        return float(re.search(rf"^{name} (\S+)", text, re.MULTILINE)[1])
