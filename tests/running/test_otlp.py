#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Export of metrics and events by OTLP to a receiver that shares no code with fabricd.

test_otlp.py BIN  where fabric-agent, fabricd and fabricctl are

Skipped where node or the packages are missing: run deploy/install-dependencies npm.
"""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import tls_world
from tls_world import TlsWorld

RECEIVER = pathlib.Path(__file__).resolve().parents[1] / "otlp"
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def attributes(item):
    """{key: value} of a resource, point or record."""
    return {one["key"]: next(iter(one["value"].values())) for one in item.get("attributes", [])}


def key(name, labels):
    return name, tuple(sorted(labels.items()))


class Receiver:
    """The process of the receiver, and what it got."""

    def __init__(self, test, port=0, *files):
        self.process = subprocess.Popen(
            ["node", RECEIVER / "receiver.js", str(port), *map(str, files)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.test = test
        threading.Thread(target=self._read, daemon=True).start()
        test.addCleanup(self.stop)
        test.until(lambda: self._found("port"), "the receiver listens")
        self.port = self._found("port")[0]["port"]

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def _found(self, name):
        return [line for line in list(self.lines) if name in line]

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def answer(self, *words):
        """Chooses the answers to all later requests."""
        before = len(self._found("mode"))
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self.test.until(lambda: len(self._found("mode")) > before, f"the receiver knows {words}")

    def requests(self, which):
        return [line for line in self._found("signal") if line["signal"] == which]

    def records(self):
        return [record for line in self.requests("logs")
                for resource in line["message"]["resourceLogs"]
                for scope in resource["scopeLogs"] for record in scope["logRecords"]]

    def bodies(self):
        return [record["body"]["stringValue"] for record in self.records()]

    def points(self, request):
        """{(name, labels): (kind, metric, point)} of one request."""
        found = {}
        for resource in request["message"]["resourceMetrics"]:
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    kind = next(one for one in ("gauge", "sum", "histogram") if one in metric)
                    for point in metric[kind]["dataPoints"]:
                        found[key(metric["name"], attributes(point))] = (kind, metric[kind], point)
        return found


class OtlpTest(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()
        self.issue("server", "collector", "--ip", "127.0.0.1")

    def start_receiver(self, port=0, clients=True):
        at = self.pki / "server/collector"
        return Receiver(self, port, at / "cert.pem", at / "key.pem",
                        *([at / "ca.pem"] if clients else []))

    def options(self, port, owner="server/fabricd"):
        at = self.pki / owner
        return [f"--otlp-endpoint=127.0.0.1:{port}", f"--otlp-ca={at}/ca.pem",
                f"--otlp-cert={at}/cert.pem", f"--otlp-key={at}/key.pem", "--otlp-interval=1s",
                "--otlp-events=kind!=port"]

    def start_all(self, receiver, *more):
        log = self.start_fabricd(*self.options(receiver.port), *more)
        self.start_agent()
        self.until(lambda: "node n1 connected" in receiver.bodies(), "the node is an event")
        return log

    def scrape(self):
        """{(name, labels): value} of /metrics, and the types of the families."""
        text = self.curl(f"https://{self.bound['health']}/metrics", *self.identity("admin/alice"))
        samples = {}
        for line in text.splitlines():
            if (sample := SAMPLE.match(line)) is not None:
                samples[key(sample[1], dict(LABEL.findall(sample[2] or "")))] = float(sample[3])
        return samples, dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))

    def outcome(self, which, outcome):
        return self.scrape()[0][key("fabric_otlp_exports_total",
                                    {"signal": which, "outcome": outcome})]

    def test_metrics_are_those_of_a_scrape(self):
        receiver = self.start_receiver()
        self.start_all(receiver)
        # Numbers that do not change have the same values in both.
        volatile = re.compile(r"process_|fabric_otlp_|fabric_api_|fabric_rest_|fabric_controller_"
                              r"(turn|longest)|fabric_request")
        samples, types = self.scrape()
        seen = len(receiver.requests("metrics"))
        self.until(lambda: len(receiver.requests("metrics")) >= seen + 2, "metrics of later")
        request = receiver.requests("metrics")[-1]
        points = receiver.points(request)
        later, _ = self.scrape()
        self.assertEqual({name for name, _ in points}, set(types))
        kinds = {"gauge": "gauge", "counter": "sum", "histogram": "histogram"}
        compared = 0
        for (name, labels), (kind, metric, point) in points.items():
            self.assertEqual(kind, kinds[types[name]], name)
            if kind == "histogram":
                self.check_histogram(name, labels, metric, point, later)
                continue
            if kind == "sum":
                self.assertTrue(metric["isMonotonic"], name)
                self.assertEqual(metric["aggregationTemporality"],
                                 "AGGREGATION_TEMPORALITY_CUMULATIVE")
                self.assertLess(int(point["startTimeUnixNano"]), int(point["timeUnixNano"]))
                self.assertLessEqual(point["asDouble"], later[name, labels], name)
            if volatile.match(name) or samples.get((name, labels)) != later.get((name, labels)):
                continue
            self.assertEqual(point["asDouble"], later[name, labels], (name, labels))
            compared += 1
        self.assertGreater(compared, 100)
        self.check_resource(request["message"]["resourceMetrics"][0]["resource"])

    def check_histogram(self, name, labels, metric, point, later):
        """Its buckets, added up, are those of a scrape, or fewer: the scrape was later."""
        self.assertEqual(metric["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE")
        counts = [int(count) for count in point["bucketCounts"]]
        self.assertEqual(len(counts), len(point["explicitBounds"]) + 1)
        self.assertEqual(sum(counts), int(point["count"]))
        total = 0
        for bound, count in zip([*point["explicitBounds"], float("inf")], counts):
            total += count
            cumulative = [value for (other, keys), value in later.items()
                          if other == name + "_bucket" and
                          float(dict(keys)["le"]) == bound and
                          key("", {k: v for k, v in keys if k != "le"})[1] == labels]
            self.assertEqual(len(cumulative), 1, (name, labels, bound))
            self.assertLessEqual(total, cumulative[0], (name, labels, bound))

    def check_resource(self, resource):
        found = attributes(resource)
        version = self.run_to_end("fabricd", "--version").stdout.split()[1]
        self.assertEqual(found["service.name"], "fabricd")
        self.assertEqual(found["service.version"], version)
        self.assertTrue(found["host.name"])
        self.assertEqual(found["service.instance.id"],
                         found["host.name"] + ":" + self.bound["grpc"].rsplit(":", 1)[1])

    def test_events_are_those_of_a_watcher(self):
        receiver = self.start_receiver()
        self.start_all(receiver)
        self.started["fabric-agent"]()
        self.until(lambda: any(body.startswith("node n1 lost") for body in receiver.bodies()),
                   "the lost node is an event")
        self.until(lambda: any("node_connected" in body for body in receiver.bodies()),
                   "its finding is an event")
        watched = self.ctl("events", "--since", "1h", "--filter", "kind!=port", "--limit",
                           len(receiver.records()) + 1, "-o", "jsonl").stdout
        events = [json.loads(line) for line in watched.splitlines()]
        self.assertIn("gap", events[0], "--since starts with one")
        cursors = [event["cursor"] for event in events[1:]]
        self.assertEqual([attributes(one)["fabric.cursor"] for one in receiver.records()], cursors)
        self.assertEqual(len(set(cursors)), len(cursors), "nothing is doubled")
        lost = next(one for one in receiver.records()
                    if one["body"]["stringValue"].startswith("node n1 lost"))
        self.assertEqual(lost["severityNumber"], "SEVERITY_NUMBER_WARN")
        self.assertEqual(lost["severityText"], "warning")
        self.assertEqual(attributes(lost)["fabric.node"], "n1")
        finding = next(one for one in receiver.records() if
                       attributes(one).get("fabric.rule") == "node_connected")
        self.assertEqual(attributes(finding)["fabric.change"], "opened")
        self.assertGreaterEqual(int(finding["observedTimeUnixNano"]), int(finding["timeUnixNano"]))

    def stop_with_all_answered(self, receiver):
        """A request whose answer is lost is sent again, and its events are then doubled."""
        def answered():
            receiver.process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            if 0 < self.outcome("logs", "ok") == len(receiver.requests("logs")):
                return True
            receiver.process.send_signal(signal.SIGCONT)
            return False
        self.until(answered, "all requests are answered")
        receiver.stop()

    def test_a_collector_that_is_down_gets_the_events_later_and_once(self):
        receiver = self.start_receiver()
        log = self.start_all(receiver)
        self.stop_with_all_answered(receiver)
        before = receiver.bodies()
        self.started["fabric-agent"]()
        self.until_logged(log, "OTLP: export of metrics to ")
        self.until(lambda: self.outcome("logs", "retry") >= 2, "events are repeated")
        again = self.start_receiver(receiver.port)
        self.until(lambda: any(body.startswith("node n1 lost") for body in again.bodies()),
                   "the event arrives")
        for what in ("metrics", "events"):
            self.until_logged(
                log, f"OTLP: export of {what} to 127.0.0.1:{receiver.port} works again")
        cursors = [attributes(one)["fabric.cursor"]
                   for one in receiver.records() + again.records()]
        self.assertEqual(len(set(cursors)), len(cursors), "nothing is doubled")
        numbers = [int(cursor.split("-")[1]) for cursor in cursors]
        self.assertEqual(numbers, sorted(numbers))
        self.assertGreaterEqual(len(before), 1)
        for what in ("metrics", "events"):
            self.assertEqual(log.read_text().count(f"export of {what} to "), 2, log.read_text())

    def test_the_last_metrics_and_events_are_sent_when_fabricd_stops(self):
        receiver = self.start_receiver()
        options = [one for one in self.options(receiver.port)
                   if not one.startswith("--otlp-interval")]
        self.start_fabricd(*options, "--otlp-interval=10m", "--otlp-compression=none")
        self.until(lambda: receiver.requests("metrics"), "the first metrics")
        before = len(receiver.requests("metrics"))
        self.start_agent()
        self.until(lambda: "n1" in self.ctl("nodes", "-o", "name").stdout, "the node is connected")
        self.started["fabricd"]()
        self.until(lambda: len(receiver.requests("metrics")) > before, "the last metrics")
        self.until(lambda: "node n1 connected" in receiver.bodies(), "the last events")
        last = receiver.points(receiver.requests("metrics")[-1])
        self.assertIn(key("fabric_node_connected", {"node": "n1"}), last)

    def test_answers_are_repeated_refused_and_partial(self):
        receiver = self.start_receiver()
        log = self.start_all(receiver)
        receiver.answer("fail", "RESOURCE_EXHAUSTED", 3)
        before = len(receiver.requests("metrics"))
        self.until(lambda: self.outcome("metrics", "retry") >= 1, "it is repeated")
        self.until(lambda: len(receiver.requests("metrics")) > before, "the request arrived")
        self.until_logged(log, "RESOURCE_EXHAUSTED: the receiver says RESOURCE_EXHAUSTED; it is "
                               "repeated")
        first, second = self.times_of_next_metrics(receiver)
        self.assertGreater(second - first, 2.5, "the pause that the receiver asks for")
        receiver.answer("ok")
        self.until_logged(log, "works again")
        receiver.answer("fail", "PERMISSION_DENIED")
        self.until(lambda: self.outcome("metrics", "refused") >= 1, "it is not repeated")
        self.until_logged(log, "PERMISSION_DENIED: the receiver says PERMISSION_DENIED; ")
        dropped = self.scrape()[0][key("fabric_otlp_dropped_total", {"signal": "metrics"})]
        self.assertGreater(dropped, 50)
        receiver.answer("partial", 4)
        self.until(lambda: self.outcome("metrics", "partial") >= 2, "a part is rejected")
        self.assertRegex(log.read_text(), "accepts metrics in part: 4 of [0-9]+ rejected: some are "
                                          "too old")
        self.assertEqual(log.read_text().count("accepts metrics in part"), 1)

    def times_of_next_metrics(self, receiver):
        times = []
        for _ in range(2):
            seen = len(receiver.requests("metrics"))
            self.until(lambda: len(receiver.requests("metrics")) > seen, "a request")
            request = receiver.requests("metrics")[-1]
            point = next(iter(receiver.points(request).values()))[2]
            times.append(int(point["timeUnixNano"]) / 1e9)
        return times

    def test_a_slow_collector_does_not_delay_fabricd(self):
        receiver = self.start_receiver()
        log = self.start_all(receiver)
        receiver.answer("slow", 60_000)
        seen = len(receiver.requests("metrics"))
        self.until(lambda: len(receiver.requests("metrics")) > seen, "a call waits")
        self.started["fabric-agent"]()
        self.until(lambda: "node n1 lost" in log.read_text(), "fabricd judges meanwhile", 10)
        self.ctl("nodes")
        self.until_logged(log, "DEADLINE_EXCEEDED")
        self.started["fabricd"]()  # Ends although a call waits.

    def test_tls_of_both_sides_and_headers(self):
        receiver = self.start_receiver()
        headers = self.folder / "headers"
        headers.write_text("authorization: Bearer t1\n")
        headers.chmod(0o600)
        log = self.start_fabricd(*self.options(receiver.port), f"--otlp-headers={headers}")
        self.until(lambda: receiver.requests("metrics"), "metrics arrive")
        self.assertEqual(receiver.requests("metrics")[-1]["authorization"], "Bearer t1")
        headers.write_text("authorization: Bearer t2\n")
        self.until(lambda: receiver.requests("metrics")[-1]["authorization"] == "Bearer t2",
                   "the new token is used")
        headers.chmod(0o644)
        self.until_logged(log, "otlp-headers: ")
        self.assertNotIn("Bearer", log.read_text())
        self.started["fabricd"]()
        without = [one for one in self.options(receiver.port)
                   if not one.startswith(("--otlp-cert", "--otlp-key"))]
        log = self.start_fabricd(*without)
        self.until_logged(log, "fails: UNAVAILABLE: ")
        self.started["fabricd"]()
        self.issue("server", "other", "--dns", "elsewhere")
        at = self.pki / "server/other"
        other = Receiver(self, 0, at / "cert.pem", at / "key.pem", at / "ca.pem")
        log = self.start_fabricd(*self.options(other.port))
        self.until_logged(log, "fails: UNAVAILABLE: certificate of the server: expected the name "
                               "127.0.0.1, saw ")
        self.assertEqual(other.requests("metrics"), [])

    def test_new_tls_files_are_used(self):
        receiver = self.start_receiver()
        own = self.folder / "own"
        shutil.copytree(self.pki / "server/fabricd", own)
        options = [one.replace(str(self.pki / "server/fabricd"), str(own))
                   for one in self.options(receiver.port)]
        log = self.start_fabricd(*options)
        self.until(lambda: receiver.requests("metrics"), "metrics arrive")
        for name in ("cert.pem", "key.pem"):
            shutil.copy(self.pki / "admin/alice" / name, own / name)
        self.until_logged(log, "OTLP: TLS files reloaded")
        seen = len(receiver.requests("metrics"))
        self.until(lambda: len(receiver.requests("metrics")) > seen, "metrics arrive")

    def test_wrong_settings_are_named(self):
        at = self.pki / "server/fabricd"
        secret = self.folder / "headers"
        secret.write_text("a: b\n")
        secret.chmod(0o644)
        usage = {
            ("--otlp-endpoint=x",): "expected HOST:PORT",
            ("--otlp-endpoint=c:0", f"--otlp-ca={at}/ca.pem"): "expected a port from 1 to 65535",
            ("--otlp-endpoint=c:1",):
                "--otlp-ca: expected a file, because --otlp-endpoint is set and otlp-tls on, saw "
                "none",
            ("--otlp-endpoint=c:1", f"--otlp-ca={at}/ca.pem", f"--otlp-cert={at}/cert.pem"):
                "--otlp-key: expected a file, because --otlp-cert is set, saw none",
            ("--otlp-endpoint=c:1", "--otlp-tls=off", f"--otlp-headers={secret}"):
                "--otlp-headers: expected no file with otlp-tls: off, saw one",
            (f"--otlp-ca={at}/ca.pem",):
                "--otlp-ca: expected no file without --otlp-endpoint, saw one",
            ("--otlp-interval=1ms",): "expected",
            ("--otlp-tls=no",): "expected one of on, off",
        }
        for words, message in usage.items():
            done = self.run_to_end("fabricd", f"--state={self.folder}/s", *words)
            self.assertEqual((done.returncode, message in done.stderr), (2, True),
                             (words, done.stderr))
        for word, message in (("--otlp-events=nothing>1", "otlp-events: "),
                              (f"--otlp-headers={secret}", "mode 0600 or 0640"),
                              (f"--otlp-ca={self.folder}/none", "No such file")):
            others = [one for one in self.options(1) if not word.startswith(one.split("=")[0])]
            done = self.run_to_end("fabricd", f"--state={self.folder}/s", "--grpc=127.0.0.1:0",
                                   "--rest=127.0.0.1:0", *others, word)
            self.assertEqual((done.returncode, message in done.stderr), (1, True),
                             (word, done.stderr))

    def test_without_tls_only_on_request(self):
        receiver = Receiver(self)
        log = self.start_fabricd(f"--otlp-endpoint=127.0.0.1:{receiver.port}", "--otlp-tls=off",
                                 "--otlp-interval=1s")
        self.until_logged(log, "without TLS (otlp-tls: off)")
        self.until(lambda: receiver.requests("metrics"), "metrics arrive")
        self.started["fabricd"]()
        with_tls = self.start_receiver()
        log = self.start_fabricd(f"--otlp-endpoint=127.0.0.1:{with_tls.port}", "--otlp-tls=off")
        self.until_logged(log, "saw TLS: set otlp-ca instead of otlp-tls: off")

    def test_without_the_setting_there_is_nothing(self):
        self.start_fabricd()
        self.assertEqual([name for name, _ in self.scrape()[0] if "otlp" in name], [])


if __name__ == "__main__":
    for tool in ("node", "openssl", "curl"):
        if not shutil.which(tool):
            print(f"SKIPPED: {tool} is not installed")
            sys.exit(77)
    if not (RECEIVER / "node_modules/@opentelemetry").is_dir():
        print("SKIPPED: no packages of npm: run deploy/install-dependencies npm")
        sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
