#!/usr/bin/env python3
"""Renders the Helm chart, and writes the kustomize base from it:

    python3 tests/deploy/helm/chart.py     # writes deploy/kubernetes

Helm is not part of Debian. template.go does the same with Go's text/template and Sprig, the
libraries that Helm uses. Where npm has installed Helm, test_helm.py compares the two.
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
DEPLOY = HERE.parents[2] / "deploy"
CHART = DEPLOY / "helm/fabricd"
NAMESPACE = "fabricd"
HEAD = "# Written from deploy/helm/fabricd by tests/deploy/helm/chart.py; do not edit.\n"
# Template and values of each generated file
MONITORED = {"monitoring": {"enabled": True}}
NODES = {"nodes": {"enabled": True}}
DISCOVERED = {"agent": {"nfd": {"enabled": True}}}
NAMESPACED = {"namespace": {"create": True}}
GENERATED = {
    "namespace.yaml": ("namespace.yaml", NAMESPACED),
    "controller.yaml": ("controller.yaml", {}),
    "agent.yaml": ("agent.yaml", {}),
    "networkpolicy.yaml": ("networkpolicy.yaml", {}),
    "monitoring/monitoring.yaml": ("monitoring.yaml", MONITORED),
    "nfd/nfd.yaml": ("nfd.yaml", DISCOVERED),
    "nodes/nodes.yaml": ("nodes.yaml", NODES),
}
# Helm reads only files of the chart: {name in files/: source below deploy/}
COPIED = {
    "alerts.yml": "prometheus/alerts.yml",
    "fabric_api.py": "kubernetes/api/fabric_api.py",
    "fabric_approval.py": "kubernetes/nodes/fabric_approval.py",
    "fabric_judge.py": "kubernetes/nodes/fabric_judge.py",
    "fabric_nodes.py": "kubernetes/nodes/fabric_nodes.py",
    "fabric_taint.py": "kubernetes/nodes/fabric_taint.py",
    "values.yaml": "helm/fabricd/values.yaml",
}


class ChartError(Exception):
    """The chart was not rendered. The text gives the reason."""


def merged(base, changes):
    """Values as Helm merges them: maps by key, null removes a key, all else is replaced."""
    result = copy.deepcopy(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
            continue
        inner = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if inner else value
    return result


class Chart:
    """The chart, with a renderer that is built once into `folder`."""

    def __init__(self, go, folder):
        self.program = pathlib.Path(folder) / "template"
        environment = dict(os.environ, GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="")
        _run([go, "build", "-o", self.program, HERE / "template.go"], env=environment)
        self.defaults = yaml.safe_load((CHART / "values.yaml").read_text())
        self.templates = sorted(path.name for path in (CHART / "templates").glob("*.yaml"))
        self.about = yaml.safe_load((CHART / "Chart.yaml").read_text())

    def print(self, templates, changes=None, namespace=NAMESPACE, base=None):
        """What the templates print. base: instead of values.yaml"""
        values = merged(self.defaults if base is None else base, changes or {})
        given = {"Values": values,
                 "Release": {"Name": "fabricd", "Namespace": namespace},
                 "Chart": {"Name": self.about["name"], "AppVersion": self.about["appVersion"]}}
        return _run([self.program, CHART, *templates], input=json.dumps(given))

    def text(self, template, changes=None, namespace=NAMESPACE):
        """The rendered text of one template, with its comments."""
        text = self.print([template], changes, namespace)
        return text.removesuffix("---\n").strip() + "\n" if text.strip("-\n ") else ""

    def objects(self, changes=None, namespace=NAMESPACE):
        """All objects of the chart."""
        text = self.print(self.templates, changes, namespace)
        return [made for made in yaml.safe_load_all(text) if made]


def _run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=120, check=False, **options)
    if done.returncode != 0:
        raise ChartError(done.stderr.strip())
    return done.stdout


def generated(chart):
    """{path below deploy/kubernetes: text}"""
    return {path: HEAD + chart.text(template, values)
            for path, (template, values) in GENERATED.items()}


def main():
    with tempfile.TemporaryDirectory() as folder:
        for path, text in generated(Chart("go", folder)).items():
            target = DEPLOY / "kubernetes" / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
    for name, source in COPIED.items():
        (CHART / "files" / name).write_text((DEPLOY / source).read_text())


if __name__ == "__main__":
    sys.exit(main())
