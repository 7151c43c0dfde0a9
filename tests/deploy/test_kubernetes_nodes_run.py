#!/usr/bin/env python3
"""The program that writes to nodes: failures, wrong arguments, a real fabricd, and its objects."""

import contextlib
import io
import shutil
import sys
import time

import yaml

from deploytest import ROOT, DeployTest, main
from fleet import Fleet
from nodesworld import API, NODES, PORT_DOWN, TAINT, TAINTED, World

sys.path.insert(0, str(ROOT / "tests/deploy/helm"))
# pylint: disable=wrong-import-position
import chart
import fabric_api
import fabric_judge
import fabric_nodes


class FailuresTest(World):
    def test_one_bad_node_does_not_stop_the_others(self):
        for status in (403, 404, 409, 429, 500):
            with self.subTest(status):
                self.kubernetes.nodes["n2"]["status"]["conditions"] = []
                self.kubernetes.refuse = {("PATCH", "/api/v1/nodes/n1/status"): status}
                self.turn()
                self.assertIsNone(self.status("n1"))
                self.assertEqual(self.status("n2")[0], "False")
                self.assertIn(f"node n1: PATCH /api/v1/nodes/n1/status?fieldManager=fabric-nodes: "
                              f"{status}: refused with {status}", self.lines)
        self.kubernetes.refuse = {}
        self.turn()
        self.assertEqual(self.status("n1")[0], "False", "the next turn tries again")

    def test_events_that_are_refused_do_not_stop_conditions_and_labels(self):
        self.fabricd.fail("n1")
        self.fabricd.devices = [{"node": "n1", "rail": 0, "leaf": "a"}]
        self.kubernetes.refuse = {("POST", fabric_nodes.EVENTS): 403}
        self.turn()
        self.assertEqual(self.status("n1")[0], "True")
        self.assertIn("fabricd.io/leaf", self.kubernetes.nodes["n1"]["metadata"]["labels"])
        self.kubernetes.refuse = {}
        self.turn()
        self.assertEqual(len(self.kubernetes.events), 1)

    def test_unexpected_data_of_one_node(self):
        self.fabricd.fail("n1", rule=None)
        self.turn()
        self.assertEqual(self.status("n2")[0], "False")
        self.assertTrue([line for line in self.lines if "node n1: unexpected data" in line])

    def test_an_api_server_that_fails_ends_the_turn(self):
        self.kubernetes.refuse["GET", "/api/v1/nodes"] = 403
        with self.assertRaisesRegex(fabric_api.Failure, "403: refused"):
            self.turn()

    def test_an_api_server_that_refuses_all_ends_the_turn(self):
        for name in self.names:
            self.kubernetes.refuse["PATCH", f"/api/v1/nodes/{name}/status"] = 429
        self.addCleanup(setattr, fabric_nodes, "FAILURES_MAX", fabric_nodes.FAILURES_MAX)
        fabric_nodes.FAILURES_MAX = 2
        with self.assertRaisesRegex(fabric_api.Unreachable, "429"):
            self.turn()
        self.assertEqual(len(self.kubernetes.writes()), 2)
        for name in self.names:
            self.kubernetes.refuse["PATCH", f"/api/v1/nodes/{name}/status"] = 500
        self.assertEqual(len(self.turn()), 3, "errors of single nodes")

    def test_fabricd_that_does_not_answer(self):
        self.fabricd.fail("n1")
        self.turn(TAINT, "--taint-nodes=3")
        self.kubernetes.nodes["n2"]["status"]["conditions"] = []
        for status in (503, 401):
            self.fabricd.status = status
            self.assertEqual(self.turn(), [], "it can be restarting")
        self.start("--unknown-after=5")
        self.writer.read_at = time.monotonic() - 6
        self.writer.turn()
        self.assertEqual(self.status("n1"), ("Unknown", "FabricdUnreachable",
                                             "fabricd has not answered for 5 s"))
        self.assertIsNone(self.status("n2"), "a node without conditions gets none")
        self.assertEqual(self.taints(), [TAINTED])
        self.fabricd.status = 200
        self.turn()
        self.assertEqual(self.status("n1")[0], "True")

    def test_a_token(self):
        folder = self.folder()
        api = fabric_api.Api(self.fabricd.server.url, folder / "token")
        with self.assertRaisesRegex(fabric_api.Unreachable, "No such file"):
            api.call("GET", "/v1/nodes")
        (folder / "token").write_text("secret\n")
        self.assertEqual(len(api.call("GET", "/v1/nodes")["nodes"]), 2)
        self.assertEqual(self.fabricd.server.authorizations, ["Bearer secret"])

    def test_reads_are_bounded(self):
        for name, value, text in (("ANSWER_MAX", 10, "more than 10 bytes"),
                                  ("PAGES_MAX", 1, "more than 1 pages")):
            before = getattr(fabric_api, name)
            self.addCleanup(setattr, fabric_api, name, before)
            setattr(fabric_api, name, value)
            with self.assertRaisesRegex(fabric_api.Failure, text):
                self.writer.read_nodes()
            setattr(fabric_api, name, before)

    def test_the_time_without_fabricd_starts_at_its_last_answer(self):
        self.start("--unknown-after=5")
        self.writer.read_at = time.monotonic() - 60
        self.writer.turn()
        self.fabricd.status = 503
        self.writer.turn()
        self.assertEqual(self.status("n1")[0], "False")

    def test_wrong_arguments(self):
        for word in ("--taint=a", "--taint=a=b:Never", "--taint=a=b c:NoSchedule",
                     "--taint==x:NoSchedule", "--taint-nodes=101%", "--taint-nodes=x",
                     "--interval=0", "--taints-per-hour=-1"):
            with self.subTest(word), contextlib.redirect_stderr(io.StringIO()) as out, \
                    self.assertRaises(SystemExit):
                fabric_nodes.parse(["--fabricd=https://x", word])
            self.assertIn("expected", out.getvalue())
        for address in ("x:9419", "127.0.0.1:9419", "ftp://x", "https://"):
            with self.subTest(address), contextlib.redirect_stderr(io.StringIO()) as out, \
                    self.assertRaises(SystemExit):
                fabric_nodes.parse([f"--fabricd={address}"])
            self.assertIn(f"expected https://HOST:PORT, saw '{address}'", out.getvalue())
        for path, seen in (("/no/file", "No such file or directory: '/no/file'"),
                           ("/dev/null", "/dev/null: expected a certificate in PEM")):
            self.assertEqual(
                fabric_nodes.main(["--fabricd=https://x", f"--tls-ca={path}", "--once"]), 1)
            self.assertIn("TLS files: ", self.lines[-1])
            self.assertIn(seen, self.lines[-1])


class RealFabricdTest(World):
    names = ("n1", "n2")

    def test_findings_of_a_real_fabricd(self):
        with contextlib.ExitStack() as stack:
            fleet = stack.enter_context(Fleet(self.folder(), self.program))
            for node in self.names:
                fleet.add(node, "roce_connectx6dx")
            fleet.wait(lambda: len(fleet.get("/v1/nodes")["nodes"]) == 2, "two nodes")
            self.writer.fabricd = fabric_api.Api(f"http://{fleet.rest}")
            fleet.wait(lambda: self.both("n1"), "conditions")
            before = self.both("n1")
            fleet.break_node("n1", "roce_connectx6dx")
            fleet.wait(lambda: self.both("n1")[1] == "True", f"a port is down, not {before}")
        self.assertEqual(self.status("n1", PORT_DOWN)[1], "PortActive")
        self.assertEqual(self.status("n2", PORT_DOWN)[0], "False")
        self.assertIn("fabricd.io/rail-count", self.kubernetes.nodes["n1"]["metadata"]["labels"])
        self.assertIn("FabricFindingOpened", str(self.kubernetes.event_lines()))

    def both(self, name):
        self.writer.turn()
        return [self.status(name, kind)[0] for kind in fabric_judge.CONDITIONS
                if self.status(name, kind)]


class ManifestsTest(DeployTest):
    def setUp(self):
        self.objects = list(yaml.safe_load_all((NODES / "nodes.yaml").read_text()))
        self.by_kind = {one["kind"]: one for one in self.objects}

    def test_the_container_starts_the_program(self):
        [container] = self.by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
        options = fabric_nodes.parse(container["args"][3:])
        self.assertIsNone(options.taint)
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        for path in (container["args"][2], options.tls_ca, options.tls_cert, options.tls_key):
            self.assertIn(path.rsplit("/", 1)[0], mounts)

    def test_permissions_are_those_of_the_requests(self):
        rules = {(resource, verb) for rule in self.by_kind["ClusterRole"]["rules"]
                 for resource in rule["resources"] for verb in rule["verbs"]}
        self.assertEqual(rules, {("nodes", "list"), ("nodes", "patch"), ("nodes/status", "patch"),
                                 ("events", "create")})

    def programs(self, objects):
        return {name: text for made in objects if made["kind"] == "ConfigMap"
                for name, text in made["data"].items()}

    def test_kustomize_and_helm_add_the_same_programs(self):
        folder = self.folder()
        for path in (NODES, API):
            shutil.copytree(path, folder / path.name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "kustomization.yaml").write_text("components: [api, nodes]\n")
        rendered = list(yaml.safe_load_all(
            self.run_well(self.tool("kubectl"), "kustomize", folder)))
        files = {path.name: path.read_text() for path in [*NODES.glob("*.py"), *API.glob("*.py")]}
        self.assertEqual(self.programs(rendered), files)
        made = chart.Chart(self.tool("go"), self.folder()).objects(chart.NODES)
        self.assertEqual({name: text.strip() for name, text in self.programs(made).items()},
                         {name: text.strip() for name, text in files.items()})
        names = {one["metadata"]["name"] for one in rendered if one["kind"] == "ConfigMap"}
        [volume] = [one for made in rendered if made["kind"] == "Deployment"
                    for one in made["spec"]["template"]["spec"]["volumes"] if "projected" in one]
        self.assertEqual({one["configMap"]["name"] for one in volume["projected"]["sources"]},
                         names)


if __name__ == "__main__":
    main()
