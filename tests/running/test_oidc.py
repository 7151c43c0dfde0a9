#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricctl login and OIDC tokens with a real issuer (npm oidc-provider).

test_oidc.py BIN  where fabric-agent, fabricd and fabricctl are

Skipped where node or the packages are missing: run deploy/install-dependencies npm.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import tls_world
from tls_world import TlsWorld

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from freeports import free_ports  # pylint: disable=wrong-import-position

SERVER = pathlib.Path(__file__).resolve().parents[1] / "oidc"


class OidcTest(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()
        self.issue("server", "login", "--dns", "localhost")
        [self.port] = free_ports(1)
        self.issuer = f"https://localhost:{self.port}"
        bindings = self.folder / "bindings.yaml"
        bindings.write_text('- {identity: "oidc-group:network-team", roles: [operator]}\n')
        self.settings = [f"--oidc-issuer={self.issuer}", "--oidc-audience=fabricctl",
                         f"--oidc-ca={self.pki}/ca.pem", f"--role-bindings={bindings}"]

    def start_issuer(self, key="k1"):
        at = self.pki / "server/login"
        self.server = subprocess.Popen(
            ["node", SERVER / "server.js", str(self.port), at / "cert.pem", at / "key.pem", key],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop_issuer)
        self.await_issuer("ready")

    def stop_issuer(self):
        if self.server.poll() is None:
            self.server.kill()
        self.server.wait()
        self.server.stdin.close()
        self.server.stdout.close()

    def await_issuer(self, word):
        line = self.server.stdout.readline().strip()
        self.assertEqual(line, word)

    def login(self, account, client="fabricctl", name="token", *more):
        """Runs fabricctl login; a person accepts the code. Returns the file of the token."""
        token = self.folder / name
        login = subprocess.Popen(
            [tls_world.BIN / "fabricctl", "login", "--issuer", self.issuer, "--client-id", client,
             "--scope", "openid groups", "--issuer-ca", self.pki / "ca.pem",
             "--token-file", token, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        shown = login.stdout.readline() + login.stdout.readline()
        code = re.search(r"Code: (\S+)", shown)
        self.assertTrue(code, shown)
        self.assertIn(f"Open {self.issuer}/device?user_code=", shown)
        self.server.stdin.write(f"approve {code[1]} {account}\n")
        self.server.stdin.flush()
        self.await_issuer("approved")
        rest = login.communicate(timeout=60)[0]
        self.assertEqual(login.returncode, 0, rest)
        self.assertEqual(token.stat().st_mode & 0o777, 0o600)
        return token

    def whoami(self, token):
        return self.run_ctl("whoami", "--controller", self.bound["grpc"], "--tls-ca",
                            self.pki / "ca.pem", "--token-file", token, good=False)

    def test_a_person_signs_in_and_has_the_role_of_the_group(self):
        self.start_issuer()
        log = self.start_fabricd(*self.settings)
        self.until_logged(log, f"OIDC keys of {self.issuer}: 1 key")
        alice = self.login("alice")
        who = self.whoami(alice)
        self.assertEqual(who.returncode, 0, who.stderr)
        self.assertIn("oidc:alice", who.stdout)
        self.assertIn("operator", who.stdout)
        page = (SERVER.parents[1] / "docs/ACCESS.md").read_text()
        commands = re.findall(r"^    (fabricctl (?:config set-context|--context) prod .*)$", page,
                              re.MULTILINE)
        self.assertEqual(len(commands), 2)
        alice.rename(self.folder / "fabricd.token")
        for command in commands:
            done = subprocess.run(
                ["bash", "-ec", f"{command} --config ctl.yaml"], cwd=self.folder, text=True,
                capture_output=True, timeout=60, check=False,
                env={"PATH": f"{tls_world.BIN}:/usr/bin:/bin",
                     "FABRICCTL_CONTROLLER": self.bound["grpc"],
                     "FABRICCTL_TLS_CA": str(self.pki / "ca.pem")})
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("oidc:alice", done.stdout)
        alice = (self.folder / "fabricd.token").rename(alice)
        answer = self.curl(f"https://{self.bound['rest']}/v1/identity",
                           "--oauth2-bearer", alice.read_text().strip())
        self.assertEqual(json.loads(answer)["name"], "oidc:alice")
        denied = self.whoami(self.login("bob", name="bob"))
        self.assertIn("expected role viewer, oidc:bob has no role", denied.stderr)
        other = self.whoami(self.login("alice", client="other", name="other"))
        self.assertIn("aud: expected fabricctl, saw 'other'", other.stderr)
        # An access token of this issuer is no JWT.
        opaque = self.whoami(self.login("alice", "fabricctl", "opaque", "--access-token"))
        self.assertIn("the bearer token is not known", opaque.stderr)
        self.assertNotIn(alice.read_text().strip(), log.read_text())

    def test_new_keys_of_the_issuer_are_fetched(self):
        self.start_issuer("k1")
        log = self.start_fabricd(*self.settings)
        self.until_logged(log, "OIDC keys of")
        old = self.login("alice", name="old")
        self.assertEqual(self.whoami(old).returncode, 0)
        self.stop_issuer()
        self.start_issuer("k2")
        new = self.login("alice", name="new")
        # The first call wakes the fetch, at most 10 s after the one before.
        self.until(lambda: self.whoami(new).returncode == 0, "the new key is known")
        self.assertIn("no key 'k1' for ES256 is known", self.whoami(old).stderr)

    def test_an_issuer_that_does_not_answer_or_is_another_one_is_named(self):
        log = self.start_fabricd(*self.settings)
        self.until_logged(log, f"OIDC keys: {self.issuer}: Connection refused; the previous keys "
                               "stay in use")
        self.start_issuer()
        done = self.run_ctl("login", "--issuer", self.issuer, "--client-id", "fabricctl",
                            "--token-file", self.folder / "t", good=False)
        self.assertIn("certificate of the server refused: signed by an unknown CA", done.stderr)
        done = self.run_ctl("login", "--issuer", f"https://127.0.0.1:{self.port}", "--client-id",
                            "fabricctl", "--issuer-ca", self.pki / "ca.pem", "--token-file",
                            self.folder / "t", good=False)
        self.assertRegex(done.stderr, "certificate of the server refused: IP address mismatch")
        done = self.run_ctl("login", "--issuer", self.issuer, "--client-id", "nobody",
                            "--issuer-ca", self.pki / "ca.pem", "--token-file",
                            self.folder / "t", good=False)
        self.assertIn("invalid_client", done.stderr)


if __name__ == "__main__":
    for tool in ("node", "openssl", "curl"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            sys.exit(77)
    if not (SERVER / "node_modules/oidc-provider").is_dir():
        print("SKIPPED: no packages of npm: run deploy/install-dependencies npm")
        sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
