"""The main job in one command: install missing packages, build, start, inspect, judge, probe.

Run it as deploy/quickstart. It writes below build/ only, and ends the processes that it starts.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import quickstart_infiniband
from quickstart_pki import Pki, PkiError

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("FABRIC_BUILD_DIR", ROOT / "build"))
RELEASE = ROOT / "build" / "release"
STATE = BUILD / "quickstart"
# The rule that finds each planted fault of the lab.
FOUND_BY = {"mtu": "mtu_equal_on_rail", "pfc": "pfc_equal_on_rail"}
PR_SET_PDEATHSIG = 1


class Failed(Exception):
    """A step failed. The text gives the reason."""


class Progress:
    """Prints a line for each step on standard error: title, progress, duration."""

    def __init__(self, steps):
        self.steps = steps
        self.number, self.start, self.title = 0, time.monotonic(), ""
        self.tty = sys.stderr.isatty()
        self.shown_at = 0.0

    def step(self, title):
        self.number += 1
        self.title, self.start, self.shown_at = title, time.monotonic(), time.monotonic()
        self._print("...")
        return self

    def update(self, progress):
        """Prints the progress of the step, without a terminal at most every ten seconds."""
        if self.tty:
            self._print(progress, end="")
        elif time.monotonic() - self.shown_at >= 10:
            self.shown_at = time.monotonic()
            self._print(progress)

    def done(self, what="done"):
        self._print(f"{what} ({time.monotonic() - self.start:.1f} s)")

    def _print(self, text, end="\n"):
        back = "\r\033[K" if self.tty else ""
        print(f"{back}[{self.number}/{self.steps}] {self.title}: {text}", end=end, file=sys.stderr,
              flush=True)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def install(progress, groups):
    progress.step("packages")
    log = STATE / "packages.log"
    with open(log, "wb") as out:
        done = subprocess.run([ROOT / "deploy/install-dependencies", *groups], stdout=out,
                              stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Failed(f"packages are missing, see {log}:\n{log.read_text().strip()[-2000:]}")
    progress.done()


def prepare_lab(progress):
    """Makes everything of the lab except our programs. A missing package thus ends the run before
    the build starts."""
    sys.path.insert(0, str(ROOT / "tests/lab"))
    import labimage  # pylint: disable=import-outside-toplevel
    from labdefs import LabError, Steps  # pylint: disable=import-outside-toplevel
    progress.step("lab image")
    try:
        labimage.prepare(Steps(None))
    except LabError as error:
        raise Failed(f"lab: {error}") from error
    progress.done()


def build(progress):
    progress.step("build")
    if not (RELEASE / "build.ninja").exists():
        log = STATE / "configure.log"
        with open(log, "wb") as out:
            done = subprocess.run(["cmake", "--preset", "release", "-DFABRIC_TESTS=OFF"], cwd=ROOT,
                                  stdout=out, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"cmake failed, see {log}")
    with open(STATE / "build.log", "w", encoding="utf-8") as log, subprocess.Popen(
            ["ninja", "-C", str(RELEASE), "fabricd", "fabric-agent", "fabricctl"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as ninja:
        for line in ninja.stdout:
            log.write(line)
            if match := re.match(r"\[(\d+)/(\d+)\]", line):
                progress.update(f"{match[1]} of {match[2]}")
    if ninja.returncode:
        raise Failed(f"the build failed, see {STATE / 'build.log'}")
    progress.done()


def has_rdma_devices():
    try:
        return any(os.scandir("/sys/class/infiniband"))
    except OSError:
        return False


def free_or_any(port):
    """The default port if it is free, else 0 (any port)."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


class Controller:
    """fabricd with its state in `folder`, ended with this process. `again` keeps the state."""

    def __init__(self, folder, grpc_port, rest_port, *flags, again=False):
        for old in () if again else folder.glob("fabricd.db*"):
            old.unlink()
        self.pki = Pki(RELEASE / "bin/fabricctl", folder / "pki", again)
        # For subprocesses that run fabricctl
        self.environment = os.environ | self.pki.variables()
        addresses = folder / "addresses.json"
        addresses.unlink(missing_ok=True)
        self.log = folder / "fabricd.log"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [RELEASE / "bin/fabricd", "--grpc", f"127.0.0.1:{grpc_port}",
                 "--rest", f"127.0.0.1:{rest_port}", "--health", "127.0.0.1:0",
                 "--state", folder / "fabricd.db", "--addresses-file", addresses,
                 *self.pki.server_flags(), *flags],
                stdout=out, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        deadline = time.monotonic() + 10
        while not addresses.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Failed(f"fabricd did not start:\n{self.log.read_text().strip()}")
            time.sleep(0.02)
        bound = json.loads(addresses.read_text())
        self.grpc, self.rest = bound["grpc"], bound["rest"]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def open(self, path, timeout=10):
        return urllib.request.urlopen(f"https://{self.rest}{path}", timeout=timeout,
                                      context=self.pki.context())

    def get(self, path):
        with self.open(path) as answer:
            return json.load(answer)

    def ctl(self, *words, good=(0,), **options):
        done = subprocess.run([RELEASE / "bin/fabricctl", "--controller", self.grpc, *words],
                              check=False, env=self.environment, **options)
        if done.returncode not in good:
            raise Failed(f"fabricctl {' '.join(words)}: exit status {done.returncode}")
        return done.returncode


def wait_for(progress, what, seconds, test):
    """Waits until test() returns (True, state), and fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        good, state = test()
        if good:
            return
        if time.monotonic() > deadline:
            raise Failed(f"{what}: {state} after {seconds} s")
        progress.update(state)
        time.sleep(0.1)


def wait_for_nodes(progress, controller, names):
    progress.step("agents")

    def connected():
        nodes = controller.get("/v1/nodes").get("nodes", [])
        here = {node["name"] for node in nodes if node.get("devices", 0) > 0
                and node["state"] == "NODE_STATE_CONNECTED"}
        return here >= set(names), f"{len(here)} of {len(names)} nodes have reported"

    wait_for(progress, "agents", 60, connected)
    progress.done(f"{len(names)} of {len(names)} nodes have reported")


def planted_findings(planted):
    """The expected findings: (rule, node, netdev)."""
    return {(FOUND_BY[fault], node, words[0]) for node, fault, words in planted}


def open_findings(controller):
    findings = controller.get("/v1/findings").get("findings", [])
    return {(f["rule"], f["subject"].get("node", ""), f["subject"].get("netdev", ""))
            for f in findings}


def wait_for_findings(progress, controller, expected):
    progress.step("findings")

    def found():
        seen = open_findings(controller)
        return seen == expected, f"{len(seen & expected)} of {len(expected)} planted faults found"

    wait_for(progress, "findings", 15, found)
    progress.done(f"{len(expected)} planted faults found, no other findings")


def show(title):
    print(f"\n{title}", flush=True)


def report(progress, controller, probing):
    """Prints nodes, devices, findings and the matrix. Returns a list of failures."""
    for title, words, good in (("NODES", ["nodes"], (0,)), ("DEVICES", ["devices"], (0,)),
                               ("FINDINGS", ["findings"], (0, 1))):
        show(title)
        controller.ctl(*words, good=good)
    if not probing:
        return []
    print(flush=True)
    progress.step("probes, every pair of each rail")
    # The status is also 1 when a slow port is blamed: emulated guests are sometimes slow.
    controller.ctl("probe", "run", "--iterations", "300", good=(0, 1), stdout=subprocess.DEVNULL)
    progress.done()
    show("MATRIX")
    status = controller.ctl("matrix", good=(0, 1))
    return ["probes failed, see the matrix"] if status else []


def addresses(controller, agents):
    show("ADDRESSES")
    folder = controller.pki.client()
    print(f"gRPC     {controller.grpc}\n"
          f"REST     https://{controller.rest}/v1/nodes, /v1/findings, /v1/events, /openapi.json\n"
          f"metrics  https://{controller.rest}/metrics")
    for node, address in agents.items():
        print(f"         http://{address}/metrics   (agent of {node})")
    print(f"state    {STATE / 'fabricd.db'}")
    variables = {"FABRICCTL_CONTROLLER": controller.grpc} | controller.pki.variables()
    (STATE / "environment").write_text("".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()))
    show("COMMANDS for another terminal")
    print(f". {STATE / 'environment'}   # address and certificate for fabricctl\n"
          f"{RELEASE / 'bin/fabricctl'} nodes\n"
          f"curl --cacert {folder}/ca.pem --cert {folder}/cert.pem --key {folder}/key.pem "
          f"https://{controller.rest}/v1/nodes", flush=True)


def run_here(options, progress, controller):
    """Starts an agent for this machine's RDMA devices."""
    progress.step("fabric-agent on this machine")
    node = socket.gethostname()
    port = free_or_any(9417)
    with open(STATE / "fabric-agent.log", "wb") as out:
        agent = subprocess.Popen(
            [RELEASE / "bin/fabric-agent", "run", "--controller", controller.grpc,
             "--metrics", f"127.0.0.1:{port}", "--node", node,
             *Pki.flags(controller.pki.node(node))],
            stdout=out, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
    try:
        progress.done("started")
        wait_for_nodes(progress, controller, [node])
        report(progress, controller, probing=False)
        print("\nOne node has no pair to probe. Start fabric-agent with --controller on more "
              "nodes.")
        addresses(controller, {node: f"127.0.0.1:{port}"} if port else {})
        rest(options)
    finally:
        agent.terminate()
        agent.wait()
    return []


def run_lab(options, progress, controller):
    import labfaults  # pylint: disable=import-outside-toplevel
    from fabriclab import Lab, LabError  # pylint: disable=import-outside-toplevel

    progress.step(f"lab of {options.nodes} guests")
    try:
        with Lab(nodes=options.nodes, agent=str(RELEASE / "bin/fabric-agent"),
                 controller=controller.grpc, certificates=controller.pki.node,
                 planted=True) as lab:
            progress.done("up")
            wait_for_nodes(progress, controller, lab.nodes)
            expected = planted_findings(labfaults.planted(lab.nodes))
            trouble = []
            try:
                wait_for_findings(progress, controller, expected)
            except Failed as failed:
                trouble.append(f"{failed}; expected {sorted(expected)}, "
                               f"saw {sorted(open_findings(controller))}")
            trouble += report(progress, controller, probing=True)
            addresses(controller, {node: lab.metrics(node) for node in lab.nodes})
            rest(options)
            return trouble
    except LabError as error:
        raise Failed(f"lab: {error}") from error


def start_controller(progress, *flags):
    progress.step("fabricd")
    controller = Controller(STATE, free_or_any(9418), free_or_any(9419), *flags)
    progress.done(f"gRPC on {controller.grpc}, REST on {controller.rest}")
    return controller


def rest(options):
    if options.once:
        return
    print("\nRunning. Press Ctrl-C to stop.", flush=True)
    while True:
        signal.pause()


def parse(words):
    parser = argparse.ArgumentParser(
        prog="deploy/quickstart", allow_abbrev=False,
        description="Build and start fabricd, on this machine's RDMA devices or, without any, on a "
                    "lab of guests with soft-RoCE.",
        epilog="Exit status: 0 success, 1 failure, 2 usage error.")
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="number of guests (3)")
    parser.add_argument("--once", action="store_true", help="stop after printing the results")
    parser.add_argument("--lab", action="store_true",
                        help="use the lab even if this machine has RDMA devices")
    parser.add_argument("--infiniband", action="store_true",
                        help="use a simulated InfiniBand subnet")
    options = parser.parse_args(words)
    if not 3 <= options.nodes <= 16:
        parser.error(f"--nodes: expected 3 to 16 (a majority needs three), saw {options.nodes}")
    return options


def end(_number, _frame):
    raise KeyboardInterrupt


def main(words):
    options = parse(words)
    signal.signal(signal.SIGTERM, end)
    STATE.mkdir(parents=True, exist_ok=True)
    infiniband = options.infiniband
    lab = not infiniband and (options.lab or not has_rdma_devices())
    progress = Progress(steps=6 if infiniband else 8 if lab else 5)
    started, controller = time.monotonic(), None
    try:
        install(progress, ["build", *(["infiniband"] if infiniband else ["lab"] if lab else [])])
        if lab:
            prepare_lab(progress)
        build(progress)
        if infiniband:
            trouble = quickstart_infiniband.run(sys.modules[__name__], options, progress)
        else:
            # The guests have just booted. Without this, rules would wait for them to settle.
            controller = start_controller(progress, *(["--boot-grace", "0s"] if lab else []))
            trouble = (run_lab if lab else run_here)(options, progress, controller)
    except (Failed, PkiError, quickstart_infiniband.InfinibandError) as failed:
        trouble = [str(failed)]
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 0 if not options.once else 1
    finally:
        if controller:
            controller.stop()
    for line in trouble:
        print(f"quickstart: {line}", file=sys.stderr)
    if not trouble:
        print(f"quickstart: done in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
