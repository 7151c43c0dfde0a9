"""fabricctl subnet against a real ibsim and opensm (Debian: ibsim-utils, opensm, infiniband-diags;
also ibutils, if installed).

Compares the path of each pair with ibtracert, unlinks a cable, and reads tables whose last LID is
a multiple of 64. Finds a credit loop and pairs without a route, which opensm does not report.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from ibsimsubnet import HOSTS, NET, Subnet, check, library_or_skip, net_of, wait_for


def compare_paths(subnet, fabricctl, files):
    """The ports out of each switch, by both programs."""
    text = pathlib.Path(files[0]).read_text()
    lids = {name: re.search(rf'Ca\t1 "{node}"[^\n]*\n[^\n]*# lid (\d+) ', text)[1]
            for name, node in HOSTS.items()}
    for source in HOSTS:
        for to in HOSTS:
            if source == to:
                continue
            ours = json.loads(subprocess.run(
                [fabricctl, "subnet", "path", source, to, *files[:2], "-o", "json"],
                capture_output=True, text=True, check=True).stdout)["hops"]
            own = [int(hop["from"].rsplit(" ", 1)[1]) for hop in ours]
            traced = subnet.run("ibtracert", lids[source], lids[to])
            theirs = re.findall(r"(?m)^\[(\d+)\] ->", traced)
            assert theirs, traced
            assert own[-len(theirs):] == [int(port) for port in theirs], (source, to, own, theirs)


def compare_with_ibdmchk(subnet, fabricctl):
    """Lengths of paths and credit loops, from the dumps of opensm."""
    dumps = [str(subnet.folder / name)
             for name in ("opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs")]
    theirs = subprocess.run(["ibdmchk", "-s", dumps[0], "-f", dumps[1], "-m", dumps[2]],
                            capture_output=True, text=True, timeout=60).stdout
    table = theirs.split("LFT ROUTE HOP HISTOGRAM", 1)[1].split("HOPS NUM-CA-CA-PAIRS\n", 1)[1]
    # It counts links, we count switches.
    expected = {int(hops) - 1: int(pairs)
                for hops, pairs in re.findall(r"^ +(\d+) +(\d+)$", table.split("---", 1)[0], re.M)}
    facts = json.loads(subprocess.run([fabricctl, "subnet", "show", "-o", "json", *dumps[:2]],
                                      capture_output=True, text=True, check=True).stdout)["facts"]
    seen = {int(fact["what"].split()[2]): int(fact["value"])
            for fact in facts if fact["what"].startswith("pairs over ")}
    assert expected and seen == expected, (seen, expected)


def check_last_lid(fabricctl, library, folder):
    """LIDs with a hole, and the last one a multiple of 64, which dump_lfts leaves out."""
    net = folder / "net"
    net.write_text(re.sub(r"\blid 8\b", "lid 64", NET.read_text()))
    subnet = Subnet(folder, library, net)
    try:
        files = subnet.files("last-lid")
        lfts = pathlib.Path(files[1]).read_text()
        assert "[0x0-0x40]" in lfts and "0x0040 " not in lfts, lfts
        assert check(fabricctl, files) == [], check(fabricctl, files)
        dump = str(folder / "opensm-lfts.dump")
        assert "64 lids dumped" in pathlib.Path(dump).read_text()
        assert check(fabricctl, [files[0], dump, files[2]]) == []
        text = subprocess.run([fabricctl, "subnet", "check", "-o", "json", files[0], dump],
                              capture_output=True, text=True, check=True)
        assert "opensm-lfts.dump:" not in text.stdout + text.stderr, text
        reach = [f["verdict"] for f in json.loads(text.stdout)["findings"]
                 if f["rule"] == "subnet_routes_reach"]
        assert reach == [], reach

        # Without a manager, sminfo has no answer; why is not known.
        for manager in subnet.managers:
            manager.terminate()
            manager.wait()
        wait_for("dead manager", lambda: "failed: query" in subnet.run("sminfo"))
        files[2] = subnet.files("dead")[2]
        text = subprocess.run([fabricctl, "subnet", "check", "-o", "json", *files],
                              capture_output=True, text=True, check=True).stdout
        assert [f["title"] for f in json.loads(text)["findings"]
                if f["rule"] == "subnet_one_master"][0].startswith("no subnet manager answered")
    finally:
        subnet.close()


def rules(found):
    return sorted({text.split(":")[0] for text in found})


def check_credit_loop(fabricctl, library, folder):
    """Shortest paths on a ring of 5 switches: opensm reports SUBNET UP, but the ring can block."""
    ring = ["r1", "r2", "r3", "r4", "r5"]
    net = folder / "net"
    net.write_text(net_of({name: f"n{at}" for at, name in enumerate(ring, 1)},
                          [*zip(ring, ring[1:]), ("r5", "r1")]))
    subnet = Subnet(folder, library, net)
    try:
        found = check(fabricctl, subnet.files("ring"))
        assert rules(found) == ["subnet_no_credit_loops"], found
        if shutil.which("ibdmchk"):
            dumps = [str(folder / name) for name in ("opensm-subnet.lst", "opensm.fdbs",
                                                     "opensm.mcfdbs")]
            theirs = subprocess.run(
                ["ibdmchk", "-s", dumps[0], "-f", dumps[1], "-m", dumps[2]], capture_output=True,
                text=True, timeout=60).stdout
            assert "credit loop" in theirs.lower(), theirs
    finally:
        subnet.close()


def check_unreachable(fabricctl, library, folder):
    """Up/down with two core switches as roots that only a lower switch joins: a path from one side
    to the other goes down and up again, which the engine forbids. opensm reports SUBNET UP."""
    line = ["leaf-1", "core-1", "middle", "core-2", "leaf-2"]
    net, roots = folder / "net", folder / "roots"
    net.write_text(net_of(dict(zip(line, ["n1", None, "n2", None, "n3"])), zip(line, line[1:])))
    roots.write_text("0x100002\n0x100004\n")
    subnet = Subnet(folder, library, net, ("-R", "updn", "-a", str(roots)))
    try:
        files = subnet.files("line")
        found = check(fabricctl, files)
        assert rules(found) == ["subnet_routes_reach"], found
        text = pathlib.Path(files[0]).read_text()
        lids = {host: re.search(rf'Ca\t1 "{HOSTS[host]}"[^\n]*\n[^\n]*# lid (\d+) ', text)[1]
                for host in ("n1", "n2", "n3")}
        assert "From ca" in (reached := subnet.run("ibtracert", lids["n1"], lids["n2"])), reached
        assert "To ca" in reached, reached
        assert "To ca" not in (lost := subnet.run("ibtracert", lids["n1"], lids["n3"])), lost
    finally:
        subnet.close()


def main():
    fabricctl = sys.argv[1]
    library = library_or_skip("ibnetdiscover", "ibtracert", "dump_lfts")
    with tempfile.TemporaryDirectory() as name:
        subnet = Subnet(pathlib.Path(name), library)
        try:
            healthy = subnet.files("healthy")
            assert check(fabricctl, healthy) == [], check(fabricctl, healthy)
            compare_paths(subnet, fabricctl, healthy)
            if shutil.which("ibdmchk"):
                compare_with_ibdmchk(subnet, fabricctl)
            # The file is made before the manager reroutes, or after: the cable is missing in both.
            subnet.type('Unlink "S-0000000000100001"[5]')
            wait_for("unlinked cable", lambda: subnet.run("ibnetdiscover").count("[5]") < 3)
            broken = subnet.files("broken")
            found = check(fabricctl, [*broken, "--plan", healthy[0]])
            assert any('missing: planned cable "leaf-1" port 5 - "spine-1" port 1' in text or
                       'missing: planned cable "spine-1" port 1 - "leaf-1" port 5' in text
                       for text in found), found
        finally:
            subnet.close()
    with tempfile.TemporaryDirectory() as name:
        check_last_lid(fabricctl, library, pathlib.Path(name))
    for routing_fault in (check_credit_loop, check_unreachable):
        with tempfile.TemporaryDirectory() as name:
            routing_fault(fabricctl, library, pathlib.Path(name))
    print("paths agree with ibtracert"
          + (" and ibdmchk" if shutil.which("ibdmchk") else "; ibdmchk is not installed")
          + "; the unlinked cable was named")


main()
