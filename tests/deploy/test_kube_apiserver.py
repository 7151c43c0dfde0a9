#!/usr/bin/env python3
"""A real kube-apiserver: it accepts the objects of the kustomize base, and the program that writes
to nodes does with it what it does with the fake one, with the rights of its service account.

Skipped where tests/deploy/build_kube_apiserver was not run."""

import json
import shutil
import subprocess
import tempfile
import unittest

import kubeserver
import test_kubernetes_nodes
import test_kubernetes_nodes_run
from deploytest import DEPLOY, DeployTest, main
from nodesworld import World

# pylint: disable=wrong-import-order
import fabric_api
import fabric_nodes

ACCOUNT = "fabricd/fabric-nodes"
# Components whose kinds the server has. The others need CRDs: monitoring, nfd, kueue.
COMPONENTS = ("api", "nodes", "join", "device-plugin")
SERVER = None


def setUpModule():
    global SERVER  # pylint: disable=global-statement
    if reason := kubeserver.obstacle():
        raise unittest.SkipTest(reason)
    folder = tempfile.TemporaryDirectory(prefix="fabric-kube-")
    unittest.addModuleCleanup(folder.cleanup)
    SERVER = kubeserver.KubeServer(folder.name)
    unittest.addModuleCleanup(SERVER.close)
    shutil.copytree(DEPLOY / "kubernetes", SERVER.folder / "base",
                    ignore=shutil.ignore_patterns("__pycache__"))
    (SERVER.folder / "overlay").mkdir()
    (SERVER.folder / "overlay/kustomization.yaml").write_text(json.dumps(
        {"resources": ["../base"], "components": [f"../base/{name}" for name in COMPONENTS]}))
    apply()


def apply():
    """Applies the base with the components. Returns the lines of kubectl."""
    done = subprocess.run(
        ["kubectl", f"--server={SERVER.url}", f"--token={kubeserver.ADMIN}",
         "--insecure-skip-tls-verify", f"--cache-dir={SERVER.folder}/cache", "apply", "-k",
         SERVER.folder / "overlay"],
        capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(f"kubectl apply:\n{done.stdout}\n{done.stderr}")
    return done.stdout.splitlines()


class Real(World):
    """The tests of a class with the real server."""

    def api_server(self):
        return kubeserver.RealKubernetes(SERVER, SERVER.token_of(ACCOUNT), *self.names)


class RealConditions(Real, test_kubernetes_nodes.ConditionsTest):
    pass


class RealEvents(Real, test_kubernetes_nodes.EventsTest):
    pass


class RealLabels(Real, test_kubernetes_nodes.LabelsTest):
    pass


class RealTaints(Real, test_kubernetes_nodes.TaintsTest):
    pass


class RealFailures(Real, test_kubernetes_nodes_run.FailuresTest):
    test_reads_are_bounded = None  # The server puts three nodes on one page.


class ManifestsTest(DeployTest):
    def test_a_second_apply_changes_nothing(self):
        before = self.generations()
        self.assertGreater(len(apply()), 12)
        self.assertEqual(self.generations(), before)

    def generations(self):
        """{kind/name: generation} of what the server changes only with its specification."""
        return {f"{kind}/{one['metadata']['name']}": one["metadata"]["generation"]
                for group, kinds in (("apps", ("daemonsets", "deployments", "statefulsets")),
                                     ("networking.k8s.io", ("networkpolicies",)))
                for kind in kinds
                for one in SERVER.must(
                    "GET", f"/apis/{group}/v1/namespaces/fabricd/{kind}")["items"]}

    def test_the_objects_are_those_of_the_base(self):
        path = "/apis/apps/v1/namespaces/fabricd"
        [agent] = SERVER.must("GET", f"{path}/daemonsets")["items"]
        [controller] = SERVER.must("GET", f"{path}/statefulsets")["items"]
        self.assertTrue(agent["spec"]["template"]["spec"]["hostNetwork"])
        self.assertEqual(controller["metadata"]["name"], "fabricd")
        labels = SERVER.must("GET", "/api/v1/namespaces/fabricd")["metadata"]["labels"]
        self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "privileged")


class AccountTest(Real):
    def test_the_account_may_do_nothing_else(self):
        token = SERVER.token_of(ACCOUNT)
        for verb, path, body in (
                ("DELETE", "/api/v1/nodes/n1", None), ("GET", "/api/v1/nodes/n1", None),
                ("GET", "/api/v1/secrets", None), ("GET", "/api/v1/pods", None),
                ("POST", "/api/v1/nodes", {"metadata": {"name": "n9"}}),
                ("POST", "/api/v1/namespaces/fabricd/pods", {"metadata": {"name": "p"}}),
                ("GET", "/api/v1/events", None)):
            with self.subTest(f"{verb} {path}"):
                self.assertEqual(SERVER.request(verb, path, body, token=token)[0], 403)
        self.assertEqual(SERVER.request("GET", "/api/v1/nodes", token="other")[0], 401)

    def test_the_program_of_the_pod(self):
        """With the files of its service account, over TLS."""
        account = self.folder()
        (account / "token").write_text(SERVER.token_of(ACCOUNT))
        (account / "ca.crt").write_bytes(SERVER.ca.read_bytes())
        self.addCleanup(setattr, fabric_api, "ACCOUNT", fabric_api.ACCOUNT)
        fabric_api.ACCOUNT = account
        self.fabricd.fail("n2")
        words = [f"--fabricd={self.fabricd.server.url}", f"--kubernetes={SERVER.url}", "--once"]
        self.assertEqual(fabric_nodes.main(words), 0, self.lines)
        self.assertEqual(self.statuses(), ["False", "True", "False"])
        (account / "token").write_text("expired")
        self.assertEqual(fabric_nodes.main(words), 1)
        self.assertIn("401: Unauthorized", " ".join(self.lines))


if __name__ == "__main__":
    main()
