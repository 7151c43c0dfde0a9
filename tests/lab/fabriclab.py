# SPDX-License-Identifier: Apache-2.0
"""The class Lab, for tests and other programs:

    with Lab(nodes=2, agent="build/release/bin/fabric-agent", controller="127.0.0.1:7470") as lab:
        lab.exec("n1", ["rdma", "link"]).stdout
        lab.fault("n2", "mtu", "rail0")
        lab.fault("n2", "mtu", "rail0", repair=True)

The lab ends with the `with` block, or with the process that started it.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import labchannel
import labfaults
import labimage
import labstate
import labswitch
import labvm
from labdefs import (BOOT_LIMIT, HERE, LAB, MEMORY, RAILS, TLS_FOLDER, LabError, Steps, address,
                     agent_command, guest_view, node_names)


class Lab:
    """nodes: number of guests. agent: path of fabric-agent, started if there is a controller
    (HOST:PORT). programs: more programs for /usr/bin of the guests. planted: plant two faults.
    tied: end the lab with this process. quiet: print nothing on stderr. leaves, spines: switches
    of each rail; the leaves have blocks of guests of equal size. certificates: a function from the
    name of a node to the folder with cert.pem, key.pem and ca.pem of its agent; None: no TLS."""

    def __init__(self, nodes=3, name=None, agent=None, controller=None, programs=(),
                 agent_flags="", planted=False, tied=True, quiet=False, memory=MEMORY,
                 boot_limit=BOOT_LIMIT, leaves=1, spines=1, certificates=None):
        if not 1 <= nodes <= 100:
            raise LabError(f"--nodes: expected 1 to 100, saw {nodes}", 2)
        if not 1 <= leaves <= min(nodes, 16) or not 1 <= spines <= 16:
            raise LabError("expected 1 to 16 leaves, no more than nodes, and 1 to 16 spines", 2)
        self.name = name or f"lab-{os.getpid()}-{os.urandom(2).hex()}"
        labstate.check_name(self.name)
        if controller:
            guest_view(controller)  # rejects a bad address before anything is built
        if controller and not agent:
            raise LabError("--controller needs --agent", 2)
        self.nodes = node_names(nodes)
        self.leaves, self.spines = leaves, spines
        self.agent, self.controller, self.agent_flags = agent, controller, agent_flags
        self.certificates = certificates
        self.programs = [*programs, *([agent] if agent else [])]
        self.planted, self.tied, self.memory, self.boot_limit = planted, tied, memory, boot_limit
        self.steps = Steps(None if quiet else sys.stderr)
        self.folder, self.keeper, self.record = None, None, {}

    @classmethod
    def attach(cls, name=None):
        """Returns a lab that is up. Without a name: the only one."""
        folder, record = labstate.find(name)
        lab = cls.__new__(cls)
        lab.name, lab.folder, lab.record, lab.keeper = folder.name, folder, record, None
        lab.nodes, lab.steps = list(record["nodes"]), Steps(None)
        return lab

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()

    def up(self):
        """Builds missing parts and boots the guests. Returns when all guests are ready."""
        start = time.monotonic()
        kernel, image, switch = labimage.build_all(self.programs, self.steps)
        accel = labvm.choose_accel(kernel, image, self.steps)
        self.record = {"name": self.name, "accel": accel, "controller": self.controller,
                       "leaves": self.leaves, "spines": self.spines,
                       "nodes": {node: {"addresses": {rail: address(rail, index)
                                                      for rail in RAILS}}
                                 for index, node in enumerate(self.nodes, 1)}}
        self.folder = labstate.claim(self.name, self.record)
        try:
            with self.steps.step(f"boot of {len(self.nodes)} guests ({accel})"):
                self._start(kernel, image, switch, accel)
                self._wait()
            for node in self.nodes if self.certificates else ():
                self._put_certificate(node)
            for node, fault, words in labfaults.planted(self.nodes) if self.planted else ():
                self.fault(node, fault, *words)
                self.steps.say(f"planted on {node}: {' '.join([fault, *words])}")
            for node in self.nodes:
                self.record["nodes"][node]["metrics"] = labvm.forwarded_port(self.folder / node)
            self.record.update(state="up", started=time.strftime("%Y-%m-%dT%H:%M:%S"))
            labstate.write_json(self.folder / "lab.json", self.record)
            if not self.tied:
                self.keeper.stdin.write(b"stay\n")
                self.keeper.stdin.close()
        except BaseException:
            self.down(keep=LAB / "failed" / self.name)
            raise
        self.steps.say(f"'{self.name}' is up after {time.monotonic() - start:.1f} s")

    def _start(self, kernel, image, switch, accel):
        plan = {"switch": [str(switch), str(self.leaves), str(self.spines), str(len(self.nodes)),
                           *RAILS], "nodes": {}}
        for index, node in enumerate(self.nodes, 1):
            (self.folder / node).mkdir()
            (self.folder / node / "console.log").touch()  # QEMU may not have started at a failure
            agent = None
            if self.controller:
                agent = agent_command(node, self.controller, self.agent_flags,
                                      tls=self.certificates is not None)
            plan["nodes"][node] = labvm.command(kernel, image, node, index, self.memory, accel,
                                                agent)
        labstate.write_json(self.folder / "plan.json", plan)
        self.keeper = subprocess.Popen(
            [sys.executable, str(HERE / "labkeeper.py"), str(self.folder)], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def _wait(self):
        """Waits until all guests are ready. Fails when one has failed or hangs."""
        deadline = time.monotonic() + self.boot_limit
        waiting = list(self.nodes)
        while waiting:
            for node in list(waiting):
                ready, failure = labvm.boot_state(self.folder / node)
                if failure:
                    self._failed(node, f"failed to boot: {failure}")
                if ready:
                    waiting.remove(node)
            if self.keeper.poll() is not None:
                raise LabError("the lab's processes have ended:\n" + self._keeper_log())
            if waiting and time.monotonic() > deadline:
                self._failed(waiting[0], f"was not ready within {self.boot_limit} s")
            time.sleep(0.05)

    def _put_certificate(self, node):
        """Copies the files of the agent. agent-loop starts the agent when they are complete."""
        folder = self.certificates(node)
        self.exec(node, ["mkdir", "-m", "700", TLS_FOLDER], check=True)
        for name in ("ca.pem", "cert.pem", "key.pem"):
            self.put(node, folder / name, f"{TLS_FOLDER}/{name}")
        self.exec(node, ["sh", "-c", 'chmod 600 "$1/key.pem" && touch "$1/complete"', "lab",
                         TLS_FOLDER], check=True)

    def _failed(self, node, what):
        kept = LAB / "failed" / self.name / node / "console.log"
        raise LabError(f"{node} {what}; the end of its console (all of it: {kept}):\n"
                       + labvm.tail(self.folder / node))

    def _keeper_log(self):
        try:
            return (self.folder / "keeper.log").read_text(errors="replace").strip()
        except OSError:
            return ""

    def down(self, keep=None):
        """Ends the lab's processes and removes its directory, or moves that to `keep`."""
        if self.folder:
            labstate.end(self.folder, keep)
        if self.keeper:
            if self.keeper.stdin:
                self.keeper.stdin.close()
            self.keeper.wait()
        self.folder = self.keeper = None

    def node_folder(self, node):
        if node not in self.nodes:
            raise LabError(f"lab '{self.name}': unknown node '{node}'; expected one of "
                           + ", ".join(self.nodes), 2)
        return self._folder() / node

    def exec(self, node, argv, timeout=60, check=False, stdin=None, text=True):
        """Runs a command in a guest: a list, or a string for the guest's shell.

        Returns subprocess.CompletedProcess. check, timeout: as in subprocess.run. stdin: bytes or
        str. After the timeout the command is killed in the guest.
        """
        words = ["sh", "-c", argv] if isinstance(argv, str) else [str(word) for word in argv]
        parts = {b"O": [], b"R": []}
        with tempfile.TemporaryFile() as data:
            if stdin is not None:
                data.write(stdin.encode() if isinstance(stdin, str) else stdin)
                data.seek(0)
            status = labchannel.run(self.node_folder(node), words,
                                    lambda kind, piece: parts[kind].append(piece),
                                    data if stdin is not None else None, timeout)
        out, err = (b"".join(parts[kind]) for kind in (b"O", b"R"))
        if text:
            out, err = (io.TextIOWrapper(io.BytesIO(piece), "utf-8", "replace").read()
                        for piece in (out, err))
        if check and status:
            raise subprocess.CalledProcessError(status, argv, out, err)
        return subprocess.CompletedProcess(argv, status, out, err)

    def shell(self, node, script, *words, timeout=60):
        """Runs a shell script that must succeed. Returns its output."""
        done = self.exec(node, ["sh", "-c", script, "lab", *words], timeout=timeout)
        if done.returncode:
            why = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise LabError(f"{node}: status {done.returncode}: {why[-1]}")
        return done.stdout

    def fault(self, node, what, *words, repair=False):
        """Causes a fault of labfaults.TABLE, or repairs it."""
        self.node_folder(node)
        labfaults.inject(self, node, what, words, repair)

    def link(self, rail, link, what, value, direction="both"):
        """Sets how a link of a rail handles frames. link: "n3", or "leaf1-spine2". what: "loss" or
        "corrupt" in percent, "delay" in ms, "cut" 0 or 1; "dscp": the others act on frames with
        this DSCP only. direction: "up" (from the guests towards the spines), "down" or
        "both"."""
        labswitch.ask(self._folder(), "set", rail, link, direction, what, value)

    def repair_links(self):
        labswitch.ask(self._folder(), "clear")

    def links(self):
        """Settings and counters of all links and directions."""
        return [json.loads(line) for line in labswitch.ask(self._folder(), "show")]

    def _folder(self):
        if self.folder is None:
            raise LabError(f"lab '{self.name}' is not up")
        return self.folder

    def console(self, node):
        return labvm.console(self.node_folder(node))

    def metrics(self, node):
        """The address of the metrics of the node's agent: HOST:PORT."""
        self.node_folder(node)
        return f"127.0.0.1:{self.record['nodes'][node]['metrics']}"

    def put(self, node, source, target):
        data = pathlib.Path(source).read_bytes()
        mode = "755" if os.access(source, os.X_OK) else "644"
        done = self.exec(node, ["sh", "-c", 'cat >"$1" && chmod "$2" "$1"', "lab", target, mode],
                         stdin=data, timeout=120)
        if done.returncode:
            raise LabError(f"{node}: {done.stderr.strip()}")

    def get(self, node, path):
        done = self.exec(node, ["cat", path], text=False, timeout=120)
        if done.returncode:
            raise LabError(f"{node}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout
