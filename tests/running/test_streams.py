#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams of events that are open, over gRPC and REST, end when their caller may no longer watch: a
token that is removed or expires, a role that is taken away, a certificate that is revoked or
expires.

test_streams.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import datetime
import shutil
import subprocess
import sys
import time
import unittest

import tls_world
from access_world import AccessWorld
from oidc_tokens import Issuer

LONGEST = 120.0  # A minute of a certificate, and the interval of checks
BINDING = '- {identity: "oidc:bob", roles: [viewer]}\n'
KEPT = '- {identity: "oidc:eve", roles: [viewer]}\n'


class Stream:
    """A program that follows the events, and its output."""

    def __init__(self, test, name, words):
        self.log = test.folder / f"stream-{name}"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(list(map(str, words)), stdout=out, stderr=out)
        test.addCleanup(self.end)

    def text(self):
        return self.log.read_text()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class StreamsTest(AccessWorld):
    def make_viewer(self, name):
        """(file of the token, its line in the file of fabricd)."""
        token, line = self.make_token(name, "viewer")
        return self.private(f"{name}.token", token + "\n"), line

    def with_token(self, path):
        return (["--tls-ca", self.pki / "ca.pem", "--token-file", path],
                ["--oauth2-bearer", path.read_text().strip()])

    def with_certificate(self, owner):
        return self.files(owner), self.identity(owner)

    def follow(self, name, credential):
        """Both streams of a caller, which are open."""
        for_grpc, for_rest = credential
        both = [
            Stream(self, f"{name}-grpc", [tls_world.BIN / "fabricctl", "events", "--watch",
                                          "--since", "1h", "--controller", self.bound["grpc"],
                                          *for_grpc]),
            Stream(self, f"{name}-rest", ["curl", "-sSN", "--cacert", self.pki / "ca.pem",
                                          *for_rest, f"https://{self.bound['rest']}/v1/events"])]
        self.until(lambda: "n1" in both[0].text(), f"{name}: events over gRPC")
        self.until(lambda: "retry: " in both[1].text(), f"{name}: events over REST")
        return both

    def test_streams_end_when_their_caller_may_no_longer_watch(self):
        self.issue("viewer", "carol")
        removed_file, removed = self.make_viewer("removed")
        short_file, short = self.make_viewer("short")
        ends = datetime.datetime.fromtimestamp(time.time() + 25, datetime.timezone.utc)
        short = short.replace("}", f', expires: "{ends:%Y-%m-%dT%H:%M:%SZ}"' + "}")
        tokens = self.private("tokens.yaml", removed + short)
        bindings = self.private("bindings.yaml", BINDING + KEPT)
        issuer = Issuer(self.inputs)
        bob = self.private("bob.token", issuer.token("bob"))
        eve = self.private("eve.token", issuer.token("eve"))
        log = self.start_fabricd(f"--tokens={tokens}", f"--role-bindings={bindings}",
                                 f"--tls-crl={self.pki}/crl.pem", *issuer.settings)
        self.start_agent()
        self.until_logged(log, "node n1 connected")
        ended = {
            "the bearer token is not known": self.follow("removed", self.with_token(removed_file)),
            "the bearer token short expired": self.follow("short", self.with_token(short_file)),
            "oidc:bob has no role": self.follow("bob", self.with_token(bob)),
            "certificate revoked": self.follow("carol", self.with_certificate("viewer/carol"))}
        self.issue("viewer", "dave", "--lifetime", "1m")  # The shortest one
        ended["the client certificate of spiffe://fabric/viewer/dave expired at"] = self.follow(
            "dave", self.with_certificate("viewer/dave"))
        kept = self.follow("eve", self.with_token(eve)) + self.follow(
            "alice", self.with_certificate("admin/alice"))
        tokens.write_text(short)
        bindings.write_text(KEPT)
        self.run_ctl("pki", "revoke", "viewer", "carol", "--dir", self.pki)
        for reason, (grpc, rest) in ended.items():
            self.until(lambda one=grpc: one.process.poll() is not None, f"gRPC ends: {reason}",
                       LONGEST)
            self.assertEqual(grpc.process.returncode, 4, grpc.text())
            self.assertIn(reason, grpc.text())
            self.until(lambda one=rest: one.process.poll() is not None, f"REST ends: {reason}",
                       LONGEST)
        for stream in kept:
            self.assertIsNone(stream.process.poll(), stream.text())


if __name__ == "__main__":
    for tool in ("openssl", "curl"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
