#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/ACCESS.md and docs/SECURITY.md, and those about joining in
docs/OPERATIONS.md, with real certificates.

test_access_docs.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import tls_world
from tls_world import TlsWorld

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# Commands that test_oidc.py runs with a real issuer.
ELSEWHERE = ("fabricctl login ", "fabricctl --token-file fabricd.token ",
             "fabricctl config set-context prod ", "fabricctl --context prod ")


def commands_of(page, begin=None, end=None):
    text = (DOCS / page).read_text()
    if begin:
        text = text[text.index(begin):]
        text = text[:text.index(end)]
    found = re.findall(r"^    ((?:fabricctl|curl) .*)$", text, re.MULTILINE)
    return [command for command in found if not command.startswith(ELSEWHERE)]


class AccessDocsTest(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()
        self.tokens = self.folder / "tokens.yaml"
        self.tokens.touch(mode=0o600)
        self.start_fabricd(f"--join-ca={self.pki}/ca.pem", f"--join-ca-key={self.pki}/ca-key.pem",
                           f"--tls-crl={self.pki}/crl.pem", f"--tokens={self.tokens}")
        self.own = self.pki / "admin/alice"

    def shell(self, command, **environment):
        """Runs a command of the documentation as alice, in the folder of the test."""
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, text=True, capture_output=True, timeout=60,
            check=False, env={**os.environ, "PATH": f"{tls_world.BIN}:{os.environ['PATH']}",
                              "FABRICCTL_CONTROLLER": self.bound["grpc"],
                              "FABRICCTL_TLS_CA": str(self.own / "ca.pem"),
                              "FABRICCTL_TLS_CERT": str(self.own / "cert.pem"),
                              "FABRICCTL_TLS_KEY": str(self.own / "key.pem"), **environment})
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_access(self):
        commands = commands_of("ACCESS.md")
        self.assertGreaterEqual(len(commands), 5)
        for command in commands:
            if command.startswith("fabricctl token create"):
                made = self.shell(command)
                [line] = [one for one in made.splitlines() if one.startswith("- {name: ")]
                token = re.search(r"fabric_\S+", made)[0]
                self.tokens.write_text(line + "\n")
                (self.folder / "ci.token").touch(mode=0o600)
                (self.folder / "ci.token").write_text(token + "\n")
                # fabricd reads the file within 2 s.
                self.until(lambda: self.run_ctl(
                    "whoami", "--controller", self.bound["grpc"], "--tls-ca",
                    self.pki / "ca.pem", "--token-file", self.folder / "ci.token",
                    good=False).returncode == 0, "the token is known")
                continue
            # Without the certificate of alice, so that the token counts.
            alone = {"FABRICCTL_TLS_CERT": "", "FABRICCTL_TLS_KEY": ""}
            command = command.replace("http://127.0.0.1:9419", f"https://{self.bound['rest']}")
            command = command.replace("curl ", f"curl --fail -sS --cacert {self.pki}/ca.pem ", 1)
            out = self.shell(command, **(alone if "ci.token" in command else {}))
            if command.startswith("curl"):
                self.assertIn("findings", json.loads(out))

    def test_security(self):
        for command in commands_of("SECURITY.md"):
            self.shell(command)

    def test_joining(self):
        commands = commands_of("OPERATIONS.md", "### Nodes that join", "### Change of the CA")
        self.assertEqual({" ".join(one.split()[1:3]) for one in commands},
                         {"join-token create", "join-token list", "join-request list",
                          "join-request approve", "join-request deny", "join-certificates",
                          "pki revoke"})
        token = None
        for command in commands:
            if command.split()[:3] in (["fabricctl", "join-request", "approve"],
                                       ["fabricctl", "join-request", "deny"]):
                command = command.replace(command.split()[3], self.waiting_request(), 1)
            out = self.shell(command.replace("/root/fabricd-pki", str(self.pki)))
            if command.startswith("fabricctl join-token create"):
                token = re.search(r"fabric_join_\S+", out)[0]
        folder = self.folder / "gpu-12a"
        folder.mkdir(mode=0o700)
        (folder / "token").touch(mode=0o600)
        (folder / "token").write_text(token)
        agent = self.start("fabric-agent", "run", "--controller", self.bound["grpc"], "--node",
                           "gpu-12a", f"--join-dir={folder}", f"--join-token={folder}/token")
        self.until_logged(agent, "connected to")

    def waiting_request(self):
        """The id of a new request of an agent without token."""
        node = f"n{len(self.started)}-{len(list(self.folder.glob('*.log')))}"
        folder = self.folder / node
        folder.mkdir(mode=0o700)
        agent = self.start("fabric-agent", "run", "--controller", self.bound["grpc"], "--node",
                           node, f"--join-dir={folder}", f"--tls-ca={self.pki}/ca.pem")
        self.until_logged(agent, "waiting for approval of request ")
        return re.search(r"approval of request (\w+)", agent.read_text())[1]


if __name__ == "__main__":
    for tool in ("openssl", "curl"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
