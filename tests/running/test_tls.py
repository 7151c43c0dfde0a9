#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fabricd, fabric-agent and fabricctl with TLS: versions, certificates, rotation, revocation, and
the commands of docs/OPERATIONS.md.

test_tls.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import json
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest

import tls_world
from tls_world import TlsWorld

OPERATIONS = pathlib.Path(__file__).resolve().parents[2] / "docs/OPERATIONS.md"


class TlsTest(TlsWorld):
    def test_tls_13_only_on_every_listener(self):
        self.make_pki()
        self.start_fabricd("--agents=127.0.0.1:0")
        for listener in ("grpc", "rest", "health", "agents"):
            for version, expected in (("-tls1", False), ("-tls1_1", False), ("-tls1_2", False),
                                      ("-tls1_3", True)):
                with self.subTest(listener=listener, version=version):
                    accepted, text = self.handshake(listener, version)
                    self.assertEqual(accepted, expected, text)
        # TLS 1.3 has no renegotiation.
        self.assertIn("Secure Renegotiation IS NOT supported", self.handshake("rest")[1])

    def test_strong_ciphers_without_compression_and_early_data(self):
        self.make_pki()
        self.start_fabricd()
        for listener in ("grpc", "rest", "health"):
            for suite, expected in (("TLS_AES_256_GCM_SHA384", True),
                                    ("TLS_CHACHA20_POLY1305_SHA256", True),
                                    ("TLS_AES_128_GCM_SHA256", True),
                                    ("TLS_AES_128_CCM_SHA256", False),
                                    ("TLS_AES_128_CCM_8_SHA256", False)):
                with self.subTest(listener=listener, suite=suite):
                    # The client itself accepts weak ones.
                    accepted, text = self.handshake(listener, "-ciphersuites", suite, "-cipher",
                                                    "DEFAULT@SECLEVEL=0")
                    self.assertEqual(accepted, expected, text)
                    self.assertNotIn("no ciphers available", text)
                    if accepted:
                        self.assertIn(f"Cipher is {suite}", text)
                        self.assertIn("Compression: NONE", text)
                        self.assertIn("Early data was not sent", text)
                        self.assertNotRegex(text, r"Max Early Data: [1-9]")

    def test_curl_and_fabricctl_with_a_certificate(self):
        self.make_pki()
        self.start_fabricd()
        answer = self.curl(f"https://{self.bound['rest']}/v1/version",
                           *self.identity("admin/alice"))
        self.assertIn('"version":', answer)
        self.assertEqual(self.curl(f"https://{self.bound['health']}/readyz").strip(), "ok")
        self.assertIn("expected HTTPS", self.curl(f"http://{self.bound['rest']}/v1/version"))
        done = self.run_ctl("nodes", "--controller", self.bound["grpc"], *self.files("admin/alice"))
        self.assertIn("No nodes", done.stdout + done.stderr)
        plain = self.run_ctl("nodes", "--controller", self.bound["grpc"], good=False)
        self.assertIn("expected a server without TLS at", plain.stderr)
        self.assertEqual(plain.returncode, 5, plain.stderr)

    def test_the_agent_exports_the_validity_of_its_certificate(self):
        self.make_pki()
        self.start_fabricd()
        log = self.start("fabric-agent", "run", "--controller", self.bound["grpc"], "--node", "n1",
                         "--metrics=127.0.0.1:0", *self.files("node/n1"))
        self.until_logged(log, "metrics on ")
        address = re.search(r"metrics on (\S+)", log.read_text())[1]
        text = self.curl(f"http://{address}/metrics")
        seconds = float(
            re.search(r"^fabric_tls_certificate_not_after_seconds (\S+)", text, re.M)[1])
        self.assertAlmostEqual(seconds, time.time() + 90 * 86400, delta=3600)
        self.assertRegex(text, r"(?m)^fabric_tls_files_refused 0$")

    def test_agent_link_needs_a_certificate_that_names_a_node(self):
        self.make_pki()
        log = self.start_fabricd()
        # gRPC by hand: an answer without a body has its status in the headers.
        request = ["--http2", "-X", "POST", "-D", "-", "-o", self.folder / "body",
                   "-H", "content-type: application/grpc", "-H", "te: trailers",
                   "--data-binary", ""]
        url = f"https://{self.bound['grpc']}/fabric.v1.AgentLink/Connect"
        for owner, status, seen in ((None, "16", "saw neither"),
                                    ("admin/alice", "7", "spiffe://fabric/admin/alice")):
            with self.subTest(owner):
                answer = self.curl(url, *request, *(self.identity(owner) if owner else []))
                self.assertIn(f"grpc-status: {status}", answer)
                self.until_logged(log, seen)

    def test_an_agent_of_another_node_is_refused_and_logged_on_both_sides(self):
        self.make_pki()
        controller = self.start_fabricd()
        agent = self.start_agent("n2")
        expected = "spiffe://fabric/node/n1 cannot report as node 'n2': expected n1"
        self.until_logged(agent, expected)
        self.until_logged(controller, expected)

    def test_rotation_keeps_the_stream_and_a_mismatched_pair_is_refused(self):
        self.make_pki()
        controller = self.start_fabricd()
        agent = self.start_agent()
        self.until_logged(controller, "node n1 connected")
        serial = self.handshake("rest")[1]
        self.run_ctl("pki", "renew", "server", "fabricd", "--dir", self.pki)
        self.run_ctl("pki", "renew", "node", "n1", "--dir", self.pki)
        self.until_logged(controller, "TLS files reloaded")
        self.until_logged(agent, "TLS files reloaded")
        for listener in ("rest", "grpc"):
            self.until(lambda at=listener: self.leaf(self.handshake(at)[1]) != self.leaf(serial),
                       f"{listener} has the new certificate")
        self.assertEqual(self.metric("fabric_tls_files_refused"), 0)
        self.assertGreater(self.metric("fabric_tls_certificate_not_after_seconds"), time.time())

        other = self.pki / "admin/alice/key.pem"
        shutil.copy(other, self.pki / "server/fabricd/key.pem")
        self.until_logged(controller, "new TLS files refused, the previous ones stay in use: ")
        self.assertIn("expected the private key of the certificate", controller.read_text())
        self.assertEqual(self.metric("fabric_tls_files_refused"), 1)
        self.until(lambda: "expected the private key of the certificate" in self.own_findings(),
                   "a finding has the reason")
        for listener in ("rest", "grpc"):
            self.assertTrue(self.handshake(listener)[0])
        self.assertNotIn("not connected", agent.read_text())
        self.assertNotIn("lost", controller.read_text())
        self.run_ctl("pki", "renew", "server", "fabricd", "--dir", self.pki)
        self.until(lambda: self.metric("fabric_tls_files_refused") == 0, "good files are used")
        self.until(lambda: self.own_findings() == "", "the finding is resolved")

    def test_a_certificate_that_expires_soon_is_a_finding(self):
        self.make_pki()
        # Valid from a minute before now: less than a quarter is left after 5 s.
        self.run_ctl("pki", "renew", "server", "fabricd", "--dir", self.pki, "--lifetime", "1m")
        log = self.start_fabricd()
        self.until(lambda: "the certificate of fabricd expires at" in self.own_findings(),
                   "a finding says so")
        self.until_logged(log, "the certificate expires at")
        self.run_ctl("pki", "renew", "server", "fabricd", "--dir", self.pki)
        self.until(lambda: self.own_findings() == "", "the finding is resolved")

    def own_findings(self):
        """Titles of the open findings about fabricd itself."""
        answer = json.loads(self.curl(f"https://{self.bound['rest']}/v1/findings",
                                      *self.identity("admin/alice")))
        return "\n".join(one["title"] for one in answer.get("findings", [])
                         if one["rule"].startswith("controller_"))

    @staticmethod
    def leaf(text):
        return re.search(r"-----BEGIN CERTIFICATE-----.*?-----END", text, re.DOTALL)[0]

    def test_revocation_ends_the_session(self):
        self.make_pki()
        controller = self.start_fabricd(f"--tls-crl={self.pki}/crl.pem")
        agent = self.start_agent()
        self.until_logged(controller, "node n1 connected")
        self.run_ctl("pki", "revoke", "node", "n1", "--dir", self.pki)
        self.until_logged(agent, "certificate revoked")
        self.until_logged(controller, "TLS on gRPC: certificate of spiffe://fabric/node/n1, "
                                      "n1 refused: certificate revoked")

    def test_a_resumed_session_of_a_revoked_certificate_is_refused(self):
        self.make_pki()
        log = self.start_fabricd(f"--tls-crl={self.pki}/crl.pem")
        context = ssl.create_default_context(cafile=self.pki / "ca.pem")
        context.load_cert_chain(*(self.pki / "admin/alice" / one
                                  for one in ("cert.pem", "key.pem")))
        context.set_alpn_protocols(["h2"])
        served, _, session = self.greet_grpc(context)
        self.assertTrue(served)
        self.assertEqual(self.greet_grpc(context, session)[:2], (True, True), "it is resumed")
        self.run_ctl("pki", "revoke", "admin", "alice", "--dir", self.pki)
        self.until_logged(log, "TLS files reloaded")
        self.until(lambda: not self.greet_grpc(context, session)[0], "the session is refused")
        self.assertIn("certificate of spiffe://fabric/admin/alice refused: certificate revoked",
                      log.read_text())
        # REST has no sessions to resume.
        text = self.handshake("rest")[1]
        self.assertNotIn("New Session Ticket", text)

    def greet_grpc(self, context, session=None):
        """(whether the server answers HTTP/2, whether the session was resumed, its session)."""
        host, port = self.bound["grpc"].rsplit(":", 1)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
        try:
            with socket.create_connection((host, int(port)), timeout=30) as plain, \
                    context.wrap_socket(plain, server_hostname=host, session=session) as tls:
                tls.sendall(preface)
                return bool(tls.recv(64)), tls.session_reused, tls.session
        except OSError:
            return False, None, None

    def test_without_certificates_only_loopback(self):
        for setting, address in (("grpc", "0.0.0.0:0"), ("rest", "[::]:0"),
                                 ("health", "192.0.2.1:0"), ("agents", "192.0.2.1:0"),
                                 ("grpc", "127.0.0.1.example.org:0")):
            with self.subTest(address):
                done = subprocess.run(
                    [tls_world.BIN / "fabricd", f"--{setting}={address}",
                     f"--state={self.folder}/s.db"],
                    text=True, capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 2)
                [line] = [line for line in done.stderr.splitlines() if line.startswith("fabricd: ")]
                self.assertIn(f"--{setting}: expected a loopback address, because TLS is not "
                              f"configured, saw {address}; set tls-cert, tls-key and tls-ca", line)

    def test_tls_off_is_a_warning(self):
        log = self.start("fabricd", "--grpc=0.0.0.0:0", "--rest=127.0.0.1:0", "--tls=off",
                         f"--state={self.folder}/s.db")
        self.until_logged(log, "health on http://")
        self.assertIn("--grpc 0.0.0.0:0 without TLS (tls: off)", log.read_text())

    def test_a_missing_file_and_a_missing_setting_are_named(self):
        for words, status, message in (
                (["--tls-cert=/nowhere/cert.pem", "--tls-key=k", "--tls-ca=c"], 1,
                 "TLS: /nowhere/cert.pem: No such file or directory; expected the file of the "
                 "setting tls-cert"),
                (["--tls-cert=c"], 2, "expected a file, because --tls-cert is set, saw none"),
                (["--tls=off", "--tls-ca=c"], 2,
                 "--tls-ca: expected no certificates with tls: off")):
            with self.subTest(words):
                done = subprocess.run(
                    [tls_world.BIN / "fabricd", f"--state={self.folder}/s.db", *words],
                    text=True, capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode, status)
                self.assertIn(message, done.stderr)
        # Status 1: systemd starts the agent again, and the files can be there then.
        done = subprocess.run([tls_world.BIN / "fabric-agent", "run", "--controller=127.0.0.1:1",
                               "--tls-cert=/nowhere/cert.pem", "--tls-key=k", "--tls-ca=c"],
                              text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("TLS: /nowhere/cert.pem: No such file or directory", done.stderr)

    def test_agents_can_have_an_address_of_their_own(self):
        self.make_pki()
        controller = self.start_fabricd("--agents=127.0.0.1:0", f"--join-ca={self.pki}/ca.pem",
                                        f"--join-ca-key={self.pki}/ca-key.pem")
        self.assertIn(f"agents on {self.bound['agents']}, ", controller.read_text())
        for_agents, for_clients = self.bound["agents"], self.bound["grpc"]
        self.assertNotEqual(for_agents, for_clients)
        agent = self.start("fabric-agent", "run", "--controller", for_clients, "--node", "n1",
                           *self.files("node/n1"))
        self.until_logged(agent, "this address is for clients; agents use that of the setting")
        self.start("fabric-agent", "run", "--controller", for_agents, "--node", "n1",
                   *self.files("node/n1"))
        self.until_logged(controller, "node n1 connected")
        self.assertIn("n1", self.ctl("nodes").stdout)
        for words in (["nodes"], ["events"], ["node", "remove", "n1", "--yes"]):
            done = self.run_ctl(*words, "--controller", for_agents, *self.files("admin/alice"),
                                good=False)
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("this address is for agents; clients use that of the setting grpc",
                          done.stderr)
        # Nodes join there, too.
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(self.ctl("join-token", "create", "rack", "-o", "name").stdout)
        for node, address, text in (
                ("n2", for_clients, "this address is for clients; agents use that of the setting"),
                ("n3", for_agents, "connected to")):
            folder = self.folder / node
            folder.mkdir(mode=0o700)
            agent = self.start("fabric-agent", "run", "--controller", address, "--node", node,
                               f"--join-dir={folder}", f"--join-token={token}")
            self.until_logged(agent, text)

    def test_fabricctl_names_a_port_of_http(self):
        self.make_pki()
        self.start_fabricd()
        for port in ("rest", "health"):
            done = self.run_ctl("nodes", "--controller", self.bound[port],
                                *self.files("admin/alice"), good=False)
            self.assertEqual(done.returncode, 3)
            self.assertIn("expected the port of gRPC (9418)", done.stderr)

    def test_an_agent_names_why_it_does_not_connect(self):
        self.make_pki()
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            for tls in ((), self.files("node/n1")):
                log = self.start("fabric-agent", "run", "--controller", address, "--node", "n1",
                                 *tls)
                self.until_logged(log, f"not connected to {address}: connection refused\n")
            folder = self.folder / "join"
            folder.mkdir(mode=0o700)
            log = self.start("fabric-agent", "run", "--controller", address, "--node", "n1",
                             "--tls-ca", self.pki / "ca.pem", "--join-dir", folder)
            self.until_logged(log, f"not joined yet: cannot reach the controller at {address}: "
                              "connection refused\n")

    def test_commands_of_the_documentation(self):
        page = OPERATIONS.read_text()
        section = page[page.index("## TLS and certificates"):page.index("## Update intervals")]
        commands = re.findall(r"^    fabricctl (pki .*)$", section, re.MULTILINE)
        self.assertEqual({shlex.split(command)[1] for command in commands},
                         {"init", "issue", "renew", "revoke", "show"})
        for command in commands:
            self.run_ctl(*shlex.split(command.replace("/root/fabricd-pki", str(self.pki))))


if __name__ == "__main__":
    for tool in ("openssl", "curl"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
