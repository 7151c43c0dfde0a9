# SPDX-License-Identifier: Apache-2.0
"""Constants shared by the lab's modules: folders, addresses, the agent's command line."""

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
HOST = "10.0.2.2"  # the host's address for the guests (QEMU's user network)
METRICS_PORT = 9417  # in the guest; forwarded to a free port of 127.0.0.1
EXEC_PORTS = 8  # concurrent commands per node
TLS_FOLDER = "/etc/fabricd-tls"  # In a guest
MEMORY = 448  # MiB for each guest
BOOT_LIMIT = 120  # seconds until a guest must be ready


class LabError(Exception):
    """A one-line message for the user, and the exit status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def agent_command(node, controller, flags="", tls=False):
    """The command line of fabric-agent in a guest. tls: with the files of TLS_FOLDER, for which
    agent-loop waits."""
    words = ["/usr/bin/fabric-agent", "run", "--controller", guest_view(controller),
             "--metrics", f"0.0.0.0:{METRICS_PORT}", "--node", node]
    if tls:
        words += [f"--tls-cert={TLS_FOLDER}/cert.pem", f"--tls-key={TLS_FOLDER}/key.pem",
                  f"--tls-ca={TLS_FOLDER}/ca.pem"]
    return shlex.join(words + shlex.split(flags))


def guest_view(address):
    """HOST:PORT for a guest, where the host's loopback address is 10.0.2.2."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise LabError(f"expected HOST:PORT, saw '{address}'", 2)
    loopback = host in ("", "localhost", "::1", "[::1]", "0.0.0.0") or host.startswith("127.")
    return f"{HOST if loopback else host}:{port}"


def node_names(count):
    return [f"n{i}" for i in range(1, count + 1)]


def address(rail, index):
    return f"10.10.{RAILS.index(rail)}.{index}"


def mac(role, index):
    """The guest's init recognises the card by the fourth and fifth byte."""
    head = "fa:00" if role == "eth0" else f"fb:{RAILS.index(role):02x}"
    return f"52:54:00:{head}:{index:02x}"


class Steps:
    """Prints each step and its duration on stderr."""

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
