"""A small fat tree in ibsim, with a real opensm on its first host."""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

NET = pathlib.Path(__file__).parents[1] / "fuzz/corpus/subnet_topology/small_tree"
HOSTS = {"n1": "H-0000000000200001", "n2": "H-0000000000200011", "n3": "H-0000000000200021",
         "n4": "H-0000000000200031"}
SKIPPED = 77
DEADLINE_S = 20


def net_of(switches, cables):
    """A file for ibsim: switches with a host each, or None, and cables between the switches."""
    ids = {name: f"S-{0x100000 + at:016x}" for at, name in enumerate(switches, 1)}
    ids |= {host: f"H-{0x200001 + 16 * (int(host[1:]) - 1):016x}"
            for host in switches.values() if host}
    ends, ports = {name: [] for name in ids}, dict.fromkeys(ids, 0)
    for one, other in [*cables, *((name, host) for name, host in switches.items() if host)]:
        at = {}
        for name in (one, other):
            ports[name] += 1
            at[name] = ports[name]
        ends[one].append(f'[{at[one]}]\t"{ids[other]}"[{at[other]}]\t\t# 4xHDR\n')
        ends[other].append(f'[{at[other]}]\t"{ids[one]}"[{at[one]}]\t\t# 4xHDR\n')
    parts = []
    for name, node in ids.items():
        kind = ("switchguid", "Switch\t8") if name in switches else ("caguid", "Ca\t1")
        guid = f"{int(node[2:], 16):#x}"
        text = name if name in switches else f"{name} mlx5_0"
        parts.append(f'vendid=0x2c9\ndevid=0xd2f2\nsysimgguid={guid}\n{kind[0]}={guid}\n'
                     f'{kind[1]} "{node}"\t\t# "{text}"\n{"".join(ends[name])}\n')
    return "".join(parts)


def wait_for(what, done, seconds=DEADLINE_S, seen=lambda: "nothing"):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            sys.exit(f"{what}: expected within {seconds} s, saw {seen()}")
        time.sleep(0.05)


class Subnet:
    def __init__(self, folder, library, net=NET, routing=("-R", "minhop")):
        self.routing = routing
        self.folder = folder
        self.env = dict(os.environ, IBSIM_SOCKNAME=f"subnet-{os.getpid()}", OSM_TMP_DIR=str(folder),
                        OSM_CACHE_DIR=str(folder))
        self.log = log = folder / "ibsim.log"
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
        with self.paused_managers():
            manager = subprocess.Popen(
                ["opensm", "-F", str(self.folder / "conf"), "-f", str(log), *self.routing, "-p",
                 str(priority), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=self.env | {"SIM_HOST": HOSTS[host]})
            wait_for("opensm", lambda: log.exists() and "IS_SM" in log.read_text(errors="replace"))
            self.wait_for_idle_managers()
        self.managers.append(manager)
        wait_for("opensm", lambda: text in log.read_text(errors="replace"))

    @contextlib.contextmanager
    def paused_managers(self):
        """Stops the managers during a change that makes ibsim drop requests. A real kernel ends a
        lost request with a timeout. With ibsim, opensm waits forever and stops sweeping."""
        self.wait_for_idle_managers()
        for manager in self.managers:
            manager.send_signal(signal.SIGSTOP)
        self.type("")  # ibsim has answered what was sent before.
        try:
            yield
        finally:  # A stopped process does not end when it is terminated.
            for manager in self.managers:
                manager.send_signal(signal.SIGCONT)

    def wait_for_idle_managers(self):
        """An opensm that sweeps the subnet writes to its log."""
        sizes = []

        def idle():
            sizes.append([log.stat().st_size for log in self.folder.glob("log-*")])
            return len(sizes) > 20 and sizes[-1] == sizes[-20]

        wait_for("idle managers", idle, 60)

    def change_cables(self, *commands):
        """Commands on the console that change cables."""
        with self.paused_managers():
            for command in commands:
                self.type(command)

    def type(self, command):
        """A command on the console of ibsim. Of two lines at once, ibsim reads one."""
        prompts = self.log.read_text().count("sim> ")
        self.sim.stdin.write(command + "\n")
        self.sim.stdin.flush()
        wait_for(f"prompt after {command}", lambda: self.log.read_text().count("sim> ") > prompts)

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
