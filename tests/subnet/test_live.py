"""Agents read a subnet for fabricd: a real ibsim and opensm, fabricd, and two agents with ports in
the subnet. The subnet is found without settings, faults become findings, another agent takes
over, and a subnet that no agent can read is UNKNOWN."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from ibsimsubnet import HOSTS, NET, Subnet, library_or_skip

PORT_GUIDS = {"n3": "0000:0000:0020:0022", "n4": "0000:0000:0020:0032"}
PATIENCE_S = 120  # The machine can be busy.
LEAF = "S-0000000000100001"


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
                       (port / "lid", {"n3": "0x7", "n4": "0x8"}[node]), (port / "sm_lid", "0x1"),
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
        log = (self.folder / f"{name}.log").open("ab")
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


def check_cables(world):
    """A cable is pulled and comes back: findings and events."""
    world.watch_events()
    # A cable is pulled: opensm routes around it, and the spine has an uplink less than its equals.
    world.subnet.type(f'Unlink "{LEAF}"[5]')
    wait_for("7 cables", lambda: world.read()["cables"] == 7, log=world.log)
    wait_for("planned cable is missing",
             lambda: "subnet_cables_as_planned" in world.open_rules(), log=world.log)
    world.subnet.type(f'Relink "{LEAF}"[5]')
    wait_for("8 cables", lambda: world.read()["cables"] == 8, log=world.log)
    wait_for("cables as planned",
             lambda: "subnet_cables_as_planned" not in world.open_rules(), log=world.log)
    changes = wait_for("events", lambda: len(seen := world.cable_changes()) >= 2 and seen)
    assert [kind for kind, _ in changes] == ["SUBNET_CHANGE_KIND_GONE", "SUBNET_CHANGE_KIND_NEW"], \
        changes
    assert "port 5" in changes[0][1], changes
    history = world.ctl("subnet", "history", world.read()["name"])["entries"]
    assert [(each["change"]["kind"], each["times"]) for each in history] == \
        [(kind, 1) for kind, _ in reversed(changes)], history
    assert "error" in world.ctl("subnet", "history", "rail9")


def check_world(world):
    subnet = world.subnet
    for node in ("n3", "n4"):
        world.start_agent(node)
    first = wait_for("first reading", world.read, log=world.log)
    assert (first["switches"], first["adapters"], first["cables"]) == (4, 4, 8), first
    assert first["name"] == "mlx5_0/1" and first["source"] == "n3 mlx5_0/1", first
    # One opensm: no standby. Everything else is in order, also with rates of counters.
    again = wait_for("second reading", lambda: (now := world.read())["read_at"] != first["read_at"]
                     and now, log=world.log)
    wait_for("finding about the standby",
             lambda: world.open_rules() == ["subnet_standby_manager"], log=world.log)
    # Later readings send only what changed.
    assert int(again["message_bytes"]) < int(first["message_bytes"]), (first, again)

    # The controller's snapshot serves the offline commands.
    checked = world.ctl("subnet", "check")
    assert checked["counts"]["fail"] == "1" or checked["counts"]["fail"] == 1, checked["counts"]
    hops = world.ctl("subnet", "path", "n1", "n4")["hops"]
    assert len(hops) == 4, hops

    # Errors on one cable, as a rate between two readings.
    errors = 0

    def errors_found():
        nonlocal errors
        errors += 100
        subnet.type(f'PerformanceSet "{LEAF}"[5] PortCounters.PortRcvErrors={errors}')
        return "subnet_port_errors" in world.open_rules()

    wait_for("finding about errors", errors_found, log=world.log)
    wait_for("end of the finding about errors",
             lambda: "subnet_port_errors" not in world.open_rules(), log=world.log)

    check_cables(world)

    # Another agent takes over.
    world.kill("n3")
    begin = time.monotonic()
    taken = wait_for("take-over", lambda: (now := world.read())["source"] == "n4 mlx5_0/1"
                     and now.get("problem", "") == "" and now, log=world.log)
    assert taken["name"] == "mlx5_0/1", taken
    print(f"another agent took over in {time.monotonic() - begin:.1f} s")

    # No agent is left: the verdicts are old, and one UNKNOWN says so.
    world.kill("n4")
    wait_for("problem", lambda: "not connected" in world.read().get("problem", ""), log=world.log)
    wait_for("unknown", lambda: "was last read at" in json.dumps(world.ctl("validate")),
             log=world.log)
    world.start_agent("n4")
    wait_for("no problem", lambda: world.read().get("problem", "") == "", log=world.log)
    wait_for("no unknown", lambda: "was last read at" not in json.dumps(world.ctl("validate")),
             log=world.log)

    # No subnet manager is left.
    for manager in subnet.managers:
        manager.kill()
    wait_for("dead manager", lambda: "subnet_one_master" in world.open_rules(), log=world.log)


def main():
    library = library_or_skip()
    assert NET.exists()
    with tempfile.TemporaryDirectory(prefix="fabric-live-") as name:
        folder = pathlib.Path(name)
        subnet = Subnet(folder, library)
        world = None
        try:
            world = World(folder, *sys.argv[1:], subnet)
            check_world(world)
        finally:
            if world:
                world.close()
            subnet.close()
    print("agents read the subnet for fabricd; faults are findings; another agent takes over")


main()
