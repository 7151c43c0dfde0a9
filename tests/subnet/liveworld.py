"""A real fabricd with agents that read a subnet of ibsim."""

import json
import subprocess
import sys
import time

from ibsimsubnet import HOSTS, NET

PORT_GUIDS = {"n2": "0000:0000:0020:0012", "n3": "0000:0000:0020:0022",
              "n4": "0000:0000:0020:0032"}
PATIENCE_S = 120  # The machine can be busy.


def wait_for(what, done, patience=PATIENCE_S, log=None):
    end = time.monotonic() + patience
    seen = None
    while not (seen := done()):
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {patience} s\n{log.read_text() if log else ''}")
        time.sleep(0.2)
    return seen


def make_tree(root, node):
    """The sysfs of a node with one InfiniBand port, as the kernel shows it."""
    port = root / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "etc/machine-id").write_text(f"{'0' * 31}{node[1:]}\n")
    guid = PORT_GUIDS[node]
    device = port.parents[1]
    for path, text in ((device / "node_type", "1: CA"), (device / "node_guid", guid),
                       (device / "sys_image_guid", guid), (device / "fw_ver", "28.39.1002"),
                       (port / "state", "4: ACTIVE"), (port / "phys_state", "5: LinkUp"),
                       (port / "link_layer", "InfiniBand"), (port / "rate", "200 Gb/sec (4X HDR)"),
                       (port / "lid", {"n2": "0x6", "n3": "0x7", "n4": "0x8"}[node]),
                       (port / "sm_lid", "0x1"),
                       (port / "gids/0", "fe80:0000:0000:0000:" + guid)):
        path.write_text(text + "\n")


class World:
    def __init__(self, folder, fabricd, agent, fabricctl, subnet):
        self.folder, self.agent, self.fabricctl, self.subnet = folder, agent, fabricctl, subnet
        self.processes = {}
        addresses = folder / "addresses.json"
        self.log = folder / "fabricd.log"
        self.start("fabricd", fabricd, "--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--health",
                   "127.0.0.1:0", "--state", str(folder / "state.db"), "--addresses-file",
                   str(addresses), "--infiniband-interval", "5s", "--boot-grace", "0s",
                   "--infiniband-plan", str(NET))
        wait_for("fabricd", addresses.exists, log=self.log)
        self.grpc = json.loads(addresses.read_text())["grpc"]

    def start(self, name, *words):
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(words, stdout=log, stderr=log)

    def start_agent(self, node):
        root = self.folder / f"root-{node}"
        if not root.exists():
            make_tree(root, node)
        self.start(node, self.agent, "run", "--root", str(root), "--node", node, "--controller",
                   self.grpc, "--settings-interval", "5s", "--subnet-ibsim",
                   f"{self.subnet.env['IBSIM_SOCKNAME']}/{HOSTS[node]}")

    def kill(self, name):
        self.processes[name].kill()
        self.processes.pop(name).wait()

    def ctl(self, *words):
        done = subprocess.run([self.fabricctl, *words, "--controller", self.grpc, "-o", "json"],
                              capture_output=True, text=True, timeout=60, check=False)
        return json.loads(done.stdout) if done.stdout else {"error": done.stderr}

    def read(self):
        """The subnet, if it was read."""
        known = self.ctl("subnet", "list").get("subnets", [])
        assert len(known) <= 1, known
        return known[0] if known and known[0].get("read_at") else None

    def open_rules(self):
        return sorted({each["rule"] for each in self.ctl("findings").get("findings", [])
                       if each["rule"].startswith("subnet_")})

    def watch_events(self):
        with (self.folder / "events").open("w") as events:
            self.processes["events"] = subprocess.Popen(
                [self.fabricctl, "events", "--watch", "--kind", "subnet", "--controller",
                 self.grpc, "-o", "jsonl"], stdout=events)

    def cable_changes(self):
        """The kinds and cables of the events so far."""
        events = [json.loads(line) for line in (self.folder / "events").read_text().splitlines()]
        return [(change["kind"], change.get("before") or change.get("now"))
                for event in events for change in event.get("subnet", {}).get("changes", [])]

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
