#!/usr/bin/env python3
"""The chart with the real Helm: it renders what the renderer of test_kubernetes.py renders, and a
real kube-apiserver accepts an installation, an upgrade, a rollback and the removal."""

import json
import tempfile
import unittest

import yaml

import kubeserver
import realhelm
from deploytest import DeployTest, main
from realhelm import CHART
from test_kubernetes import ALL, JOIN, by_name, chart, rendered_once, without

# The chart permits versions of Kubernetes from 1.25.
VERSION = "--kube-version=1.30"
SPACE = ("-n", "fabricd")
PODS = {"agent": {"hostPID": True, "debugfs": True, "pods": {
    "kubelet": "/var/lib/kubelet/pod-resources/kubelet.sock",
    "runtime": "/run/containerd/containerd.sock"}}}
APPROVAL = {"agent": {"join": {"enabled": True, "by": "approval"}}}
PLAIN = {"networkPolicy": {"enabled": False}, "agent": {"tolerations": []},
         "controller": {"manual": "", "resources": {"limits": None}, "settings": {"mesh": "on"}}}


class HelmTest(DeployTest):
    def setUp(self):
        reason = realhelm.obstacle()
        if reason:
            self.skipTest(reason)
        self.tool("go")
        self.ours = rendered_once()
        self.helm = realhelm.Helm(self.folder())

    def file_of(self, values):
        path = self.folder() / "values.yaml"
        path.write_text(json.dumps(values))
        return path

    def rendered(self, *words):
        return by_name(made for made in yaml.safe_load_all(self.helm.run(*words)) if made)


class TestRendered(HelmTest):
    def test_lint(self):
        for values in ({}, ALL):
            self.helm.run("lint", "--strict", CHART, "-f", self.file_of(values))

    def test_helm_renders_what_our_renderer_does(self):
        for values in ({}, ALL, JOIN, chart.NAMESPACED, chart.MONITORED, chart.NODES,
                       chart.DISCOVERED, PODS, APPROVAL, PLAIN):
            with self.subTest(values):
                self.assertEqual(self.rendered("template", "fabricd", CHART, *SPACE, VERSION, "-f",
                                               self.file_of(values)),
                                 by_name(self.ours.objects(values)))

    def test_a_packed_chart_has_all_of_its_files(self):
        folder = self.folder()
        self.helm.run("package", CHART, "-d", folder)
        [packed] = folder.glob("fabricd-*.tgz")
        self.assertEqual(self.rendered("template", "fabricd", packed, *SPACE, VERSION, "-f",
                                       self.file_of(ALL)), by_name(self.ours.objects(ALL)))

    def test_wrong_values_are_named(self):
        for values, message in (
                ({"agent": {"devices": "all"}},
                 "agent.devices: expected privileged or plugin, saw all"),
                (["agent.join=true"], "agent.join: expected a map, saw true"),
                (["agent.join.by=mail"], "agent.join.by: expected token or approval, saw mail")):
            words = (("-f", self.file_of(values)) if isinstance(values, dict)
                     else ("--set", *values))
            done = self.helm.done("template", "fabricd", CHART, VERSION, *words)
            self.assertEqual(done.returncode, 1, values)
            self.assertIn(message, done.stderr)

    def test_older_versions_of_kubernetes_are_refused(self):
        done = self.helm.done("template", "fabricd", CHART, "--kube-version=1.24")
        self.assertEqual(done.returncode, 1)
        self.assertIn("requires kubeVersion: >=1.25", done.stderr)

    def test_notes(self):
        printed = self.helm.run("install", "fabricd", CHART, *SPACE, "--dry-run=client", "-f",
                                self.file_of(JOIN))
        self.assertIn(self.ours.text("NOTES.txt", JOIN).strip(), printed)


class TestInstalled(HelmTest):
    """With a server that is older than the chart permits: 1.20, of Debian."""

    SERVER = None

    @classmethod
    def setUpClass(cls):
        reason = realhelm.obstacle() or kubeserver.obstacle()
        if reason:
            raise unittest.SkipTest(reason)
        made = tempfile.TemporaryDirectory(prefix="fabric-kube-")
        cls.addClassCleanup(made.cleanup)
        cls.SERVER = kubeserver.KubeServer(made.name)
        cls.addClassCleanup(cls.SERVER.close)

    def setUp(self):
        super().setUp()
        self.helm = realhelm.Helm(self.folder(), self.SERVER)
        self.chart = realhelm.chart_for_any_server(self.folder() / "fabricd")
        if self.SERVER.request("GET", "/api/v1/namespaces/fabricd")[0] == 404:
            self.SERVER.must("POST", "/api/v1/namespaces", {"metadata": {"name": "fabricd"}})

    def manifest(self):
        return self.rendered("get", "manifest", "fabricd", *SPACE)

    def containers(self, kind, name):
        path = f"/apis/apps/v1/namespaces/fabricd/{kind}/{name}"
        status, made = self.SERVER.request("GET", path)
        return made["spec"]["template"]["spec"]["containers"] if status == 200 else None

    def test_an_installation_is_upgraded_rolled_back_and_removed(self):
        done = self.helm.done("install", "fabricd", CHART, *SPACE)
        self.assertIn("requires kubeVersion: >=1.25", done.stderr)
        older = self.older_chart()
        self.helm.run("install", "fabricd", older, *SPACE, "--set", "agent.metricsPort=9517")
        [agent] = self.containers("daemonsets", "fabric-agent")
        self.assertIn("--metrics=0.0.0.0:9517", agent["args"])
        self.assertIsNotNone(self.containers("statefulsets", "fabricd"))

        self.helm.run("upgrade", "fabricd", self.chart, *SPACE, "--reuse-values", "--set",
                      "nodes.enabled=true")
        expected = chart.merged(chart.NODES, {"agent": {"metricsPort": 9517}})
        self.assertEqual(self.manifest(), by_name(self.ours.objects(expected)))
        self.assertIsNotNone(self.containers("deployments", "fabric-nodes"))

        self.helm.run("rollback", "fabricd", "1", *SPACE)
        self.assertIsNone(self.containers("deployments", "fabric-nodes"))
        self.helm.run("uninstall", "fabricd", *SPACE)
        for kind, name in (("daemonsets", "fabric-agent"), ("statefulsets", "fabricd")):
            self.assertIsNone(self.containers(kind, name))
        self.SERVER.must("GET", "/api/v1/namespaces/fabricd")

    def older_chart(self):
        """Without values that came later."""
        older = realhelm.chart_for_any_server(self.folder() / "fabricd")
        values = yaml.safe_load((older / "values.yaml").read_text())
        for path in (("monitoring",), ("nodes",), ("agent", "pods"), ("agent", "join")):
            values = without(values, path)
        (older / "values.yaml").write_text(json.dumps(values))
        return older

    def test_the_namespace_is_not_an_object_of_an_installation(self):
        done = self.helm.done("install", "fabricd", self.chart, *SPACE, "--create-namespace",
                              "--set", "namespace.create=true")
        self.assertEqual(done.returncode, 1)
        self.assertIn('Namespace "fabricd" in namespace "" exists', done.stderr)
        self.helm.done("uninstall", "fabricd", *SPACE)
        self.helm.run("install", "fabricd", self.chart, *SPACE, "--create-namespace")
        self.helm.run("uninstall", "fabricd", *SPACE)

    def test_all_parts_without_foreign_kinds(self):
        """The other parts need CRDs of the Prometheus Operator and of NFD."""
        values = chart.merged(chart.NODES, {"controller": JOIN["controller"],
                                            "agent": {**JOIN["agent"], "devices": "plugin"}})
        self.helm.run("install", "fabricd", self.chart, *SPACE, "-f", self.file_of(values))
        self.assertEqual(self.manifest(), by_name(self.ours.objects(values)))
        self.helm.run("uninstall", "fabricd", *SPACE)


if __name__ == "__main__":
    main()
