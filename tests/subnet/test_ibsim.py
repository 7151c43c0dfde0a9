"""fabricctl subnet against a real ibsim and opensm (Debian: ibsim-utils, opensm, infiniband-diags;
also ibutils, if installed).

Compares the path of each pair with ibtracert, and unlinks a cable.
"""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

NET = pathlib.Path(__file__).parents[1] / "fuzz/corpus/subnet_topology/small_tree"
HOSTS = {"n1": "H-0000000000200001", "n2": "H-0000000000200011", "n3": "H-0000000000200021",
         "n4": "H-0000000000200031"}
SKIPPED = 77
DEADLINE_S = 20


def wait_for(what, done):
    end = time.monotonic() + DEADLINE_S
    while not done():
        if time.monotonic() > end:
            sys.exit(f"{what}: expected within {DEADLINE_S} s, saw nothing")
        time.sleep(0.05)


class Subnet:
    def __init__(self, folder, library):
        self.folder = folder
        self.env = dict(os.environ, IBSIM_SOCKNAME=f"subnet-{os.getpid()}", OSM_TMP_DIR=str(folder),
                        OSM_CACHE_DIR=str(folder))
        log = folder / "ibsim.log"
        self.sim = subprocess.Popen(["ibsim", "-s", str(NET)], stdin=subprocess.PIPE,
                                    stdout=log.open("w"), stderr=subprocess.STDOUT, env=self.env,
                                    text=True)
        wait_for("ibsim", lambda: "Network simulator ready" in log.read_text())
        self.env.update(LD_PRELOAD=library, SIM_HOST=HOSTS["n1"])
        self.run("opensm", "-c", str(folder / "conf"))
        conf = (folder / "conf").read_text()
        conf = re.sub(r"(?m)^force_log_flush.*", "force_log_flush TRUE", conf)
        (folder / "conf").write_text(conf)
        self.manager = subprocess.Popen(
            ["opensm", "-F", str(folder / "conf"), "-f", str(folder / "log"), "-R", "minhop",
             "-D", "0x43", "--dump_files_dir", str(folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env)
        wait_for("opensm", lambda: (folder / "log").exists() and
                 "SUBNET UP" in (folder / "log").read_text(errors="replace"))

    def run(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True,
                              timeout=60).stdout

    def files(self, name):
        paths = []
        for tool in ("ibnetdiscover", "dump_lfts", "sminfo"):
            path = self.folder / f"{name}-{tool}.txt"
            path.write_text(self.run(tool))
            paths.append(str(path))
        return paths

    def close(self):
        for process in (self.manager, self.sim):
            process.terminate()
            process.wait()


def check(fabricctl, files):
    done = subprocess.run([fabricctl, "subnet", "check", "-o", "json", *files], capture_output=True,
                          text=True, timeout=60)
    answer = json.loads(done.stdout)
    return [f["rule"] + ": " + f["title"] for f in answer["findings"]
            if f["verdict"] == "VERDICT_FAIL"]


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


def main():
    fabricctl = sys.argv[1]
    missing = [tool for tool in ("ibsim", "opensm", "ibnetdiscover", "ibtracert", "dump_lfts")
               if shutil.which(tool) is None]
    libraries = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if missing or not libraries:
        print(f"SKIPPED: not installed: {', '.join(missing) or 'libumad2sim.so'}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as name:
        subnet = Subnet(pathlib.Path(name), libraries[0])
        try:
            healthy = subnet.files("healthy")
            assert check(fabricctl, healthy) == [], check(fabricctl, healthy)
            compare_paths(subnet, fabricctl, healthy)
            if shutil.which("ibdmchk"):
                compare_with_ibdmchk(subnet, fabricctl)
            # The file is made before the manager reroutes, or after: the cable is missing in both.
            subnet.sim.stdin.write('Unlink "S-0000000000100001"[5]\n')
            subnet.sim.stdin.flush()
            wait_for("unlinked cable", lambda: subnet.run("ibnetdiscover").count("[5]") < 3)
            broken = subnet.files("broken")
            found = check(fabricctl, [*broken, "--plan", healthy[0]])
            assert any('missing: planned cable "leaf-1" port 5 - "spine-1" port 1' in text or
                       'missing: planned cable "spine-1" port 1 - "leaf-1" port 5' in text
                       for text in found), found
        finally:
            subnet.close()
    print("paths agree with ibtracert"
          + (" and ibdmchk" if shutil.which("ibdmchk") else "; ibdmchk is not installed")
          + "; the unlinked cable was named")


main()
