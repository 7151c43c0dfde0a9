# SPDX-License-Identifier: Apache-2.0
"""Measures the time from the guest kernel's report of a link that is down to the event of
`fabricctl events --watch`. Both are observed on this machine and with its clock: the kernel's
report by `ip monitor link` in the guest, whose output arrives over a virtio port.
"""

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
    kernel: float       # until the guest's kernel reported it
    fabricctl: float    # until fabricctl reported it
    reported_at: float  # time of the kernel's report, guest's clock, seconds since 1970

    @property
    def beyond(self):
        return self.fabricctl - self.kernel


class Lines:
    """Lines with the time at which each was received."""

    def __init__(self):
        self.queue = queue.Queue()
        self.rest = b""

    def add(self, data):
        now = time.monotonic()
        *whole, self.rest = (self.rest + data).split(b"\n")
        for line in whole:
            self.queue.put((now, line.decode("utf-8", "replace")))

    def wait_for(self, test, what):
        """Waits for a line that passes the test. Returns its time and the line."""
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
def kernel_lines(lab, node):
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
def fabricctl_lines(fabricctl, controller):
    """Lines of `fabricctl events --watch -o json`. controller: a quickstart.Controller."""
    lines = Lines()
    watch = subprocess.Popen([fabricctl, "--controller", controller.grpc, "events", "--watch", "-o",
                              "json"], stdout=subprocess.PIPE, env=controller.environment)

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
    """Pulls and reconnects the cable of a rail `rounds` times. Yields a Round for each."""
    device = rail.replace("rail", "rxe")

    def kernel_has_it_down(line):
        return f" {rail}: " in line and "NO-CARRIER" in line

    with kernel_lines(lab, node) as kernel, fabricctl_lines(fabricctl, controller) as watch:
        time.sleep(1)  # fabricctl has subscribed.
        for _ in range(rounds):
            time.sleep(random.uniform(0.2, 1.2))  # Avoids periodic effects
            kernel.forget()
            watch.forget()
            start = time.monotonic()
            lab.fault(node, "link-down", rail)
            try:
                reported, line = kernel.wait_for(kernel_has_it_down, "ip monitor: the link is down")
                shown, _ = watch.wait_for(lambda line: port_event(line, node, device, False),
                                         f"fabricctl: {node}/{device} is not active")
            finally:
                lab.fault(node, "link-down", rail, repair=True)
            watch.wait_for(lambda line: port_event(line, node, device, True),
                          f"fabricctl: {node}/{device} is active")
            yield Round(1000 * (reported - start), 1000 * (shown - start), stamp(line))


def stamp(text):
    """The first time in a text, which guests print in UTC, in seconds since 1970."""
    moment = re.search(r"\d+-\d+-\d+T\d+:\d+:\d+\.\d+", text).group()
    return datetime.datetime.fromisoformat(moment).replace(
        tzinfo=datetime.timezone.utc).timestamp()


class Stages(NamedTuple):
    """The consecutive parts of a round, in milliseconds."""
    woke: float       # From the kernel's report to the start of the inspection
    inspected: float  # Duration of the inspection
    rest: float       # From there to fabricctl: agent, network, controller, fabricctl


def stages(rounds, log):
    """Yields the Stages of each round, from an agent's log at --log-level debug."""
    ends = [(stamp(line), float(took)) for line, took in
            re.findall(r"^(.*) inspected (?:after an event|all) in ([0-9.]+) ms$", log, re.M)]
    for measured in rounds:
        for end, took in ends:
            until_end = 1000 * (end - measured.reported_at)
            if until_end - took > -1:  # Started after the report; the log rounds times
                yield Stages(until_end - took, took, measured.beyond - until_end)
                break
        else:
            raise LabError("the agent's log has no inspection after an event")
