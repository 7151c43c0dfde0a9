"""The files of the repository, read once, and what a check reports."""

import dataclasses
import functools
import os
import pathlib
import subprocess

DATA = ("tests/fixtures/", "tests/golden/")  # Not written by hand: no check of style.
FOREIGN = ("tests/lab/", "proto/google/")    # C of kernel modules and guests, copied protos.


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    path: str
    line: int
    what: str
    why: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}: {self.why}"


class Tree:
    """All files that git knows or would take; without git, all but build/ and hidden ones."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = sorted(path for path in self._list() if not path.startswith(DATA))

    def _list(self):
        command = ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"]
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
            return [p for p in listed.split("\0") if p and (self.root / p).is_file()]
        except (OSError, subprocess.CalledProcessError):
            return list(self._walk())

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f != "build" and not f.startswith((".", "__"))]
            for name in names:
                yield str((pathlib.Path(folder) / name).relative_to(self.root))

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path):
        return self.text(path).split("\n")

    def exists(self, path):
        return (self.root / path).is_file()

    def cpp(self):
        return [p for p in self.files if p.endswith((".cc", ".h")) and not p.startswith(FOREIGN)]

    @functools.lru_cache(maxsize=None)
    def interpreter(self, path):
        """ "python", "shell" or "": by suffix, else by the first line of an executable text."""
        suffix = pathlib.PurePath(path).suffix
        if suffix in (".py", ".sh"):
            return {".py": "python", ".sh": "shell"}[suffix]
        if suffix:
            return ""
        with open(self.root / path, "rb") as file:
            first = file.readline(80)
        if not first.startswith(b"#!"):
            return ""
        return "python" if b"python" in first else "shell" if b"sh" in first else ""

    def scripts(self, interpreter):
        return [p for p in self.files if self.interpreter(p) == interpreter]

    def written(self):
        """Sources, tests and scripts: what the limits of size are for."""
        foreign_c = [p for p in self.files if p.endswith((".c", ".h")) and p.startswith(FOREIGN)]
        return self.cpp() + self.scripts("python") + self.scripts("shell") + foreign_c
