# SPDX-License-Identifier: Apache-2.0
"""Builds what a lab runs: kernel modules, small C programs, and the guests' initial file system.

The file system is two archives one after the other: a base (modules, tools, libraries), and a small
overlay with the programs under test. Both are kept by the hash of what they are made of.
"""

import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import tempfile

import labpackages
from labdefs import HERE, LAB, LabError
from labpackages import digest, run

# Loaded at boot, in this order, with what they need.
BOOT_MODULES = """virtio_pci virtio_net virtio_console crc32_generic configfs rdma_rxe ib_uverbs
rdma_ucm ib_umad""".split()
# In the image, loaded by faults.
OTHER_MODULES = ["sch_netem", "sch_tbf"]

TOOLS = """usr/bin/ip usr/sbin/tc usr/bin/rdma usr/sbin/dcb sbin/ip sbin/tc bin/ip bin/rdma sbin/dcb
usr/sbin/ethtool sbin/ethtool usr/bin/ib_write_lat usr/bin/ib_write_bw usr/bin/ib_send_lat
usr/bin/ib_send_bw usr/bin/ib_read_lat usr/bin/ib_read_bw usr/bin/ibv_devinfo usr/bin/ibv_devices
usr/bin/ibv_rc_pingpong usr/bin/ibv_ud_pingpong usr/bin/rping usr/bin/ucmatose""".split()
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
DIRECTORIES = """dev proc sys tmp root run mnt etc etc/lab var var/log usr usr/bin usr/sbin usr/lib
usr/lib64 usr/lib/modules""".split()
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "nsswitch.conf": "hosts: files\n",
}


class Archive:
    """Writes a cpio archive ("newc") that depends on nothing but its contents."""

    def __init__(self):
        self.entries = {}

    def directory(self, path):
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            if str(parent) != ".":
                self.entries.setdefault(str(parent), (stat.S_IFDIR | 0o755, b"", 0, 0))
        self.entries.setdefault(path, (stat.S_IFDIR | 0o755, b"", 0, 0))

    def file(self, path, data, mode=0o755):
        self.directory(str(pathlib.PurePosixPath(path).parent))
        self.entries[path] = (stat.S_IFREG | mode, data, 0, 0)

    def link(self, path, target):
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode(), 0, 0)

    def device(self, path, major, minor):
        self.entries[path] = (stat.S_IFCHR | 0o600, b"", major, minor)

    def bytes(self):
        parts = []
        items = sorted(self.entries.items()) + [("TRAILER!!!", (0, b"", 0, 0))]
        for number, (path, (mode, data, major, minor)) in enumerate(items, 1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name), 0)
            head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
            parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]
        total = sum(map(len, parts))
        return b"".join(parts) + bytes(-total % 512)


def needed_libraries(program, first=None):
    """Paths of the shared libraries of a program; those under `first` are preferred."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    env = dict(os.environ, LC_ALL="C")
    if first:
        env["LD_LIBRARY_PATH"] = str(first)
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, env=env,
                          check=False)
    missing = re.findall(r"(\S+) => not found", done.stdout)
    if missing:
        raise LabError(f"{program} needs {', '.join(missing)}, which this machine does not have")
    return [pathlib.Path(p) for p in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.M)]


def place(library):
    """Where a library goes in the guest: the loader where programs name it, others in one place."""
    if library.name.startswith("ld-linux"):
        return f"usr/lib64/{library.name}"
    return f"{LIBRARIES}/{library.name}"


def stripped(program, level="--strip-unneeded"):
    """The contents of a program without what only a debugger reads."""
    with tempfile.TemporaryDirectory(dir=LAB) as folder:
        out = os.path.join(folder, "stripped")
        done = subprocess.run(["strip", level, "-o", out, str(program)], capture_output=True,
                              check=False)
        return pathlib.Path(out if done.returncode == 0 else program).read_bytes()


def cached(folder, key, build):
    """Returns folder/key, made by build(temporary path) when it is not there yet."""
    done = LAB / folder / key
    if not done.exists():
        done.parent.mkdir(parents=True, exist_ok=True)
        new = done.with_name("new-" + key)
        shutil.rmtree(new, ignore_errors=True)
        build(new)
        new.rename(done)
        prune(done.parent, keep=done)
    os.utime(done)
    return done


def prune(folder, keep, count=6):
    """Removes the least recently used results."""
    old = sorted((p for p in folder.iterdir() if p != keep), key=lambda p: p.stat().st_mtime)
    for path in old[:-count]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def modules(version):
    """Builds tests/lab/modules against the kernel headers. Returns the directory of the .ko."""
    sources = sorted((HERE / "modules").iterdir())

    def build(out):
        out.mkdir()
        for source in sources:
            shutil.copy(source, out)
        run(["make", "-s", "-C", f"/usr/src/linux-headers-{version}", f"M={out}", "CC=gcc-12",
             "modules"], "building kernel modules")

    named = [part for path in sources for part in (path.name, path)]
    return cached("modules", digest(version, *named), build)


def program(source, *flags):
    """Builds a C file, or the C files of a folder. Returns the program."""
    files = sorted(source.glob("*.[ch]")) if source.is_dir() else [source]

    def build(out):
        sources = [str(file) for file in files if file.suffix == ".c"]
        run(["gcc-12", "-O2", "-Wall", "-Wextra", *flags, "-o", str(out), *sources],
            f"building {source.name}")

    return cached("programs", f"{source.stem}-{digest(*files, *flags)}", build)


def add_tools(archive, root):
    busybox = root / "bin" / "busybox"
    archive.file("usr/bin/busybox", busybox.read_bytes())
    for applet in run([str(busybox), "--list"], "asking busybox").split():
        if applet != "busybox":
            archive.link(f"usr/bin/{applet}", "busybox")
    libraries, first = set(), root / LIBRARIES
    tools = [root / tool for tool in TOOLS if (root / tool).is_file()]
    rxe = sorted(first.glob("libibverbs/librxe*"))
    for tool in tools + rxe:
        libraries.update(needed_libraries(tool, f"{first}:{root}/lib/x86_64-linux-gnu"))
        if tool not in rxe:
            folder = "usr/sbin" if "sbin" in tool.parts else "usr/bin"
            folder = "usr/lib/lab" if tool.name == "dcb" else folder  # behind guest/dcb
            archive.entries.pop(f"usr/bin/{tool.name}", None)
            archive.file(f"{folder}/{tool.name}", tool.read_bytes())
    for library in sorted(libraries):
        archive.file(place(library), library.read_bytes())
    for library in rxe:
        archive.file(f"{LIBRARIES}/libibverbs/{library.name}", library.read_bytes())
    archive.file("etc/libibverbs.d/rxe.driver", b"driver rxe\n", 0o644)


def add_modules(archive, root, version, built):
    boot = labpackages.module_order(root, version, BOOT_MODULES)
    other = labpackages.module_order(root, version, OTHER_MODULES)
    for path in boot + other:
        archive.file(f"usr/lib/modules/{path.name}", path.read_bytes(), 0o644)
    for path in sorted(built.glob("*.ko")):
        archive.file(f"usr/lib/modules/{path.name}", stripped(path, "--strip-debug"), 0o644)
    names = "".join(f"/lib/modules/{path.name}\n" for path in boot)
    archive.file("etc/lab/modules", names.encode(), 0o644)


def base(root, version):
    """The archive with everything but the programs under test."""
    built = modules(version)
    labd = program(HERE / "guest" / "labd.c", "-static", "-s")
    scripts = [HERE / "guest" / name for name in ("init", "dcb", "agent-loop", "healthy")]

    def build(out):
        archive = Archive()
        for path in DIRECTORIES:
            archive.directory(path)
        for path, target in LINKS.items():
            archive.link(path, target)
        archive.device("dev/console", 5, 1)
        archive.device("dev/null", 1, 3)
        for name, text in ETC.items():
            archive.file(f"etc/{name}", text.encode(), 0o644)
        add_tools(archive, root)
        add_modules(archive, root, version, built)
        # dash, because busybox's shell runs its own ip in place of the real one
        archive.file("usr/bin/sh", (root / "bin/dash").read_bytes())
        archive.file("usr/sbin/labd", labd.read_bytes())
        archive.file("init", scripts[0].read_bytes())
        archive.file("usr/sbin/dcb", scripts[1].read_bytes())
        for script in scripts[2:]:
            archive.file(f"etc/lab/{script.name}", script.read_bytes())
        out.write_bytes(archive.bytes())

    key = digest(root.name, version, built.name, labd.name, *scripts, pathlib.Path(__file__),
                 pathlib.Path(labpackages.__file__))
    return cached("base", key, build)


def overlay(base_archive, programs):
    """The base with the given programs and their libraries behind it: what the guests boot."""
    if not programs:
        return base_archive
    names = {}
    for path in programs:
        if not os.access(path, os.X_OK) or path.is_dir():
            raise LabError(f"'{path}' is not a program", 2)
        names[path.name] = path
    libraries = sorted({lib for path in names.values() for lib in needed_libraries(path)})

    def build(out):
        archive = Archive()
        for name, path in names.items():
            archive.file(f"usr/bin/{name}", stripped(path))
        for library in libraries:
            archive.file(place(library), library.read_bytes())
        out.write_bytes(base_archive.read_bytes() + archive.bytes())

    parts = [part for name in sorted(names) for part in (name, names[name])]
    return cached("images", digest(base_archive.name, *parts, *libraries), build)


def build_all(programs, steps):
    """Returns the paths (kernel, initial file system, switch), building what is missing."""
    with labpackages.locked():
        version = labpackages.kernel_version()
        with steps.step("packages"):
            root = labpackages.fetch(version)
            vmlinux = labpackages.kernel(root, version)
        with steps.step("image"):
            switch = program(HERE / "switch")
            image = overlay(base(root, version), [pathlib.Path(p).resolve() for p in programs])
    return vmlinux, image, switch
