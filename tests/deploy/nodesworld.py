"""Three nodes in a fake API server, a fake fabricd, and the program of deploy/kubernetes/nodes."""

import datetime
import sys

from deploytest import DEPLOY, DeployTest
from fakenodes import FakeFabricd, FakeKubernetes

NODES, API = DEPLOY / "kubernetes/nodes", DEPLOY / "kubernetes/api"
sys.path[:0] = [str(NODES), str(API)]
# pylint: disable=wrong-import-position
import fabric_api
import fabric_judge
import fabric_nodes

DEGRADED, PORT_DOWN = fabric_judge.CONDITIONS
TAINT = "--taint=fabricd.io/degraded=true:NoSchedule"
TAINTED = {"key": "fabricd.io/degraded", "value": "true", "effect": "NoSchedule"}


class World(DeployTest):
    """Three healthy nodes."""

    names = ("n1", "n2", "n3")

    def setUp(self):
        self.kubernetes, self.fabricd = self.api_server(), FakeFabricd(*self.names)
        for fake in (self.kubernetes, self.fabricd):
            self.addCleanup(fake.server.close)
        self.lines = []
        fabric_nodes.log = self.lines.append
        self.start()

    def api_server(self):
        return FakeKubernetes(*self.names)

    def start(self, *words):
        """A new process: nothing of the old one is left."""
        options = fabric_nodes.parse([f"--fabricd={self.fabricd.server.url}", *words])
        self.writer = fabric_nodes.Nodes(fabric_api.Api(self.kubernetes.server.url),
                                          fabric_api.Api(self.fabricd.server.url), options)

    def turn(self, *words):
        """A turn of a new process. Returns its writes."""
        self.start(*words)
        before = len(self.kubernetes.writes())
        self.writer.turn()
        return self.kubernetes.writes()[before:]

    def status(self, name, kind=DEGRADED):
        found = self.kubernetes.condition(name, kind)
        return found and (found["status"], found["reason"], found["message"])

    def statuses(self, kind=DEGRADED):
        return [self.status(name, kind)[0] for name in self.names]

    def taints(self, name="n1"):
        return self.kubernetes.nodes[name]["spec"].get("taints", [])

    def annotations(self, name="n1"):
        return self.kubernetes.nodes[name]["metadata"]["annotations"]

    def backdate(self, name, field, kind=DEGRADED, seconds=4000):
        old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
        self.kubernetes.condition(name, kind)[field] = old.strftime("%Y-%m-%dT%H:%M:%SZ")
        return self.kubernetes.condition(name, kind)[field]
