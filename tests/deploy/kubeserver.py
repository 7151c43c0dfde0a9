"""A real kube-apiserver on a real etcd, and its nodes and events with the interface of the fake.

tests/deploy/build_kube_apiserver builds the server, once for each machine."""

import copy
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

from deploytest import ROOT
from fakenodes import FakeKubernetes
from fakeserver import FakeServer

sys.path.insert(0, str(ROOT / "tests/testing"))
from freeports import free_ports  # pylint: disable=wrong-import-position

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
SERVER = CACHE / "fabricd-tests/kube-apiserver"
START_LIMIT = 120  # seconds
ADMIN = "admin-token"


def obstacle():
    """Why no server can be started, or None."""
    if not SERVER.exists():
        return f"no {SERVER}: run tests/deploy/build_kube_apiserver (6 to 15 minutes)"
    if shutil.which("etcd") is None:
        return "etcd is not installed: run deploy/install-dependencies test"
    return None


class KubeServer:
    """The server with RBAC and an administrator, without controllers: no Pod runs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = []
        etcd, peer, port = free_ports(3)
        self.url = f"https://127.0.0.1:{port}"
        self._start("etcd", "etcd", f"--data-dir={folder}/etcd", "--unsafe-no-fsync",
                    f"--listen-client-urls=http://127.0.0.1:{etcd}",
                    f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                    f"--listen-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-cluster=default=http://127.0.0.1:{peer}")
        subprocess.run(["openssl", "genrsa", "-out", f"{folder}/account.key", "2048"], check=True,
                       capture_output=True)
        (self.folder / "tokens").write_text(f"{ADMIN},admin,1,system:masters\n")
        # No taint of nodes that are not ready: no kubelet runs.
        self._start("kube-apiserver", SERVER, f"--etcd-servers=http://127.0.0.1:{etcd}",
                    "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                    f"--secure-port={port}", "--insecure-port=0", f"--cert-dir={folder}/certs",
                    "--service-cluster-ip-range=10.96.0.0/24",
                    "--service-account-issuer=https://kubernetes.default.svc",
                    f"--service-account-key-file={folder}/account.key",
                    f"--service-account-signing-key-file={folder}/account.key",
                    f"--token-auth-file={folder}/tokens", "--authorization-mode=RBAC",
                    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
                    "--allow-privileged=true")
        self._wait()

    def _start(self, name, *words):
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen([str(word) for word in words], stdout=log,
                                                   stderr=log, stdin=subprocess.DEVNULL))

    def _wait(self):
        deadline = time.monotonic() + START_LIMIT
        while True:
            try:
                if self.request("GET", "/readyz", raw=True)[0] == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > deadline or any(p.poll() is not None for p in self.processes):
                logs = [(self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
                        for name in ("etcd", "kube-apiserver")]
                self.close()
                raise AssertionError("kube-apiserver did not start:\n" + "\n".join(logs))
            time.sleep(0.1)

    @property
    def ca(self):
        return self.folder / "certs/apiserver.crt"  # Signed by itself

    def request(self, verb, path, body=None, kind="application/json", token=ADMIN, raw=False):
        """The status and the answer."""
        request = urllib.request.Request(
            self.url + path, method=verb, data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": kind, "Authorization": f"Bearer {token}"})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        return status, text.decode() if raw else json.loads(text)

    def must(self, verb, path, body=None, kind="application/json"):
        status, answer = self.request(verb, path, body, kind)
        if status >= 300:
            raise AssertionError(f"{verb} {path}: {status}: {answer}")
        return answer

    def token_of(self, account):
        """A token of a service account: NAMESPACE/NAME."""
        namespace, name = account.split("/")
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        made = self.must("POST", path, {"apiVersion": "authentication.k8s.io/v1",
                                        "kind": "TokenRequest", "spec": {}})
        return made["status"]["token"]

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


class RealKubernetes(FakeKubernetes):
    """Requests go to the server with the token of a service account. `nodes` and `events` are what
    the server has; what a test changes in them is written before the next request."""

    def __init__(self, server, token, *names):  # pylint: disable=super-init-not-called
        self.real, self.token = server, token
        self.refuse = {}
        for kind in ("nodes", "namespaces/default/events"):
            server.must("DELETE", f"/api/v1/{kind}")
        for name in names:
            server.must("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            server.must("PATCH", f"/api/v1/nodes/{name}/status",
                        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
                        "application/strategic-merge-patch+json")
        self._read = self._nodes = self._events = None
        self.server = FakeServer(self.answer, with_kind=True)

    def answer(self, verb, path, body, kind):
        if status := self.refuse.get((verb, path.partition("?")[0])):
            return status, {"message": f"refused with {status}"}
        self.write()
        return self.real.request(verb, path, body, kind or "application/json", self.token)

    def load(self):
        if self._nodes is not None:
            return
        self._nodes = {one["metadata"]["name"]: one
                       for one in self.real.must("GET", "/api/v1/nodes")["items"]}
        for node in self._nodes.values():
            node["metadata"].setdefault("labels", {})
            node["metadata"].setdefault("annotations", {})
            node["status"].setdefault("conditions", [])
        events = self.real.must("GET", "/api/v1/namespaces/default/events")["items"]
        events.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
        self._events = {one["metadata"]["name"]: one for one in events}
        self._read = copy.deepcopy((self._nodes, self._events))

    def write(self):
        if self._nodes is None:
            return
        nodes, events = self._read
        for name, node in self._nodes.items():
            if node != nodes[name]:
                node["metadata"].pop("managedFields", None)
                node["metadata"].pop("resourceVersion", None)
                status = node["status"]
                self.real.must("PUT", f"/api/v1/nodes/{name}", node)
                self.real.must("PUT", f"/api/v1/nodes/{name}/status", node | {"status": status})
        for name in events.keys() - self._events.keys():
            self.real.must("DELETE", f"/api/v1/namespaces/default/events/{name}")
        self._nodes = self._events = self._read = None

    @property
    def nodes(self):
        self.load()
        return self._nodes

    @property
    def events(self):
        self.load()
        return self._events
