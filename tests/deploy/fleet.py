"""A real fabricd with real agents on captured trees, on free ports of the loopback interface."""

import json
import pathlib
import re
import subprocess
import time
import urllib.request

from deploytest import ROOT

START_LIMIT = 60  # seconds


class FleetError(Exception):
    """A program did not start. The text has the end of its log."""


class Fleet:
    """Use it in `with`. programs: a function from the name of a program to its path."""

    def __init__(self, folder, programs, *settings):
        self.folder = pathlib.Path(folder)
        self.programs = programs
        self.agents = {}  # {node: (process, HOST:PORT of /metrics)}
        self.addresses = self.folder / "addresses.json"
        self.process = self._start("fabricd", "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0",
                                   "--health=127.0.0.1:0", f"--state={self.folder}/fabricd.db",
                                   f"--addresses-file={self.addresses}", *settings)
        bound = json.loads(self._await("fabricd", self.process, self._addresses))
        self.grpc, self.rest, self.health = (bound[key] for key in ("grpc", "rest", "health"))

    def _addresses(self):
        return self.addresses.read_text() if self.addresses.exists() else None

    def _start(self, name, *words, log=None):
        with open(self.folder / f"{log or name}.log", "ab") as out:
            return subprocess.Popen([str(self.programs(name)), *words], cwd=self.folder,
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _await(self, name, process, ready):
        deadline = time.monotonic() + START_LIMIT
        while True:
            if found := ready():
                return found
            if process.poll() is not None or time.monotonic() > deadline:
                raise FleetError(f"{name} did not start:\n{self.log(name)[-2000:]}")
            time.sleep(0.05)

    def add(self, node, fixture, *settings):
        """Starts the agent of a node on a captured tree of tests/fixtures."""
        tree = self.folder / f"tree-{node}"
        if not tree.exists():
            subprocess.run([self.programs("unpack"), ROOT / f"tests/fixtures/{fixture}.tree", tree],
                           check=True, capture_output=True)
        before = len(self.log(node)) if node in self.agents else 0
        process = self._start("fabric-agent", "run", f"--controller={self.grpc}", f"--node={node}",
                              f"--root={tree}", "--metrics=127.0.0.1:0", *settings, log=node)
        found = self._await(node, process,
                            lambda: re.search(r"metrics on (\S+)", self.log(node)[before:]))
        self.agents[node] = (process, found[1])

    def break_node(self, node, fixture):
        """Starts the agent again on a tree in which RDMA ports are down."""
        self.kill(node)
        for port in (self.folder / f"tree-{node}").glob("sys/class/infiniband/*/ports/*"):
            (port / "state").write_text("1: DOWN\n")
            (port / "phys_state").write_text("3: Disabled\n")
        self.add(node, fixture)

    def text(self, path):
        with urllib.request.urlopen(f"http://{self.rest}{path}", timeout=30) as answer:
            return answer.read().decode()

    def metrics(self):
        return {node: address for node, (_, address) in self.agents.items()}

    def kill(self, node):
        process = self.agents[node][0]
        process.kill()
        process.wait()

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.rest}{path}", timeout=30) as answer:
            return json.load(answer)

    def wait(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise FleetError(f"not after {seconds} s: {what}\n{self.log('fabricd')[-2000:]}")
            time.sleep(0.1)
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*(agent[0] for agent in self.agents.values()), self.process]:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
