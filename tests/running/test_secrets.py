#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No secret is in a log, in the audit log, in the metrics, in an event or in the state: fabricd and
an agent at log level debug, with every kind of secret, with good and bad requests over gRPC and
REST.

test_secrets.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import base64
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

import postgres
import tls_world
from access_world import AccessWorld
from oidc_tokens import Issuer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from freeports import free_ports  # pylint: disable=wrong-import-position

PASSWORD = "db-password-3f1c9a77"
WEBHOOK_SECRET = "webhook-secret-0123456789ab"
WEBHOOK_QUERY = "webhook-query-5d2e"
OTLP_TOKEN = "otlp-token-77aa51c2"


class SecretsTest(AccessWorld):
    def setUp(self):
        super().setUp()
        self.secrets = {}  # {what: text}
        self.put_webhook()

    def secret(self, what, text):
        self.secrets[what] = text
        return text

    def put_webhook(self):
        secret = self.private("webhook-secret", self.secret("webhook secret", WEBHOOK_SECRET))
        self.secret("query of a webhook", WEBHOOK_QUERY)
        self.hooks = self.private(
            "webhooks.yaml", "- name: ops\n"
            f"  url: https://127.0.0.1:9/hook?key={WEBHOOK_QUERY}\n  secret-file: {secret}\n")
        self.otlp = self.private("otlp-headers", "authorization: Bearer " +
                                 self.secret("token for OTLP", OTLP_TOKEN) + "\n")

    def put_tokens(self):
        """Static tokens, good and unknown, and OIDC tokens, good, expired and forged."""
        token, line = self.make_token("ci", "admin")
        self.tokens = self.private("tokens.yaml", line)
        bindings = self.private("bindings.yaml",
                                '- {identity: "oidc:bob", roles: [operator]}\n')
        issuer = Issuer(self.inputs)
        good = issuer.token("bob")
        callers = {
            "token": token,
            "unknown token": "fabric_" + "Zk3q" * 10 + "abc",
            "OIDC token": good,
            "expired OIDC token": issuer.token("bob", -7200),
            "OIDC token without a role": issuer.token("mallory"),
            "forged OIDC token": good[:good.rindex(".") + 1] + issuer.token("eve").rsplit(".")[-1],
            "token in part": "fabric_Zk3qShort",
        }
        for what, text in callers.items():
            self.secret(what, text)
            self.private(what.replace(" ", "-"), text + "\n")
        for what in ("OIDC token", "forged OIDC token"):
            self.secret("signature of the " + what, callers[what].rsplit(".")[-1])
        return callers, [f"--tokens={self.tokens}", f"--role-bindings={bindings}",
                         *issuer.settings]

    def keys(self):
        """A line of each private key."""
        for path in (*self.folder.rglob("*key.pem"), *self.folder.rglob("node.pem")):
            lines = path.read_text().split("PRIVATE KEY-----\n")[1].splitlines()
            line = lines[0] if lines[1].startswith("-") else lines[1]
            self.secret(f"private key {path.relative_to(self.folder)}", line)

    def rest(self, path, *words):
        return self.curl(f"https://{self.bound['rest']}{path}", *words)

    def call_all(self, callers):
        """Requests with each token, in its place and in wrong places, over both transports."""
        silence = '{"silence": {"rule": "port_active", "reason": "x"}, "duration_seconds": 60}'
        silences = ["-H", "content-type: application/json", "-d", silence]
        for what, token in callers.items():
            words = ["--controller", self.bound["grpc"], "--tls-ca", self.pki / "ca.pem",
                     "--token-file", self.inputs / what.replace(" ", "-")]
            for command in (["nodes"], ["silence", "add", "--rule", "port_active", "--for", "1h",
                                        "--reason", "test"], ["events"], ["reload"]):
                self.run_ctl(*command, *words, good=False)
            self.rest("/v1/nodes", "--oauth2-bearer", token)
            self.rest("/v1/silences", "--oauth2-bearer", token, *silences)
            self.rest("/v1/silences", "--oauth2-bearer", token, "-d", "{")
            basic = base64.b64encode(f"bob:{token}".encode()).decode()
            for header in (f"Authorization: {token}", f"Authorization: Basic {basic}",
                           f"Authorization: Bearer {token}, Bearer {token}",
                           f"X-Api-Key: {token}", f"Cookie: token={token}"):
                self.rest("/v1/nodes", "-H", header)
            self.rest(f"/v1/nodes?access_token={token}")
            self.rest("/v1/silences", "-H", "content-type: application/json", "-d",
                      f'{{"token": "{token}"}}')
            # gRPC by hand, with a message that is none.
            self.curl(f"https://{self.bound['grpc']}/fabric.v1.Fabric/ListNodes", "--http2", "-H",
                      "content-type: application/grpc", "-H", "te: trailers", "-H",
                      f"authorization: Bearer {token}", "--data-binary", "xxxxxxxx", "-o",
                      "/dev/null")

    def join(self, controller):
        token = self.ctl("join-token", "create", "rack", "-o", "name").stdout.strip()
        pin = token[token.index("."):]
        self.secret("join token", token[:-len(pin)])
        unknown = self.secret("unknown join token", "fabric_join_" + "Yx4p" * 10 + "abc")
        for node, text in (("n2", token), ("n3", unknown + pin), ("n4", unknown[:30])):
            folder = self.inputs / node
            folder.mkdir(mode=0o700)
            path = self.private(f"{node}/token", text + "\n")
            log = self.start("fabric-agent", "run", "--log-level=debug", "--controller",
                             self.bound["grpc"], "--node", node, f"--join-dir={folder}",
                             f"--join-token={path}", "--metrics=127.0.0.1:0")
            if node == "n2":
                self.until_logged(controller, "node n2 connected")
                self.agent_log = log
            else:
                self.until_logged(log, "join token is not known" if node == "n3" else
                                  "expected a join token")

    def test_a_password_in_the_url_of_the_database_is_refused_and_not_shown(self):
        for url in (f"postgresql://fabricd:{PASSWORD}@127.0.0.1:9/fabricd",
                    f"postgresql://127.0.0.1:9/fabricd?user=x&password={PASSWORD}"):
            done = self.run_to_end("fabricd", f"--state={url}", "--log-level=debug",
                                   "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0",
                                   "--health=127.0.0.1:0")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("password", done.stderr)
            self.assertNotIn(PASSWORD, done.stdout + done.stderr)

    def start_with_database(self, name, server, password):
        """A fabricd whose password of the database is in a file."""
        folder = self.folder / name
        folder.mkdir()
        passwords = self.private(f"{name}.pgpass", f"*:*:*:keeper:{password}\n")
        key = self.inputs / "signing-key.pem"
        if not key.exists():
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
            key.chmod(0o600)
        url = f"postgresql://keeper@/postgres?host={server.home}&passfile={passwords}"
        grpc, rest, health = free_ports(3)
        words = [f"--state={url}", f"--grpc=127.0.0.1:{grpc}", f"--rest=127.0.0.1:{rest}",
                 f"--health=127.0.0.1:{health}", f"--audit-log={folder}/audit",
                 f"--signing-key={key}", "--log-level=debug", *self.files("server/fabricd")]
        log = self.start("fabricd", *words)
        (folder / "settings").write_text(
            self.run_to_end("fabricd", *words, "--print-config").stdout)
        return log, f"https://127.0.0.1:{rest}", f"https://127.0.0.1:{health}"

    @unittest.skipIf(postgres.programs() is None, "no PostgreSQL server")
    def test_a_password_of_the_database_in_a_file_is_not_shown(self):
        server = postgres.Postgres()
        self.addCleanup(server.close)
        good = self.secret("password of the database", PASSWORD)
        bad = self.secret("wrong password of the database", "wrong-" + PASSWORD[::-1])
        server.sql(f"CREATE ROLE keeper LOGIN PASSWORD '{good}'")
        server.sql("GRANT CREATE ON DATABASE postgres TO keeper")
        hba = server.home / "data/pg_hba.conf"
        hba.write_text("local all keeper scram-sha-256\nlocal all all trust\n")
        server.sql("SELECT pg_reload_conf()")
        alice = self.identity("admin/alice")
        log, rest, _ = self.start_with_database("refused", server, bad)
        self.until_logged(log, "password authentication failed")
        answer = self.folder / "refused/answer"

        def refused():
            answer.write_text(self.curl(f"{rest}/v1/findings", *alice))
            return "password authentication failed" in answer.read_text()

        self.until(refused, "the answer has the reason")
        log, rest, health = self.start_with_database("leads", server, good)
        self.until_logged(log, "this controller leads")
        self.until(lambda: '"nodes"' in self.curl(f"{rest}/v1/nodes", *alice), "it answers")
        self.curl(f"{rest}/v1/backups", *alice, "-H", "content-type: application/json", "-d", "{}")
        for name in ("/v1/version", "/v1/audit-entries", "/v1/findings", "/metrics"):
            (self.folder / f"leads/{name.rsplit('/', 1)[1]}").write_text(
                self.curl((health if name == "/metrics" else rest) + name, *alice))
        server.stop()
        self.until_logged(log, "the lease cannot be read or renewed")
        (self.folder / "leads/ready").write_text(self.curl(f"{health}/readyz", *alice))
        self.started["fabricd"]()
        self.assertIn("passfile=", (self.folder / "leads/settings").read_text())
        names = self.search()
        for name in ("answer", "audit", "ready", "settings", log.name):
            self.assertIn(name, names)

    def test_no_secret_is_in_logs_audit_metrics_events_and_state(self):
        callers, settings = self.put_tokens()
        settings += ["--log-level=debug", f"--webhooks={self.hooks}",
                     f"--join-ca={self.pki}/ca.pem", f"--join-ca-key={self.pki}/ca-key.pem",
                     "--otlp-endpoint=127.0.0.1:9", f"--otlp-ca={self.pki}/ca.pem",
                     f"--otlp-headers={self.otlp}"]
        controller = self.start_fabricd(*settings)
        self.start("fabric-agent", "run", "--log-level=debug", "--controller", self.bound["grpc"],
                   "--node", "n1", *self.files("node/n1"))
        self.until_logged(controller, "node n1 connected")
        self.join(controller)
        self.call_all(callers)
        self.keys()
        shown = {"audit": self.ctl("audit", "list", "--limit", "1000", "-o", "json").stdout,
                 "events": self.ctl("events", "--since", "1h", "-o", "json").stdout,
                 "findings": self.ctl("findings", "-o", "json", good=False).stdout,
                 "metrics": self.curl(f"https://{self.bound['health']}/metrics",
                                      *self.identity("admin/alice"))}
        address = re.search(r"metrics on (\S+)", self.agent_log.read_text())[1]
        shown["metrics of the agent"] = self.curl(f"http://{address}/metrics")
        for name, text in shown.items():
            self.assertGreater(len(text), 100, name)
            (self.folder / f"shown-{name}").write_text(text)
        self.assertIn("unauthenticated", shown["metrics"])
        self.assertIn("CreateSilence", shown["audit"])
        for reason in ("bearer token is not known", "expected 'Bearer TOKEN'",
                       "the join token is not known"):
            self.assertIn(reason, shown["audit"])
        self.bundle(controller, settings)
        self.started["fabricd"]()  # It writes the summaries of denied calls.
        names = self.search()
        for name in ("state.db", "shown-audit", "events.jsonl"):
            self.assertIn(name, names)
        self.assertGreater(len(self.secrets), 15)

    def bundle(self, log, settings):
        """The bundle has settings, events and log lines, also of a log with secrets."""
        path = self.inputs / "bundle.tar"
        printed = self.run_to_end("fabricd", *settings, "--print-config").stdout
        self.assertIn("webhooks: ", printed)
        planted = self.private("planted.txt", "".join(
            f"Authorization: Bearer {text}\npassword={text}\n" for text in self.secrets.values()))
        self.ctl("support-bundle", "--out", path, "--nodes", "n1,n2", "--add", log,
                 "--add", self.private("settings.txt", printed), "--add", planted)
        with tarfile.open(path) as tar:
            tar.extractall(self.folder / "bundle")
        added = self.folder / "bundle/fabricd-bundle/added"
        self.assertIn("gRPC on", (added / f"1-{log.name}").read_text())
        self.assertIn(f"webhooks: {self.hooks}", (added / "2-settings.txt").read_text())

    def search(self):
        """All files but those that are there to have secrets. Returns their names."""
        searched = []
        for path in self.folder.rglob("*"):
            if not path.is_file() or path.name == "signing-key.pem" or \
                    any(path.is_relative_to(one) for one in (self.inputs, self.pki)):
                continue
            searched.append(path.name)
            data = path.read_bytes()
            for what, text in self.secrets.items():
                self.assertNotIn(text.encode(), data, f"{what} in {path}")
        return searched


if __name__ == "__main__":
    for tool in ("openssl", "curl"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
