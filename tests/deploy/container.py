"""A minimal root (minimalroot.py) that systemd-nspawn boots, with a network of its own."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import minimalroot

BOOT_WITHIN = 60  # Seconds


class CannotBoot(Exception):
    """systemd-nspawn does not run on this machine. The text gives the reason."""


class Container:
    """Use it in `with`: it boots, and it is killed at the end unless poweroff() was called."""

    def __init__(self, root):
        if shutil.which("systemd-nspawn") is None:
            raise CannotBoot("systemd-nspawn is not installed")
        self.root = root
        self.environment = []  # NAME=VALUE, of run() and await_output()
        self.process = self.inside = None

    def __enter__(self):
        (self.root.path / "etc/machine-id").write_text("")
        self.root.unmount_devices()  # systemd-nspawn brings its own.
        console = tempfile.TemporaryFile(mode="w+", errors="replace")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-D", self.root.path, "--private-network", "--register=no",
             "--keep-unit", "-b", "--console=pipe", "--quiet"], stdin=subprocess.DEVNULL,
            stdout=console, stderr=subprocess.STDOUT)
        try:
            leader = self._leader()
            if leader is None:
                console.seek(0)
                raise CannotBoot(f"systemd-nspawn cannot run here: {console.read().strip()[-300:]}")
            self.inside = ("nsenter", "-t", leader, "-a")
            self.await_output(("systemctl", "is-system-running"), "running|degraded")
        except BaseException:
            self.__exit__()
            raise
        finally:
            console.close()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.root.mount_devices()

    @staticmethod
    def _is_first(process):
        """Whether it is the first process of a PID namespace, and not a helper that starts it."""
        try:
            status = pathlib.Path(f"/proc/{process}/status").read_text()
        except OSError:
            return False
        numbers = re.search(r"^NSpid:(.*)$", status, re.M)[1].split()
        return len(numbers) > 1 and numbers[-1] == "1"

    def _leader(self):
        """The first process of the container, or None if it ended."""
        deadline = time.monotonic() + BOOT_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True,
                                      text=True, check=False).stdout.split()
            if first := next(filter(self._is_first, children), None):
                return first
            time.sleep(0.1)
        return None

    def poweroff(self):
        subprocess.run([*self.inside, "systemctl", "poweroff"], check=False, timeout=60)
        return self.process.wait(BOOT_WITHIN)

    def _words(self, words):
        return [*self.inside, "env", *self.environment, *map(str, words)]

    def run(self, *words):
        """Runs a command that must succeed. Returns its output."""
        try:
            return minimalroot.command(*self._words(words), timeout=120)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.journal()}") from None

    def await_output(self, words, pattern, seconds=BOOT_WITHIN):
        """Repeats a command until its output matches. Returns the match."""
        deadline = time.monotonic() + seconds
        seen = ""
        while time.monotonic() < deadline:
            done = subprocess.run(self._words(words), capture_output=True, text=True, timeout=60,
                                  check=False)
            seen = done.stdout + done.stderr
            if found := re.search(pattern, done.stdout):
                return found
            time.sleep(0.2)
        raise AssertionError(f"{' '.join(map(str, words))}: expected {pattern!r}, saw {seen!r}\n"
                             f"{self.journal()}")

    def journal(self):
        return subprocess.run([*self.inside, "journalctl", "-n", "40", "--no-pager"],
                              capture_output=True, text=True, check=False).stdout

    def place(self, path):
        """The path outside of the container."""
        return pathlib.Path(self.root.place(path))
