#!/usr/bin/env python3
"""A real fabricd in operation: reload by SIGHUP and by fabricctl, profile apply, maintenance, a
signed webhook, and syslog over UDP."""

import contextlib
import hashlib
import hmac
import http.server
import json
import os
import queue
import re
import signal
import socket
import ssl
import subprocess
import tarfile
import threading
import time

from deploytest import ROOT, DeployTest, main
from fleet import Fleet

SECRET = "0123456789abcdef0123"
RULE = """rules:
  - {id: site.kernel, title: wrong name, severity: warning, scope: node,
     check: node.node.name == '%s'}
"""
LIMIT = 60  # seconds


@contextlib.contextmanager
def webhook_server(certificate=None):
    """Yields HOST:PORT, a queue of (headers, body), and a list of statuses to answer first."""
    got, answers = queue.Queue(), []

    class Hook(http.server.BaseHTTPRequestHandler):
        """Keeps what it gets."""

        def do_POST(self):  # pylint: disable=invalid-name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answers.pop(0) if answers else 200
            if status < 300:
                got.put((dict(self.headers), body))
            self.send_response(status)
            # Only the status is read, so the length of the answer does not matter.
            self.send_header("Content-Length", str(1 << 30))
            self.end_headers()

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield "{}:{}".format(*server.server_address), got, answers
    finally:
        server.shutdown()
        server.server_close()


class TestOperate(DeployTest):
    def start(self, *settings, config="log-level: info\n"):
        folder = self.folder()
        self.config = folder / "fabricd.yaml"
        self.config.write_text(config)
        fleet = Fleet(folder, self.program, f"--config={self.config}", *settings)
        self.addCleanup(fleet.__exit__)
        return fleet

    def fabricctl(self, fleet, *words, status=0):
        done = subprocess.run(
            [self.program("fabricctl"), "--controller", fleet.grpc, *map(str, words)],
            capture_output=True, text=True, timeout=60, check=False,
            env=dict(os.environ, USER="ada", HOME=str(fleet.folder)))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def rules_found(self, fleet):
        return {finding["rule"] for finding in fleet.get("/v1/findings")["findings"]}

    def test_sighup_reloads_rules_profile_and_level_and_refuses_what_is_wrong(self):
        rules = self.folder() / "site.yaml"
        rules.write_text(RULE % "none")
        fleet = self.start(f"--rules={rules}")
        fleet.add("n1", "roce_connectx6dx")
        fleet.wait(lambda: "site.kernel" in self.rules_found(fleet), "the finding of the rule")
        rules.write_text(RULE % "n1")
        fleet.process.send_signal(signal.SIGHUP)
        fleet.wait(lambda: "site.kernel" not in self.rules_found(fleet), "the new rule")
        rules.write_text("rules:\n  - {id: site.kernel, titel: x}\n")
        fleet.process.send_signal(signal.SIGHUP)
        fleet.wait(lambda: "reload refused, the previous files stay in use: rules: "
                   in fleet.log("fabricd"), "the refusal")
        self.assertNotIn("site.kernel", self.rules_found(fleet))
        self.assertEqual(self.rules_count(fleet), 1)
        rules.write_text(RULE % "none")
        self.config.write_text("log-level: warning\nlost-after: 9s\n")
        printed = self.fabricctl(fleet, "reload")
        self.assertIn("1 custom rule, log level warning", printed)
        self.assertIn("Restart fabricd to use the new value of lost-after.", printed)
        fleet.wait(lambda: "site.kernel" in self.rules_found(fleet), "the rule again")
        self.config.write_text("log-level: loud\n")
        self.assertIn("log-level", self.fabricctl(fleet, "reload", status=2))

    def test_sighup_changes_the_log_level_of_an_agent_and_does_not_end_it(self):
        fleet = self.start()
        config = fleet.folder / "agent.yaml"
        config.write_text("log-level: info\n")
        fleet.add("n1", "roce_connectx6dx", f"--config={config}")
        process = fleet.agents["n1"][0]
        for text, logged in (("log-level: loud\n", "not reloaded, the settings stay: "),
                             ("log-level: debug\ninterval: 2s\n", "reloaded: log level debug")):
            config.write_text(text)
            process.send_signal(signal.SIGHUP)
            fleet.wait(lambda text=logged: text in fleet.log("n1"), logged)
        fleet.wait(lambda: "setting interval has a new value: restart fabric-agent to use it"
                   in fleet.log("n1"), "the setting that needs a restart")
        self.assertIsNone(process.poll())

    def test_each_line_of_a_json_log_is_an_object(self):
        fleet = self.start("--log-format=json")
        fleet.add("n1", "roce_connectx6dx")
        fleet.wait(lambda: "node n1 connected" in fleet.log("fabricd"), "the line of the node")
        lines = [json.loads(line) for line in fleet.log("fabricd").splitlines()]
        self.assertIn("gRPC on", " ".join(line["message"] for line in lines))
        self.assertIn({"node": "n1"}, [line.get("fields") for line in lines])
        for words, status, message in (
                (("fabricd", f"--grpc={fleet.grpc}", "--rest=127.0.0.1:0", "--health=127.0.0.1:0",
                  f"--state={fleet.folder}/other.db"), 1, "cannot listen"),
                (("fabric-agent", "run", "--no-controller", "--root=/nowhere"), 2, "/nowhere")):
            done = subprocess.run([self.program(words[0]), *words[1:], "--log-format=json"],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(done.stdout, "")
            last = [json.loads(line) for line in done.stderr.splitlines()][-1]
            self.assertEqual((last["level"], last["program"]), ("error", words[0]))
            self.assertIn(message, last["message"])

    def rules_count(self, fleet):
        return sum(rule["id"].startswith("site.") for rule in fleet.get("/v1/rules")["rules"])

    def test_profile_apply_replaces_the_file_or_changes_nothing(self):
        folder = self.folder()
        profile, new = folder / "profile.yaml", folder / "new.yaml"
        profile.write_text("name: first\nexpect:\n  netdev_mtu_bytes: 9000\n")
        fleet = self.start(config=f"profile: {profile}\n")
        fleet.add("n1", "roce_connectx6dx")
        fleet.wait(lambda: self.rules_found(fleet), "a finding")
        new.write_text("name: second\nexpect:\n  netdev_mtu_bytes: 1500\n")
        self.assertIn("Valid: profile second", self.fabricctl(fleet, "profile", "apply", new,
                                                              "--dry-run"))
        self.assertIn("first", profile.read_text())
        self.assertIn("Applied: profile second", self.fabricctl(fleet, "profile", "apply", new))
        self.assertEqual(profile.read_text(), new.read_text())
        fleet.wait(lambda: "expected 1500" in json.dumps(fleet.get("/v1/findings"))
                   or '"1500"' in json.dumps(fleet.get("/v1/findings")), "the new expectation")
        new.write_text("name: third\nexpekt: {}\n")
        self.assertIn("new.yaml:2:1", self.fabricctl(fleet, "profile", "apply", new, status=2))
        self.assertIn("second", profile.read_text())

    def test_profile_apply_needs_a_file_in_the_setting(self):
        fleet = self.start(config="profile: roce-pfc-dcqcn\n")
        new = self.folder() / "new.yaml"
        new.write_text("name: second\nexpect:\n  netdev_mtu_bytes: 1500\n")
        self.assertIn("expected the path of a file in the setting, saw roce-pfc-dcqcn",
                      self.fabricctl(fleet, "profile", "apply", new, status=5))

    def test_maintenance_is_shown_and_ends(self):
        fleet = self.start()
        fleet.add("n1", "roce_connectx6dx")
        fleet.wait(lambda: self.rules_found(fleet), "a finding")
        self.fabricctl(fleet, "node", "maintenance", "n1", "--for", "2h", "--reason", "OPS-7")
        self.assertRegex(self.fabricctl(fleet, "nodes"),
                         r"n1 is in maintenance until \S+: OPS-7 \(\w+\)")
        self.assertEqual(fleet.get("/v1/findings?filter=silenced.id%3D%22%22").get("findings", []),
                         [])
        self.fabricctl(fleet, "node", "maintenance", "n1", "--end")
        self.assertNotIn("maintenance", self.fabricctl(fleet, "nodes"))

    def test_settings_are_those_in_use(self):
        fleet = self.start(config="flap-hold: 5m\n")
        shown = self.fabricctl(fleet, "settings", "--changed")
        self.assertRegex(shown, r"flap-hold +5m +file\n")
        self.assertRegex(shown, r"grpc +127\.0\.0\.1:0 +command line\n")
        self.assertNotIn("default", shown)

    def test_support_bundle_is_an_archive_without_secrets(self):
        """Secrets: keys, the bearer token of the caller, the URL and the secret of a webhook."""
        made = self.run_well(self.program("fabricctl"), "token", "create", "ci", "--role", "admin")
        token = re.search(r"fabric_\S+", made)[0]
        tokens = self.folder() / "tokens.yaml"
        tokens.write_text(next(line for line in made.splitlines() if line.startswith("- ")) + "\n")
        tokens.chmod(0o600)
        secrets = ("PRIVATE KEY", token, SECRET, "fabric?x=1", "planted")
        fleet = self.start(f"--tokens={tokens}", f"--webhooks={self.hooks('127.0.0.1:9')}")
        tree = fleet.folder / "tree-n1"
        self.run_well(self.program("unpack"), ROOT / "tests/fixtures/h100_infiniband.tree", tree)
        (tree / "proc/cmdline").write_text("quiet iommu=pt site.auth_token=planted\n")
        fleet.add("n1", "h100_infiniband")
        fleet.wait(lambda: self.rules_found(fleet), "a finding")
        path = fleet.folder / "bundle.tar"
        (fleet.folder / "token").write_text(token)
        (fleet.folder / "token").chmod(0o600)
        self.fabricctl(fleet, "support-bundle", "--out", path,
                       "--token-file", fleet.folder / "token")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        with tarfile.open(path) as tar:
            names = tar.getnames()
            texts = [tar.extractfile(name).read().decode() for name in names]
        self.assertIn("fabricd-bundle/nodes/n1.json", names)
        for name, text in zip(names, texts):
            if name.endswith(".json"):
                json.loads(text)
            for secret in secrets:
                self.assertNotIn(secret, text, name)
        self.assertIn("iommu", texts[names.index("fabricd-bundle/nodes/n1.json")])
        settings = json.loads(texts[names.index("fabricd-bundle/settings.json")])["settings"]
        [state] = [one for one in settings if one["name"] == "state"]
        self.assertEqual(state["source"], "SETTING_SOURCE_COMMAND_LINE")
        self.assertEqual(state["values"], [f"{fleet.folder}/fabricd.db"])

    def hooks(self, address, *more, scheme="http"):
        folder = self.folder()
        secret = folder / "secret"
        secret.write_text(SECRET + "\n")
        secret.chmod(0o600)
        path = folder / "webhooks.yaml"
        path.write_text("\n".join([f"- name: ops\n  url: {scheme}://{address}/fabric?x=1",
                                   f"  secret-file: {secret}", *more]) + "\n")
        return path

    def check_message(self, headers, body):
        """The signature is that of the secret. Returns the message."""
        fields = dict(part.split("=") for part in headers["Fabricd-Signature"].split(","))
        self.assertLess(abs(time.time() - int(fields["t"])), 600)
        expected = hmac.new(SECRET.encode(), fields["t"].encode() + b"." + body, hashlib.sha256)
        self.assertEqual(fields["v1"], expected.hexdigest())
        return json.loads(body)

    def test_findings_reach_a_webhook_that_was_down(self):
        with webhook_server() as (address, got, answers):
            answers.extend([500, 503])
            hooks = self.hooks(address)
            fleet = self.start(f"--webhooks={hooks}")
            fleet.add("n1", "roce_connectx6dx")
            message = self.check_message(*got.get(timeout=LIMIT))
            self.assertEqual(message["event"], "finding_opened")
            finding = message["finding"]
            self.assertEqual(finding["verdict"], "VERDICT_FAIL")
            self.assertIn(finding["id"],
                          [one["id"] for one in fleet.get("/v1/findings")["findings"]])
            self.assertEqual(answers, [])

    def test_labels_select_nodes_and_are_in_the_answers(self):
        fleet = self.start()
        for node in ("n1", "n2"):
            fleet.add(node, "roce_connectx6dx")
        self.assertIn("pool=h100,rack=r12",
                      self.fabricctl(fleet, "node", "label", "n1", "pool=h100", "rack=r12"))
        self.fabricctl(fleet, "node", "label", "n2", "pool=h200")
        self.assertEqual(fleet.get("/v1/nodes/n1")["summary"]["labels"],
                         {"pool": "h100", "rack": "r12"})
        self.assertEqual([one["name"] for one in
                          fleet.get("/v1/nodes?filter=labels.pool%3Dh200")["nodes"]], ["n2"])
        self.fabricctl(fleet, "silence", "add", "--node", "pool!=h200", "--for", "1h",
                       "--reason", "OPS-1")
        self.assertEqual([one["node"] for one in fleet.get("/v1/silences")["silences"]], ["n1"])
        for wrong in ("pol=h100", "pool=h300"):
            self.fabricctl(fleet, "silence", "add", "--node", wrong, "--for", "1h",
                           "--reason", "OPS-1", status=5)
        self.assertIn("labels: pool=h200", self.fabricctl(fleet, "events", "--kind", "node"))

    def test_reload_reads_the_file_of_webhooks_again(self):
        with webhook_server() as (address, got, _), webhook_server() as (other, more, _):
            hooks = self.hooks(address)
            fleet = self.start(f"--webhooks={hooks}")
            fleet.add("n1", "roce_connectx6dx")
            self.check_message(*got.get(timeout=LIMIT))
            text = hooks.read_text()
            hooks.write_text(text + "  min-severity: loud\n")
            self.assertIn(f"webhooks: {hooks}:4:", self.fabricctl(fleet, "reload", status=2))
            hooks.write_text(text.replace(address, other))
            self.assertNotIn("Restart", self.fabricctl(fleet, "reload"))
            fleet.kill("n1")
            self.assertEqual(self.check_message(*more.get(timeout=LIMIT))["event"],
                             "finding_opened")

    def test_a_webhook_over_tls_checks_the_certificate(self):
        pki = self.folder() / "pki"
        for words in (("init",), ("issue", "server", "hook", "--ip", "127.0.0.1")):
            self.run_well(self.program("fabricctl"), "pki", *words, "--dir", pki)
        files = pki / "server/hook"
        with webhook_server((files / "cert.pem", files / "key.pem")) as (address, got, _):
            hooks = self.hooks(address, f"  ca-file: {files}/ca.pem", scheme="https")
            fleet = self.start(f"--webhooks={hooks}")
            fleet.add("n1", "roce_connectx6dx")
            self.check_message(*got.get(timeout=LIMIT))
            fleet.__exit__()
            unknown = self.start(f"--webhooks={self.hooks(address, scheme='https')}")
            unknown.add("n1", "roce_connectx6dx")
            unknown.wait(lambda: self.rules_found(unknown), "a finding")
            with self.assertRaises(queue.Empty):
                while True:  # What the first one still sent
                    got.get(timeout=3)

    def test_findings_reach_syslog(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", 0))
            server.settimeout(LIMIT)
            fleet = self.start("--syslog=127.0.0.1:{}".format(server.getsockname()[1]))
            fleet.add("n1", "roce_connectx6dx")
            self.assertRegex(server.recv(4096).decode(),
                             r"^<2[6-9]>1 \S+Z \S+ fabricd - finding_opened - opened \w+ \w+ ")

    def test_the_limit_of_pairs_is_a_setting(self):
        fleet = self.start("--pairs-at-once-max=1")
        for name in ("n1", "n2", "n3"):
            fleet.add(name, "roce_connectx6dx")
        fleet.wait(lambda: len(fleet.get("/v1/nodes")["nodes"]) == 3, "three nodes")
        printed = self.fabricctl(fleet, "probe", "run", "--kind", "incast", "--hub", "n1", status=5)
        self.assertIn("2 senders", printed)
        self.assertIn("the maximum of concurrent pairs: 1", printed)

    def test_fabricctl_and_the_agent_name_the_port_of_rest(self):
        fleet = self.start()
        fleet.grpc = fleet.rest
        fleet.add("n1", "roce_connectx6dx")
        fleet.wait(lambda: "expected the port of gRPC (9418)" in fleet.log("n1"), "the reason")
        self.assertIn("expected the port of gRPC (9418)", self.fabricctl(fleet, "nodes", status=3))

    def test_wrong_files_are_one_line(self):
        path = self.hooks("127.0.0.1:1")
        path.write_text(path.read_text().replace("http://", "gopher://"))
        done = subprocess.run(
            [self.program("fabricd"), "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0",
             f"--state={self.folder()}/f.db", f"--webhooks={path}"],
            capture_output=True, text=True, timeout=30, check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.splitlines()[-1],
                         r"^fabricd: webhooks: .*:2:8: url: expected http\[s\]://HOST")


if __name__ == "__main__":
    main()
