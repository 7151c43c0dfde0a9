"""InfiniBand without hardware: ibsim with a small fat tree, and real subnet managers (opensm).

Two faults are planted: the cables of two hosts are exchanged, and servers on the spines give
minimum-hop routing a credit loop.
"""

import glob
import os
import re
import subprocess
import time

LEAVES, SPINES, HOSTS = 4, 3, 4  # Hosts of each leaf
UPLINK = 10                      # First port of the uplinks of a leaf
DEADLINE_S = 30


class InfinibandError(Exception):
    """A step failed. The text gives the reason."""


class Fabric:
    """Nodes and cables of the fat tree."""

    def __init__(self):
        self.nodes = {}   # Name: (letter, GUID, number of ports)
        self.cables = []  # (name, port, name, port)
        for leaf in range(1, LEAVES + 1):
            self._add(f"leaf-{leaf}", "S", 16)
        for spine in range(1, SPINES + 1):
            self._add(f"spine-{spine}", "S", 16)
            for leaf in range(1, LEAVES + 1):
                self.cables.append((f"leaf-{leaf}", UPLINK + spine - 1, f"spine-{spine}", leaf))
        for leaf in range(1, LEAVES + 1):
            for port in range(1, HOSTS + 1):
                host = f"gpu-{(leaf - 1) * HOSTS + port} mlx5_0"
                self._add(host, "H", 1)
                self.cables.append((f"leaf-{leaf}", port, host, 1))
        for spine in range(1, SPINES + 1):
            self._add(f"storage-{spine} mlx5_0", "H", 1)
            self.cables.append((f"spine-{spine}", 16, f"storage-{spine} mlx5_0", 1))

    def _add(self, name, letter, ports):
        base = 0x100000 if letter == "S" else 0x200000
        self.nodes[name] = (letter, base + 16 * len(self.nodes), ports)

    def node_id(self, name):
        letter, guid, _ = self.nodes[name]
        return f"{letter}-{guid:016x}"

    def exchange(self, first, second):
        """Exchanges the cables of two hosts at their leaves."""
        self.cables = [(leaf, port, {first: second, second: first}.get(name, name), far)
                       for leaf, port, name, far in self.cables]

    def plan(self):
        """The cables as an NDT file."""
        def port(name, number):
            return f"Port {number}" if self.nodes[name][0] == "S" else name

        def device(name):
            return name.split()[0]

        lines = ["#StartDevice,StartPort,EndDevice,EndPort,LinkType"]
        lines += [f"{device(a)},{port(a, ap)},{device(b)},{port(b, bp)},Data"
                  for a, ap, b, bp in self.cables]
        return "\n".join(lines) + "\n"

    def netfile(self):
        """The fabric in the format of ibsim."""
        ends = {name: [] for name in self.nodes}
        for a, ap, b, bp in self.cables:
            ends[a].append((ap, b, bp))
            ends[b].append((bp, a, ap))
        parts = []
        for name, (letter, guid, ports) in self.nodes.items():
            kind, word = ("Switch", "switchguid") if letter == "S" else ("Ca", "caguid")
            parts.append(f"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid={guid:#x}\n{word}={guid:#x}\n"
                         f"{kind}\t{ports} \"{self.node_id(name)}\"\t\t# \"{name}\"\n" + "".join(
                             f"[{port}]\t\"{self.node_id(far)}\"[{far_port}]\t\t# 4xHDR\n"
                             for port, far, far_port in sorted(ends[name])))
        return "\n".join(parts)


class Simulation:
    """ibsim with two subnet managers. Ends with its context."""

    def __init__(self, folder, fabric):
        self.folder, self.fabric = folder, fabric
        self.name = f"fabric-quickstart-{os.getpid()}"
        self.processes = []
        self.environment = dict(os.environ, IBSIM_SOCKNAME=self.name)

    def __enter__(self):
        net = self.folder / "net.ibsim"
        net.write_text(self.fabric.netfile())
        log = self.folder / "ibsim.log"
        with open(log, "wb") as out:
            # It ends at the end of its input.
            self.sim = subprocess.Popen(["ibsim", "-s", str(net)], stdin=subprocess.PIPE,
                                        stdout=out, stderr=subprocess.STDOUT, env=self.environment)
        self.processes.append(self.sim)
        self._wait("ibsim", log, "Network simulator ready")
        self._manage("storage-1 mlx5_0", 10, "SUBNET UP")
        self._manage("storage-2 mlx5_0", 5, "Entering STANDBY state")
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()

    def _wait(self, what, log, text):
        end = time.monotonic() + DEADLINE_S
        while text not in (log.read_text(errors="replace") if log.exists() else ""):
            if time.monotonic() > end or self.processes[-1].poll() is not None:
                raise InfinibandError(f"{what}: expected '{text}' in {log} within {DEADLINE_S} s")
            time.sleep(0.05)

    def _manage(self, host, priority, text):
        libraries = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")
        if not libraries:
            raise InfinibandError("libumad2sim.so not found; install ibsim-utils")
        folder = self.folder / f"opensm-{priority}"
        folder.mkdir(exist_ok=True)
        environment = self.environment | {
            "LD_PRELOAD": libraries[0], "SIM_HOST": self.fabric.node_id(host),
            "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
        subprocess.run(["opensm", "-c", folder / "conf"], env=environment, cwd=folder, check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        conf = (folder / "conf").read_text()
        conf = re.sub(r"(?m)^force_log_flush.*", "force_log_flush TRUE", conf)
        (folder / "conf").write_text(conf)
        log = folder / "log"
        log.unlink(missing_ok=True)
        self.processes.append(subprocess.Popen(
            ["opensm", "-F", folder / "conf", "-f", log, "-R", "minhop", "-p", str(priority)],
            env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self._wait("opensm", log, text)

    def read(self, agent, path):
        """Reads the subnet with fabric-agent from the first host."""
        done = subprocess.run(
            [agent, "subnet", "read", "--ibsim", self.name, "--ibsim-node",
             self.fabric.node_id("gpu-1 mlx5_0"), "--file", path],
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise InfinibandError(done.stderr.strip())


def plant(fabric):
    """Returns the plan, and the rules of the findings that are expected, each with their number."""
    plan = fabric.plan()
    fabric.exchange("gpu-3 mlx5_0", "gpu-7 mlx5_0")
    return plan, {"subnet_cables_as_planned": 2, "subnet_no_credit_loops": 1}


def run(base, options, progress):
    """Reads and checks the simulated subnet. `base`: the module quickstart. Returns failures."""
    fabric = Fabric()
    plan, expected = plant(fabric)
    folder = base.STATE / "infiniband"
    subnet = folder / "subnets" / "rail-1"
    subnet.mkdir(parents=True, exist_ok=True)
    (subnet / "plan.ndt").write_text(plan)
    snapshot = subnet / "subnet.json"
    progress.step("ibsim and opensm")
    with Simulation(folder, fabric) as simulation:
        progress.done(f"{len(fabric.nodes)} nodes, {len(fabric.cables)} cables")
        progress.step("fabric-agent subnet read")
        simulation.read(base.RELEASE / "bin/fabric-agent", snapshot)
        progress.done(str(snapshot))
        controller = base.start_controller(progress, "--infiniband-topology", folder / "subnets")
        try:
            _wait_for_findings(base, progress, controller, expected)
            for title, words, good in (
                    ("FINDINGS", ["findings", "-o", "wide"], (1,)),
                    ("SUBNET", ["subnet", "show", snapshot], (0,)),
                    ("PATH", ["subnet", "path", "gpu-1", "gpu-16", snapshot], (0,))):
                base.show(title)
                controller.ctl(*words, good=good)
            base.show("PICTURE")
            _draw(controller, folder, snapshot)
            base.addresses(controller, {})
            base.rest(options)
        finally:
            controller.stop()
    return []


def _wait_for_findings(base, progress, controller, expected):
    progress.step("findings")

    def found():
        rules = [f["rule"] for f in controller.get("/v1/findings").get("findings", [])]
        seen = {rule: rules.count(rule) for rule in rules}
        return seen == expected, f"expected {expected}, saw {seen}"

    base.wait_for(progress, "findings", 15, found)
    progress.done(f"{sum(expected.values())} findings about the planted faults, no others")


def _draw(controller, folder, snapshot):
    with open(folder / "subnet.dot", "wb") as out:
        controller.ctl("subnet", "export", "--as", "dot", snapshot, stdout=out)
    subprocess.run(["dot", "-Tsvg", "-o", folder / "subnet.svg", folder / "subnet.dot"], check=True)
    print(folder / "subnet.svg")
