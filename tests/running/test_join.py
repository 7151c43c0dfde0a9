#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes that join: tokens, approvals, renewal, revocation, with the real programs.

test_join.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import json
import pathlib
import shutil
import sys
import time
import unittest

import tls_world
from tls_world import TlsWorld


class JoinTest(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()

    def start_join(self, *more):
        return self.start_fabricd(f"--join-ca={self.pki}/ca.pem",
                                  f"--join-ca-key={self.pki}/ca-key.pem",
                                  f"--tls-crl={self.pki}/crl.pem", *more)

    def token(self, name, *words):
        return self.ctl("join-token", "create", name, *words, "-o", "name").stdout.strip()

    def folder_of(self, node, token=None):
        folder = self.folder / node
        folder.mkdir(mode=0o700, exist_ok=True)
        if token:
            path = folder / "token"
            path.touch(mode=0o600)
            path.write_text(token + "\n")
        return folder

    def join(self, node, token=None, *more):
        folder = self.folder_of(node, token)
        words = [f"--join-token={folder}/token"] if token else []
        return self.start("fabric-agent", "run", "--controller", self.bound["grpc"],
                          "--node", node, f"--join-dir={folder}", *words, *more)

    def connected(self, node):
        return f"node {node} connected"

    def test_a_backup_has_the_audit_log_and_the_join_tokens(self):
        self.start_join()
        self.token("rack", "--nodes", "gpu-*", "--uses", "3")
        backup = pathlib.Path(self.ctl("backup", "-o", "name").stdout.strip())
        for end in ("", ".audit", ".join"):
            self.assertEqual(pathlib.Path(f"{backup}{end}").stat().st_mode & 0o777, 0o600, end)
        self.token("later")
        entries = self.ctl("audit", "list", "-o", "name").stdout.splitlines()
        self.started["fabricd"]()
        # With the other files in place, only the state is replaced.
        settings = [f"--state={self.folder}/state.db", *self.files("server/fabricd"),
                    f"--join-ca={self.pki}/ca.pem", f"--join-ca-key={self.pki}/ca-key.pem"]
        restored = self.run_to_end("fabricd", *settings, f"--restore={backup}")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        for end in ("audit", "join"):
            self.assertRegex(restored.stdout,
                             rf"state.db.{end} is kept: it also contains .* since the")
        self.start_join()
        self.assertIn("later", self.ctl("join-token", "list").stdout)
        self.assertGreaterEqual(len(self.ctl("audit", "list", "-o", "name").stdout.splitlines()),
                                len(entries))
        self.started["fabricd"]()
        # All files are lost.
        kept = self.folder / "kept"
        kept.mkdir()
        for path in self.folder.glob("state.db*"):
            path.rename(kept / path.name)
        restored = self.run_to_end("fabricd", *settings, f"--restore={kept / backup.name}")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        for end in ("audit", "join"):
            self.assertIn(f"state.db.{end} restored from", restored.stdout)
        self.start_join()
        tokens = self.ctl("join-token", "list").stdout
        self.assertIn("rack", tokens)
        self.assertNotIn("later", tokens)
        self.assertIn("CreateJoinToken", self.ctl("audit", "list").stdout)
        self.ctl("audit", "verify")

    def test_old_backups_are_removed_with_their_files(self):
        self.start_join()
        for _ in range(7):
            self.ctl("backup")
            time.sleep(1.05)  # Their names have seconds.
        names = sorted(path.name for path in self.folder.glob("state.db.backup-*"))
        self.assertEqual(len(names), 15, names)
        self.assertEqual(len([one for one in names if one.endswith(".audit")]), 5)
        self.assertEqual(len([one for one in names if one.endswith(".join")]), 5)

    def test_a_token_joins_its_nodes_and_no_others(self):
        controller = self.start_join()
        token = self.token("rack", "--nodes", "gpu-*", "--uses", "1")
        agent = self.join("cpu-1", token)
        self.until_logged(agent, "join token rack: expected a node that matches 'gpu-*', "
                                 "saw 'cpu-1'")
        agent = self.join("gpu-1", token)
        self.until_logged(controller, self.connected("gpu-1"))
        self.assertEqual((self.folder / "gpu-1/node.pem").stat().st_mode & 0o777, 0o600)
        self.assertFalse((self.folder / "gpu-1/next-key.pem").exists())

        agent = self.join("gpu-2", token)
        self.until_logged(agent, "join token rack: no use is left of 1, the last one was by gpu-1")
        agent = self.join("gpu-3", "fabric_join_" + "x" * 43 + token[token.index("."):])
        self.until_logged(agent, "the join token is not known")
        # Another controller, or someone in between: the token is not sent.
        agent = self.join("gpu-4", token[:token.index(".")] + "." + "a" * 64)
        self.until_logged(agent, "saw a controller with others")

        listed = self.ctl("join-token", "list").stdout
        self.assertIn("1 of 1", listed)
        audit = self.ctl("audit", "list").stdout
        self.assertRegex(audit, r"join token rack +\S+ +Join +nodes/gpu-1 +ok")
        self.assertRegex(audit, r"Join +nodes/gpu-2 +denied")
        self.assertIn("CreateJoinToken  join-tokens/rack", audit)
        self.assertEqual(self.ctl("audit", "verify").returncode, 0)
        self.assert_nowhere(token[:token.index(".")], except_in="token")
        key = (self.folder / "gpu-1/node.pem").read_text().split("PRIVATE KEY-----")[1]
        self.assert_nowhere(key.splitlines()[1], except_in="node.pem")

    def assert_nowhere(self, secret, except_in):
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name != except_in:
                self.assertNotIn(secret.encode(), path.read_bytes(), path)

    def test_tokens_survive_a_restart(self):
        self.start_join()
        token = self.token("rack", "--uses", "2")
        agent = self.join("n5", token)
        self.until_logged(agent, "joined")
        self.started["fabricd"]()
        controller = self.start_join()
        self.assertIn("1 of 2", self.ctl("join-token", "list").stdout)
        self.join("n6", token)
        self.until_logged(controller, self.connected("n6"))
        self.ctl("join-token", "delete", "rack")
        self.assertIn("There are no join tokens", self.ctl("join-token", "list").stderr)
        self.until_logged(self.join("n7", token), "the join token is not known")

    def test_a_request_without_token_waits_for_approval(self):
        controller = self.start_join()
        agent = self.join("n8", None, f"--tls-ca={self.pki}/ca.pem")
        self.until_logged(agent, "waiting for approval of request ")
        [request] = json.loads(
            self.ctl("join-request", "list", "-o", "json").stdout)["requests"]
        self.assertEqual(request["node"], "n8")
        self.assertIn(request["key_fingerprint"], agent.read_text())
        denied = self.ctl("join-request", "approve", request["id"], owner="node/n1", good=False)
        self.assertEqual(denied.returncode, 4, denied.stderr)
        self.ctl("join-request", "approve", request["id"])
        self.until_logged(agent, "joined: ")
        self.until_logged(controller, self.connected("n8"))
        self.assertIn("approval by spiffe://fabric/admin/alice",
                      self.ctl("join-certificates").stdout)

        agent = self.join("n9", None, f"--tls-ca={self.pki}/ca.pem")
        self.until_logged(agent, "waiting for approval of request ")
        [name] = self.ctl("join-request", "list", "--filter", "node=n9", "-o",
                          "name").stdout.split()
        self.ctl("join-request", "deny", name, "--reason", "unknown machine")
        self.until_logged(agent, "was denied by spiffe://fabric/admin/alice: unknown machine")

    def test_renewal_keeps_the_stream(self):
        controller = self.start_join("--join-lifetime=15s")
        agent = self.join("n1x", self.token("t"))
        self.until_logged(controller, self.connected("n1x"))
        first = (self.folder / "n1x/node.pem").read_text()
        began = time.monotonic()
        self.until_logged(agent, "certificate renewed")
        self.until_logged(agent, "TLS files reloaded")
        self.assertNotEqual((self.folder / "n1x/node.pem").read_text(), first)
        # Past the end of the first certificate, and of a check of fabricd after it.
        self.until(lambda: time.monotonic() - began > 28 or
                   "not connected" in agent.read_text(), "time", patience=40)
        self.assertNotIn("not connected", agent.read_text())
        self.assertNotIn("lost", controller.read_text())
        self.assertIn("renewal", self.ctl("join-certificates").stdout)

    def test_a_revoked_certificate_ends_the_session(self):
        self.start_join()
        agent = self.join("n2x", self.token("t"))
        self.until_logged(agent, "connected to")
        [one] = json.loads(self.ctl("join-certificates", "-o", "json").stdout)["certificates"]
        self.run_ctl("pki", "revoke", "node", "n2x", "--serial", one["serial"], "--unlisted",
                     "--dir", self.pki)
        self.until_logged(agent, "certificate revoked")

    def test_wrong_settings_are_named(self):
        for words, message in (
                ([f"--join-ca={self.pki}/ca.pem"],
                 "join-ca-key: expected a file, because join-ca is set, saw none"),
                ([f"--join-ca={self.pki}/ca.pem", f"--join-ca-key={self.pki}/node/n1/key.pem"],
                 "expected the private key of the CA")):
            with self.subTest(words):
                done = self.run_to_end("fabricd", "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0",
                                       f"--state={self.folder}/s.db",
                                       *self.files("server/fabricd"), *words)
                self.assertEqual(done.returncode, 1)
                self.assertIn(message, done.stderr)
        for words, message in (
                (["--join-token=t"], "--join-dir: expected a folder, because --join-token is set"),
                (["--join-dir=d", "--tls-cert=c"],
                 "--tls-cert: expected none, because --join-dir is set, saw one")):
            with self.subTest(words):
                done = self.run_to_end("fabric-agent", "run", "--controller=127.0.0.1:1", *words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr)
        self.start_fabricd()
        off = self.ctl("join-token", "list", good=False)
        self.assertIn("joining is off: expected the settings join-ca and join-ca-key", off.stderr)


if __name__ == "__main__":
    for tool in ("openssl", "curl"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
