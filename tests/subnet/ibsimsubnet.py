"""A small fat tree in ibsim, with a real opensm on its first host."""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
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
    def __init__(self, folder, library, net=NET):
        self.folder = folder
        self.env = dict(os.environ, IBSIM_SOCKNAME=f"subnet-{os.getpid()}", OSM_TMP_DIR=str(folder),
                        OSM_CACHE_DIR=str(folder))
        log = folder / "ibsim.log"
        with log.open("w") as out:
            self.sim = subprocess.Popen(["ibsim", "-s", str(net)], stdin=subprocess.PIPE,
                                        stdout=out, stderr=subprocess.STDOUT, env=self.env,
                                        text=True)
        wait_for("ibsim", lambda: "Network simulator ready" in log.read_text())
        self.env.update(LD_PRELOAD=library, SIM_HOST=HOSTS["n1"])
        self.run("opensm", "-c", str(folder / "conf"))
        conf = (folder / "conf").read_text()
        conf = re.sub(r"(?m)^force_log_flush.*", "force_log_flush TRUE", conf)
        (folder / "conf").write_text(conf)
        self.managers = []
        self.manage("n1", 10, "SUBNET UP", "-D", "0x43", "--dump_files_dir", str(folder))

    def manage(self, host, priority, text, *options):
        """Starts opensm on a host, and waits for a text in its log."""
        log = self.folder / f"log-{host}"
        self.managers.append(subprocess.Popen(
            ["opensm", "-F", str(self.folder / "conf"), "-f", str(log), "-R", "minhop", "-p",
             str(priority), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.env | {"SIM_HOST": HOSTS[host]}))
        wait_for("opensm", lambda: log.exists() and text in log.read_text(errors="replace"))

    def type(self, command):
        """A command on the console of ibsim."""
        self.sim.stdin.write(command + "\n")
        self.sim.stdin.flush()

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
        for process in (*self.managers, self.sim):
            process.terminate()
            process.wait()


def check(fabricctl, files):
    done = subprocess.run([fabricctl, "subnet", "check", "-o", "json", *files], capture_output=True,
                          text=True, timeout=60)
    answer = json.loads(done.stdout)
    return [f["rule"] + ": " + f["title"] for f in answer["findings"]
            if f["verdict"] == "VERDICT_FAIL"]


def library_or_skip(*tools):
    """The library of ibsim's clients. Skips the test if a tool is missing."""
    missing = [tool for tool in ("ibsim", "opensm", *tools) if shutil.which(tool) is None]
    libraries = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
    if missing or not libraries:
        print(f"SKIPPED: not installed: {', '.join(missing) or 'libumad2sim.so'}")
        sys.exit(SKIPPED)
    return libraries[0]
