# SPDX-License-Identifier: Apache-2.0
"""Helpers of the lab's tests."""

import os
import pathlib
import subprocess
import sys
import time

from labdefs import HERE, RUN


def cli(*words, **options):
    env = dict(os.environ)
    env.pop("FABRIC_LAB", None)
    return subprocess.run([sys.executable, str(HERE / "lab"), *words], capture_output=True,
                          text=True, env=env, check=False, timeout=100, **options)


def running(name):
    """Processes whose command line or directory belongs to the lab of that name."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = os.readlink(entry / "cwd") + (entry / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if str(RUN / name) in place:
                found.append(int(entry.name))
    return found


def until(test, what, limit=10, seen=lambda: ""):
    """Waits until test() is true. `seen` describes the state if it never is."""
    deadline = time.monotonic() + limit
    while not test():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what}; {seen()}")
        time.sleep(0.05)
