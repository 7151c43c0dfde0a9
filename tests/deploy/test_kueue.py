#!/usr/bin/env python3
"""The gate for Kueue: its decisions against a fake API server and a fake fabricd, and its requests
against a real fabricd. Kueue itself is not run."""

import argparse
import contextlib
import sys
import unittest.mock

import yaml

from deploytest import DEPLOY, DeployTest, main
from fakeserver import FakeServer
from fleet import Fleet

GATE = DEPLOY / "kubernetes/kueue"
API = DEPLOY / "kubernetes/api"
sys.path[:0] = [str(GATE), str(API)]
# pylint: disable=wrong-import-position
import fabric_api
import fabric_gate

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta1/workloads"
CHECKS = "/apis/kueue.x-k8s.io/v1beta1/admissionchecks"


def workload(name="w1", nodes=("n1", "n2"), state="Pending", check="fabric", reserved=True,
             level=fabric_gate.HOSTNAME):
    condition = {"type": "QuotaReserved", "status": str(reserved)}
    domains = [{"values": [node], "count": 8} for node in nodes]
    return {"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}",
                         "resourceVersion": "7"},
            "status": {"conditions": [condition],
                       "admissionChecks": [{"name": check, "state": state}],
                       "admission": {"podSetAssignments": [
                           {"name": "main", "topologyAssignment": {"levels": [level],
                                                                   "domains": domains}}]}}}


class World(DeployTest):
    """One workload that waits for the check of the gate."""

    def setUp(self):
        self.workloads = [workload()]
        self.checks = [{"metadata": {"name": "fabric"},
                        "spec": {"controllerName": fabric_gate.CONTROLLER},
                        "status": {"conditions": [{"type": "Active", "status": "True"}]}},
                       {"metadata": {"name": "other"}, "spec": {"controllerName": "x/y"}}]
        self.certificate = {"id": "c1", "state": "CERTIFICATE_STATE_RUNNING"}
        self.kubernetes = self.server(self.answer_kubernetes)
        self.fabricd = self.server(self.answer_fabricd)
        self.patch_status = self.fabricd_status = 200
        self.gate = fabric_gate.Gate(fabric_api.Api(self.kubernetes.url),
                                     fabric_api.Api(self.fabricd.url))
        fabric_gate.log = lambda text: None

    def server(self, answer):
        made = FakeServer(answer)
        self.addCleanup(made.close)
        return made

    def answer_kubernetes(self, verb, path, _):
        if verb == "PATCH":
            return self.patch_status, {"message": "the object has been modified"}
        return 200, {"items": {WORKLOADS: self.workloads, CHECKS: self.checks}[path]}

    def answer_fabricd(self, verb, path, _):
        if self.fabricd_status != 200:
            return self.fabricd_status, {"message": "unknown node 'n1'"}
        if verb == "POST":
            return 200, {"id": "c1"}
        assert path == "/v1/certificates/c1", path
        return 200, {"certificate": self.certificate}

    def done(self, verdict, *nodes):
        self.certificate = {
            "id": "c1", "state": "CERTIFICATE_STATE_DONE", "verdict": f"VERDICT_{verdict}",
            "nodes": [{"name": name, "verdict": f"VERDICT_{one}", "reasons": why}
                      for name, one, why in nodes]}

    def decisions(self):
        return [body["status"]["admissionChecks"][0]
                for _, path, body, _ in self.kubernetes.of("PATCH") if "/workloads/" in path]

    def turns(self, count=2):
        for _ in range(count):
            self.gate.turn()
        return self.decisions()


class GateTest(World):
    def test_a_workload_waits_for_its_certificate(self):
        self.assertEqual(self.turns(3), [])
        posts = self.fabricd.of("POST")
        self.assertEqual(len(posts), 1, "one certificate for one workload")
        self.assertEqual(posts[0][2], {"request": {"nodes": ["n1", "n2"], "job_id": "w1",
                                                   "within_seconds": 30}})

    def test_pass_admits_the_workload(self):
        self.done("PASS", ("n1", "PASS", []), ("n2", "PASS", []))
        decided = self.turns()
        self.assertEqual([(one["name"], one["state"], one["message"]) for one in decided],
                         [("fabric", "Ready", "certificate c1: PASS")])
        self.assertRegex(decided[0]["lastTransitionTime"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        _, path, body, kind = self.kubernetes.of("PATCH")[0]
        self.assertEqual(path, "/apis/kueue.x-k8s.io/v1beta1/namespaces/team/workloads/w1/status"
                               "?fieldManager=fabric-gate&force=true")
        self.assertEqual(kind, "application/apply-patch+yaml")
        self.assertEqual(body["metadata"]["resourceVersion"], "7", "not of a later admission")

    def test_fail_puts_the_workload_back_and_names_the_nodes(self):
        self.done("FAIL", ("n1", "PASS", []), ("n2", "FAIL", ["port rxe0/1 is slow", "more"]))
        self.assertEqual([(one["state"], one["message"]) for one in self.turns()],
                         [("Retry", "certificate c1: FAIL; n2: port rxe0/1 is slow")])

    def test_unknown_is_decided_by_the_option_and_never_a_pass(self):
        self.done("UNKNOWN", ("n1", "UNKNOWN", ["not probed"]))
        self.assertEqual([(one["state"], one["message"]) for one in self.turns()],
                         [("Ready", "certificate c1: UNKNOWN; n1: not probed")])
        self.gate.on_unknown = "Retry"
        self.assertEqual(self.turns()[-1]["state"], "Retry")

    def test_other_checks_and_states_are_left_alone(self):
        self.workloads = [workload("a", check="other"), workload("b", state="Ready"),
                          workload("c", state="Retry"), workload("d", reserved=False)]
        self.assertEqual(self.turns(), [])
        self.assertEqual(self.fabricd.requests, [])

    def test_without_chosen_nodes_nothing_is_certified(self):
        self.workloads = [workload("a", level="rack"), workload("b", nodes=())]
        for decided in self.turns(1):
            self.assertEqual(decided["state"], "Ready")
            self.assertIn("not certified: ", decided["message"])
        self.assertEqual(len(self.decisions()), 2)
        self.assertEqual(self.fabricd.requests, [])

    def test_a_new_admission_has_a_new_certificate(self):
        self.turns(1)
        self.workloads = [workload(nodes=("n3",))]
        self.turns(1)
        self.assertEqual([post[2]["request"]["nodes"] for post in self.fabricd.of("POST")],
                         [["n1", "n2"], ["n3"]])
        self.workloads = []
        self.turns(1)
        self.assertEqual(self.gate.running, {}, "no certificate without a workload")

    def test_a_conflict_is_decided_again(self):
        self.done("PASS", ("n1", "PASS", []))
        self.patch_status = 409
        self.turns(2)
        self.patch_status = 200
        self.assertEqual([one["state"] for one in self.turns(2)][-1], "Ready")

    def test_fabricd_that_does_not_answer_certifies_nothing(self):
        self.gate.fabricd = fabric_api.Api("http://127.0.0.1:1")
        self.assertEqual(self.turns(2), [], "it can be restarting")
        self.gate.patience_seconds = -60
        self.gate.running.clear()
        self.assertIn("not certified: POST http://", self.turns(1)[0]["message"])
        self.gate.fabricd = fabric_api.Api(self.fabricd.url)
        self.fabricd_status = 404
        self.assertIn("not certified: POST /v1/certificates: 404: unknown node 'n1'",
                      self.turns(1)[-1]["message"])

    def test_the_check_is_made_active(self):
        del self.checks[0]["status"]
        self.gate.turn()
        paths = [(path, body["status"]["conditions"][0]["type"])
                 for _, path, body, _ in self.kubernetes.of("PATCH")]
        self.assertEqual(paths, [(f"{CHECKS}/fabric/status", "Active")])


class RealFabricdTest(World):
    def test_its_certificates_are_understood(self):
        with contextlib.ExitStack() as stack:
            fleet = stack.enter_context(Fleet(self.folder(), self.program))
            for node in ("n1", "n2"):
                fleet.add(node, "rxe_guest")
            self.gate.fabricd = fabric_api.Api(f"http://{fleet.rest}")
            self.gate.within_seconds = 2
            fleet.wait(lambda: len(fleet.get("/v1/nodes")["nodes"]) == 2, "two nodes")
            decided = fleet.wait(lambda: self.turns(1), "a certificate")
        # A captured machine cannot send probes.
        self.assertRegex(decided[0]["message"], r"^certificate \S+: (FAIL|UNKNOWN); n1: \S")
        self.assertEqual(decided[0]["state"], "Retry" if ": FAIL" in decided[0]["message"]
                         else "Ready")


class ManifestsTest(DeployTest):
    def test_objects_agree_with_the_program(self):
        objects = list(yaml.safe_load_all((GATE / "gate.yaml").read_text()))
        by_kind = {one["kind"]: one for one in objects}
        self.assertEqual(by_kind["AdmissionCheck"]["spec"]["controllerName"],
                         fabric_gate.CONTROLLER)
        container = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"][0]
        options = fabric_gate.parse(container["args"][3:])
        self.assertIsInstance(options, argparse.Namespace)
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        for path in (container["args"][2], options.tls_ca, options.tls_cert, options.tls_key):
            self.assertIn(path.rsplit("/", 1)[0], mounts)

    def test_a_missing_file_is_named(self):
        lines = []
        with unittest.mock.patch.object(fabric_gate, "log", lines.append):
            self.assertEqual(
                fabric_gate.main(["--fabricd=https://x", "--tls-ca=/no/file", "--once"]), 1)
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], "TLS files: .*'/no/file'")

    def test_kustomize_adds_the_program(self):
        folder = self.folder()
        (folder / "kustomization.yaml").write_text("components: [api, kueue]\n")
        for path in [*GATE.glob("*.*"), *API.glob("*.*")]:
            (folder / path.parent.name).mkdir(exist_ok=True)
            (folder / path.parent.name / path.name).write_text(path.read_text())
        rendered = list(yaml.safe_load_all(
            self.run_well(self.tool("kubectl"), "kustomize", folder)))
        maps = {name: made["metadata"]["name"] for made in rendered
                if made["kind"] == "ConfigMap" for name in made["data"]}
        for made in rendered:
            for name, text in made.get("data", {}).items():
                folder = API if name == "fabric_api.py" else GATE
                self.assertEqual(text, (folder / name).read_text())
        [volumes] = [made["spec"]["template"]["spec"]["volumes"] for made in rendered
                     if made["kind"] == "Deployment"]
        self.assertIn({"name": "gate", "projected": {"sources": [
            {"configMap": {"name": maps["fabric_gate.py"]}},
            {"configMap": {"name": maps["fabric_api.py"]}}]}}, volumes)


if __name__ == "__main__":
    main()
