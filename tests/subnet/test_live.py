"""Agents read a subnet for fabricd: a real ibsim and opensm, fabricd, and two agents with ports in
the subnet. The subnet is found without settings, faults become findings, another agent takes
over, a standby subnet manager takes over, and a subnet that no agent can read is UNKNOWN."""

import json
import pathlib
import sys
import tempfile
import time

from ibsimsubnet import NET, Subnet, library_or_skip
from liveworld import World, wait_for

LEAF = "S-0000000000100001"


def check_cables(world):
    """A cable is pulled and comes back: findings and events."""
    world.watch_events()
    # A cable is pulled: opensm routes around it, and the spine has an uplink less than its equals.
    world.subnet.change_cables(f'Unlink "{LEAF}"[5]')
    wait_for("7 cables", lambda: world.read()["cables"] == 7, log=world.log)
    wait_for("planned cable is missing",
             lambda: "subnet_cables_as_planned" in world.open_rules(), log=world.log)
    world.subnet.change_cables(f'Relink "{LEAF}"[5]')
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


def check_managers(world):
    """The master is killed: a standby takes over, which is an event, and one finding is left."""
    subnet = world.subnet
    subnet.manage("n2", 5, "Entering STANDBY state")
    wait_for("standby", lambda: world.open_rules() == [], log=world.log)
    before = len(world.cable_changes())
    master = subnet.managers.pop(0)
    master.kill()
    master.wait()
    wait_for("event about the master",
             lambda: "SUBNET_CHANGE_KIND_MASTER" in
             [kind for kind, _ in world.cable_changes()[before:]], log=world.log)
    wait_for("only the standby is missing",
             lambda: world.open_rules() == ["subnet_standby_manager"], log=world.log)
    end = time.monotonic() + 12  # Two readings more
    while time.monotonic() < end:
        assert world.open_rules() == ["subnet_standby_manager"], world.open_rules()
        time.sleep(0.5)


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

    check_managers(world)

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
