# SPDX-License-Identifier: Apache-2.0
"""Labs on disk: build/lab/run/NAME holds lab.json, sockets and logs of one lab.

A process is identified by its id and start time, because the system reuses ids.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import time

from labdefs import LAB, RUN, LabError


def start_time(pid):
    """The start time of a process in clock ticks since boot, or None if it does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def identity(pid):
    return {"pid": pid, "start": start_time(pid)}


def alive(process):
    return bool(process) and process["start"] is not None \
        and start_time(process["pid"]) == process["start"]


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path, value):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    new.rename(path)


@contextlib.contextmanager
def locked():
    RUN.mkdir(parents=True, exist_ok=True)
    with open(LAB / "run.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_name(name):
    if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,39}", name):
        raise LabError(f"'{name}' cannot name a lab; expected at most 40 of letters, digits, '_', "
                       "'.', '-'", 2)


def keeper(folder):
    return read_json(folder / "keeper.json") or {}


def is_stale(folder):
    """True when the lab's keeper no longer runs."""
    if alive(keeper(folder).get("keeper")):
        return False
    lab = read_json(folder / "lab.json")
    return not (lab and lab.get("state") == "starting" and alive(lab.get("owner")))


def clean_stale():
    """Removes labs whose keeper is gone (its guests ended with it). Returns their names."""
    removed = []
    with locked():
        for folder in sorted(RUN.iterdir()):
            if folder.is_dir() and is_stale(folder):
                end(folder)
                removed.append(folder.name)
    return removed


def claim(name, record):
    """Reserves a name for a new lab. Returns its directory."""
    check_name(name)
    clean_stale()
    with locked():
        folder = RUN / name
        try:
            folder.mkdir()
        except FileExistsError:
            raise LabError(f"lab '{name}' is already up; take it down first "
                           f"(lab down --name {name}) or choose another --name") from None
        write_json(folder / "lab.json", dict(record, state="starting",
                                             owner=identity(os.getpid())))
    return folder


def labs():
    """All labs that are up: {name: (directory, lab.json)}."""
    clean_stale()
    found = {}
    for folder in sorted(RUN.iterdir()):
        record = read_json(folder / "lab.json") if folder.is_dir() else None
        if record:
            found[folder.name] = (folder, record)
    return found


def find(name=None):
    """The lab of that name, or the only one. Returns (directory, lab.json)."""
    there = labs()
    name = name or os.environ.get("FABRIC_LAB")
    if name is None:
        if len(there) == 1:
            return next(iter(there.values()))
        if there:
            raise LabError(f"several labs are up ({', '.join(there)}); choose one with --name", 2)
        raise LabError("no lab is up; start one with: lab up")
    if name not in there:
        others = f"labs that are up: {', '.join(there)}" if there else "no lab is up"
        raise LabError(f"unknown lab '{name}'; {others}")
    return there[name]


def end(folder, keep=None):
    """Ends all processes of a lab and removes its directory, or moves it to `keep`."""
    known = keeper(folder)
    main = known.get("keeper")
    if alive(main):
        with contextlib.suppress(ProcessLookupError):
            os.kill(main["pid"], signal.SIGTERM)
        deadline = time.monotonic() + 5
        while alive(main) and time.monotonic() < deadline:
            time.sleep(0.02)
    for process in [main, *known.get("children", {}).values()]:
        if alive(process):  # the keeper did not end it
            with contextlib.suppress(ProcessLookupError):
                os.kill(process["pid"], signal.SIGKILL)
    if keep:
        shutil.rmtree(keep, ignore_errors=True)
        keep.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(keep)
    shutil.rmtree(folder, ignore_errors=True)
