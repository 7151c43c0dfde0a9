# SPDX-License-Identifier: Apache-2.0
"""How long after the guest's own kernel has said that a link is down `fabricctl events --watch`
says so. Both ends are heard of on this machine and by its clock: the guest's by `ip monitor link`
in the guest, whose output comes over a virtio port, the operator's by fabricctl."""

import contextlib
import datetime
import json
import os
import queue
import random
import re
import subprocess
import threading
import time
from typing import NamedTuple

import labchannel
from labdefs import LabError

ROUND_LIMIT = 60  # seconds; emulated guests on a busy machine are slow


class Round(NamedTuple):
    """Milliseconds from the pull of the cable."""
    kernel: float     # until the guest's kernel had said so
    fabricctl: float  # until fabricctl had
    said_at: float    # By the guest's clock, seconds since 1970: when the kernel said so

    @property
    def beyond(self):
        return self.fabricctl - self.kernel


class Lines:
    """Lines as they come, each with the moment."""

    def __init__(self):
        self.queue = queue.Queue()
        self.rest = b""

    def add(self, data):
        now = time.monotonic()
        *whole, self.rest = (self.rest + data).split(b"\n")
        for line in whole:
            self.queue.put((now, line.decode("utf-8", "replace")))

    def wait_for(self, test, what):
        """The moment of the first line from now on that passes, and the line."""
        deadline = time.monotonic() + ROUND_LIMIT
        with contextlib.suppress(queue.Empty):
            while True:
                when, line = self.queue.get(timeout=max(0.0, deadline - time.monotonic()))
                if test(line):
                    return when, line
        raise LabError(f"{what}: not within {ROUND_LIMIT} s")

    def forget(self):
        with contextlib.suppress(queue.Empty):
            while True:
                self.queue.get_nowait()


@contextlib.contextmanager
def kernel_says(lab, node):
    """Lines of `ip monitor link` in the guest."""
    lines = Lines()

    def listen():
        with contextlib.suppress(LabError):
            labchannel.run(lab.node_folder(node),
                           ["sh", "-c", "ip -ts monitor link & echo pid $!; wait"],
                           lambda kind, data: lines.add(data) if kind == b"O" else None)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    _, line = lines.wait_for(lambda line: line.startswith("pid "), "ip monitor in the guest")
    try:
        yield lines
    finally:
        lab.shell(node, f"kill {line.split()[1]}")
        thread.join(ROUND_LIMIT)


@contextlib.contextmanager
def fabricctl_says(fabricctl, controller):
    """Lines of `fabricctl events --watch -o json`."""
    lines = Lines()
    watch = subprocess.Popen([fabricctl, "--controller", controller, "events", "--watch", "-o",
                              "json"], stdout=subprocess.PIPE)

    def listen():
        while data := os.read(watch.stdout.fileno(), 65536):
            lines.add(data)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        watch.kill()
        watch.wait()
        thread.join()
        watch.stdout.close()


def port_event(line, node, device, active):
    port = json.loads(line).get("port", {})
    return ((port.get("node"), port.get("device")) == (node, device) and
            (port.get("after") == "PORT_STATE_ACTIVE") == active)


def measure(lab, node, rail, fabricctl, controller, rounds):
    """Pulls the cable of a rail so many times, and plugs it in again. Yields a Round for each."""
    device = rail.replace("rail", "rxe")

    def kernel_has_it_down(line):
        return f" {rail}: " in line and "NO-CARRIER" in line

    with kernel_says(lab, node) as kernel, fabricctl_says(fabricctl, controller) as told:
        time.sleep(1)  # fabricctl has subscribed.
        for _ in range(rounds):
            time.sleep(random.uniform(0.2, 1.2))  # In step with nothing
            kernel.forget()
            told.forget()
            start = time.monotonic()
            lab.fault(node, "link-down", rail)
            try:
                heard, line = kernel.wait_for(kernel_has_it_down, "ip monitor: the link is down")
                shown, _ = told.wait_for(lambda line: port_event(line, node, device, False),
                                         f"fabricctl: {node}/{device} is not active")
            finally:
                lab.fault(node, "link-down", rail, mend=True)
            told.wait_for(lambda line: port_event(line, node, device, True),
                          f"fabricctl: {node}/{device} is active")
            yield Round(1000 * (heard - start), 1000 * (shown - start), stamp(line))


def stamp(text):
    """Of the first time in it, in UTC as it is in guests: seconds since 1970."""
    moment = re.search(r"\d+-\d+-\d+T\d+:\d+:\d+\.\d+", text).group()
    return datetime.datetime.fromisoformat(moment).replace(
        tzinfo=datetime.timezone.utc).timestamp()


class Stages(NamedTuple):
    """Milliseconds of a round, one after the other."""
    woke: float       # From the kernel's word to the beginning of the inspection
    inspected: float  # Until its end
    rest: float       # Until fabricctl: agent, network, controller, fabricctl


def stages(rounds, log):
    """Of what an agent at --log-level debug wrote of its inspections."""
    ends = [(stamp(line), float(took)) for line, took in
            re.findall(r"^(.*) inspected (?:after an event|all) in ([0-9.]+) ms$", log, re.M)]
    for measured in rounds:
        for end, took in ends:
            until_end = 1000 * (end - measured.said_at)
            if until_end - took > -1:  # Begun since then, but for what the log rounds off
                yield Stages(until_end - took, took, measured.beyond - until_end)
                break
        else:
            raise LabError("the agent's log has no inspection after an event")
