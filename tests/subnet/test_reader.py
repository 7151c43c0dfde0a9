"""fabric-agent subnet read against a real ibsim and opensm (Debian: ibsim-utils, opensm).

Compares with ibnetdiscover and dump_lfts, and makes faults: each has its finding and no other.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from ibsimsubnet import HOSTS, NET, Subnet, check, library_or_skip, wait_for

LEAF, SPINE = "S-0000000000100001", "S-0000000000100003"


class Reader:
    def __init__(self, agent, subnet):
        self.agent, self.subnet = agent, subnet

    def read(self, *options):
        """Returns the file of a snapshot, and its content."""
        path = self.subnet.folder / "subnet.json"
        done = subprocess.run(
            [self.agent, "subnet", "read", "--ibsim", self.subnet.env["IBSIM_SOCKNAME"],
             "--ibsim-node", HOSTS["n3"], *options], cwd=self.subnet.folder, capture_output=True,
            text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        path.write_text(done.stdout)
        return str(path), json.loads(done.stdout)


def links(fabricctl, *files):
    done = subprocess.run([fabricctl, "subnet", "links", "-o", "json", *files],
                          capture_output=True, text=True, check=True)
    return sorted(sorted(((link["from_guid"], link["from_port"]),
                          (link["to_guid"], link["to_port"])))
                  for link in json.loads(done.stdout)["links"])


def path(fabricctl, source, to, *files):
    done = subprocess.run([fabricctl, "subnet", "path", source, to, *files, "-o", "json"],
                          capture_output=True, text=True, check=True)
    return [hop["from"] for hop in json.loads(done.stdout)["hops"]]


def compare_with_tools(fabricctl, reader, snapshot):
    if not (shutil.which("ibnetdiscover") and shutil.which("dump_lfts")):
        return
    files = reader.subnet.files("tools")[:2]
    assert links(fabricctl, snapshot) == links(fabricctl, files[0])
    for source in HOSTS:
        for to in HOSTS:
            if source != to:
                assert (path(fabricctl, source, to, snapshot)
                        == path(fabricctl, source, to, *files)), (source, to)


def only(found, *rules):
    """Exactly these rules have findings."""
    assert sorted({text.split(":")[0] for text in found}) == sorted(rules), found


def check_faults(fabricctl, reader):
    subnet = reader.subnet

    def read_and_check(*options):
        return check(fabricctl, [reader.read(*options)[0]])

    # Between both reads of the counters. Repeated while a busy machine makes them too late.
    errors, found = 0, []
    while not found and errors < 10 * 77:
        errors += 77
        typing = threading.Timer(1.5, subnet.type, [
            f'PerformanceSet "{LEAF}"[5] PortCounters.PortRcvErrors={errors}'])
        typing.start()
        found = read_and_check("--rate-interval", "3s")
        typing.join()
    only(found, "subnet_port_errors")
    assert 'switch "leaf-1" port 5' in found[0] and "PortRcvErrors +77" in found[0], found

    subnet.type(f'PerformanceSet "{LEAF}"[5] PortCounters.LinkDownedCounter=255')
    wait_for("counter", lambda: read_and_check())
    only(read_and_check(), "subnet_counters_saturated")
    subnet.type(f'PerformanceSet "{LEAF}"[5] PortCounters.LinkDownedCounter=0')
    wait_for("counter", lambda: not read_and_check())

    # Requests that are lost are repeated. opensm sends none to an adapter while nothing changes.
    subnet.type(f'Error "{HOSTS["n4"]}"[1] 30')

    def some_are_lost():
        snapshot = reader.read()[1]
        assert len(snapshot["nodes"]) == 8, snapshot["nodes"]
        return int(snapshot.get("lost", 0)) > 0

    wait_for("lost requests", some_are_lost)
    subnet.type(f'Error "{HOSTS["n4"]}"[1] 0')

    # Two hosts with one GUID.
    subnet.type(f'Guid "{HOSTS["n2"]}" 0x{int(HOSTS["n4"][2:], 16):x}')
    wait_for("duplicate GUID", lambda: any(text.startswith("subnet_guid_unique")
                                           for text in read_and_check()))
    subnet.type(f'Guid "{HOSTS["n2"]}" 0x{int(HOSTS["n2"][2:], 16):x}')
    wait_for("one GUID", lambda: not read_and_check())

    check_miswired(fabricctl, reader)
    check_two_lids(fabricctl, reader)
    check_take_over(fabricctl, reader)

    # No subnet manager is left: what it configured stays.
    subnet.managers[-1].terminate()
    subnet.managers.pop().wait()
    wait_for("dead managers", lambda: any(text.startswith("subnet_one_master")
                                          for text in read_and_check()))


def check_miswired(fabricctl, reader):
    """Two cables between leaves and a spine are exchanged: only the plan shows it."""
    subnet = reader.subnet
    plan = subnet.folder / "plan.txt"
    shutil.copy(NET, plan)
    other = "S-0000000000100002"
    cables = [(LEAF, "5", SPINE, "1"), (other, "5", SPINE, "2")]
    unlink = [f'Unlink "{leaf}"[{port}]' for leaf, port, _, _ in cables]
    subnet.change_cables(*unlink, f'Link "{LEAF}"[5] "{SPINE}"[2]',
                         f'Link "{other}"[5] "{SPINE}"[1]')

    def found():
        return check(fabricctl, [reader.read()[0], "--plan", str(plan)])

    wait_for("miswired cables", lambda: sum("subnet_cables_as_planned: miswired" in text
                                            for text in found()) == 2)
    wait_for("routes after the change", lambda: {text.split(":")[0] for text in found()}
              == {"subnet_cables_as_planned"}, 60, found)
    only(check(fabricctl, [reader.read()[0]]))
    subnet.change_cables(*unlink, *(f'Link "{leaf}"[{port}] "{spine}"[{far}]'
                                    for leaf, port, spine, far in cables))
    wait_for("cables as planned", lambda: not found(), 60, found)


def check_two_lids(fabricctl, reader):
    """An adapter has the LID of a switch, to which its switch forwards."""
    subnet = reader.subnet
    subnet.type(f'Baselid "{HOSTS["n4"]}"[1] 3')

    def found():
        return check(fabricctl, [reader.read()[0]])

    wait_for("duplicate LID", found)
    only(found(), "subnet_lid_unique")
    subnet.type(f'Baselid "{HOSTS["n4"]}"[1] 8')
    wait_for("one LID", lambda: not found(), 60, found)


def check_take_over(fabricctl, reader):
    """The master is killed: the standby takes over, and one_master is quiet again."""
    subnet = reader.subnet
    master = subnet.managers.pop(0)
    master.kill()
    master.wait()
    wait_for("take-over", lambda: [manager.get("state") for manager in
                                   reader.read()[1].get("managers", [])] == [3], 60)
    only(check(fabricctl, [reader.read()[0]]), "subnet_standby_manager")


def main():
    fabricctl, agent = sys.argv[1:]
    library = library_or_skip()
    with tempfile.TemporaryDirectory() as name:
        subnet = Subnet(pathlib.Path(name), library)
        reader = Reader(agent, subnet)
        try:
            only(check(fabricctl, [reader.read()[0]]), "subnet_standby_manager")
            subnet.manage("n2", 5, "Entering STANDBY state")
            wait_for("standby", lambda: not check(fabricctl, [reader.read()[0]]))
            snapshot, content = reader.read()
            assert content["reader"].startswith("n3 ") or "ibsim" in content["reader"], content
            # ibsim drops packets of the vendor class.
            silent = ["firmware of switches: no answer (1 request)"]
            assert content["not_covered"] == silent, content["not_covered"]
            compare_with_tools(fabricctl, reader, snapshot)
            check_faults(fabricctl, reader)
        finally:
            subnet.close()
    print("the snapshot agrees with other tools; each fault has its finding")


main()
