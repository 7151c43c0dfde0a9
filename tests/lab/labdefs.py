# SPDX-License-Identifier: Apache-2.0
"""What everything in the lab agrees on: places, addresses, the agent's command line."""

import os
import pathlib
import shlex
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("FABRIC_BUILD_DIR") or HERE.parents[1] / "build").resolve()
LAB = BUILD / "lab"  # caches, and under run/ one directory for each lab
RUN = LAB / "run"

RAILS = ("rail0", "rail1")
MTU = 4200
HOST = "10.0.2.2"  # the host as the guests see it (QEMU's user network)
METRICS_PORT = 9417  # in the guest; forwarded to a free port of 127.0.0.1
EXEC_PORTS = 8  # commands that one node runs at the same time
MEMORY = 448  # MiB for each guest
BOOT_LIMIT = 120  # seconds until a guest must be ready


class LabError(Exception):
    """One line for the person at the terminal, and the exit status that goes with it."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def agent_command(node, controller, flags=""):
    """The command line of fabric-agent in a guest. This is the only place that knows it."""
    words = ["/usr/bin/fabric-agent", "run", "--controller", guest_view(controller),
             "--metrics", f"0.0.0.0:{METRICS_PORT}", "--node", node]
    return shlex.join(words + shlex.split(flags))


def guest_view(address):
    """HOST:PORT as a guest must write it: the host's loopback is 10.0.2.2 there."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise LabError(f"'{address}' is not HOST:PORT", 2)
    loopback = host in ("", "localhost", "::1", "[::1]", "0.0.0.0") or host.startswith("127.")
    return f"{HOST if loopback else host}:{port}"


def node_names(count):
    return [f"n{i}" for i in range(1, count + 1)]


def address(rail, index):
    return f"10.10.{RAILS.index(rail)}.{index}"


def mac(role, index):
    """The fourth and fifth byte tell the guest's init which card it is."""
    head = "fa:00" if role == "eth0" else f"fb:{RAILS.index(role):02x}"
    return f"52:54:00:{head}:{index:02x}"


class Steps:
    """Tells on stderr which step runs and how long it took."""

    def __init__(self, stream=sys.stderr):
        self.stream = stream

    def say(self, text):
        if self.stream:
            print(f"lab: {text}", file=self.stream, flush=True)

    def step(self, text):
        return _Step(self, text)


class _Step:
    def __init__(self, steps, text):
        self.steps, self.text = steps, text

    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, kind, value, trace):
        took = time.monotonic() - self.start
        self.steps.say(f"{self.text}: {'FAILED after ' if kind else ''}{took:.1f} s")
