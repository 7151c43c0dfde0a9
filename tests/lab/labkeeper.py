# SPDX-License-Identifier: Apache-2.0
"""The keeper of a lab: the parent process of its switch and its guests.

    python3 labkeeper.py DIRECTORY

It starts the commands of DIRECTORY/plan.json and writes DIRECTORY/keeper.json. Its standard input
is a pipe from the process that started the lab. The keeper ends its children and itself when the
pipe closes before the line "stay", on SIGTERM, and when all guests have ended. If it is killed, the
kernel ends its children (PR_SET_PDEATHSIG). No process is left in any case.
"""

import ctypes
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

from labstate import identity, read_json, write_json

PR_SET_PDEATHSIG = 1


class Keeper:
    def __init__(self, folder):
        self.folder = folder
        self.plan = read_json(folder / "plan.json")
        self.children = {}
        self.prctl = ctypes.CDLL(None).prctl
        self.pid = os.getpid()

    def log(self, text):
        with open(self.folder / "keeper.log", "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%H:%M:%S')} {text}\n")

    def tie(self):
        """Runs in the child and makes it end with the keeper."""
        self.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.pid:
            os._exit(1)

    def start(self, name, argv, **options):
        with open(self.folder / "keeper.log", "ab") as log:
            child = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.DEVNULL, stderr=log,
                                     preexec_fn=self.tie, **options)
        self.children[name] = child
        return child

    def start_all(self):
        switch = self.start("switch", self.plan["switch"], stdout=subprocess.PIPE)
        if switch.stdout.readline() != b"ready\n":
            raise OSError("the switch did not start")
        for name, argv in self.plan["nodes"].items():
            self.start(name, argv, stdout=subprocess.DEVNULL)
        write_json(self.folder / "keeper.json", {
            "keeper": identity(self.pid),
            "children": {name: identity(c.pid) for name, c in self.children.items()}})

    def reap(self):
        """Returns False when no guest runs."""
        for name, child in list(self.children.items()):
            if child.poll() is not None:
                self.log(f"{name} has ended with status {child.returncode}")
                del self.children[name]
        return "switch" in self.children and len(self.children) > 1

    def watch(self, wake):
        watched, stay, text = [0, wake], False, b""
        while self.reap():
            ready, _, _ = select.select(watched, [], [])
            if wake in ready:
                if signal.SIGTERM in os.read(wake, 100):
                    return
            if 0 in ready:
                data = os.read(0, 100)
                text += data
                stay = stay or b"stay\n" in text
                if not data and not stay:
                    self.log("the process that started this lab has ended")
                    return
                if not data:
                    watched.remove(0)

    def stop(self):
        for child in self.children.values():
            child.kill()
        for child in self.children.values():
            child.wait()


def main():
    keeper = Keeper(pathlib.Path(sys.argv[1]))
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        keeper.start_all()
        keeper.watch(read_end)
    except OSError as error:
        keeper.log(f"failed: {error}")
        sys.exit(1)
    finally:
        keeper.stop()


if __name__ == "__main__":
    main()
