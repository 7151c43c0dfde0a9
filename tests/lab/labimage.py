# SPDX-License-Identifier: Apache-2.0
"""Builds the parts of a lab: kernel modules, small C programs, and the guests' initial file system.

The file system is two concatenated archives: a base (modules, tools, libraries), and a small
overlay with the programs under test. Both are cached by the hash of their inputs.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import labpackages
from labdefs import HERE, LAB, LabError
from labpackages import LIBRARIES, LINKS, cached, digest, run

# Loaded at boot in this order, with their dependencies.
BOOT_MODULES = """virtio_pci virtio_net virtio_console crc32_generic configfs rdma_rxe ib_uverbs
rdma_ucm ib_umad""".split()
# In the image. Faults load them.
OTHER_MODULES = ["sch_netem", "sch_tbf"]

TOOLS = """bin/ip sbin/tc bin/rdma sbin/dcb sbin/ethtool bin/ib_write_lat bin/ib_write_bw
bin/ib_send_lat bin/ib_send_bw bin/ib_read_lat bin/ib_read_bw
bin/ib_atomic_lat bin/ibv_devinfo bin/ibv_devices
bin/ibv_rc_pingpong bin/ibv_ud_pingpong bin/rping bin/ucmatose""".split()
DIRECTORIES = """dev proc sys tmp root run mnt etc etc/lab var var/log usr usr/bin usr/sbin usr/lib
usr/lib64 usr/lib/modules""".split()
ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "group": "root:x:0:\n",
    "nsswitch.conf": "hosts: files\n",
}


class Archive:
    """Writes a reproducible cpio archive ("newc")."""

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


def add_libraries(archive, libraries):
    """Adds {soname: file}. The loader goes to the path that programs name."""
    for name, file in sorted(libraries.items()):
        folder = "usr/lib64" if name.startswith("ld-linux") else LIBRARIES
        archive.file(f"{folder}/{name}", file.read_bytes())


def stripped(program, level="--strip-unneeded"):
    """The contents of a program without debug information."""
    with tempfile.TemporaryDirectory(dir=LAB) as folder:
        out = os.path.join(folder, "stripped")
        done = subprocess.run(["strip", level, "-o", out, str(program)], capture_output=True,
                              check=False)
        return pathlib.Path(out if done.returncode == 0 else program).read_bytes()


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
    """Builds a C file, or the C files of a folder. Returns the program's path."""
    files = sorted(source.glob("*.[ch]")) if source.is_dir() else [source]

    def build(out):
        sources = [str(file) for file in files if file.suffix == ".c"]
        run(["gcc-12", "-O2", "-Wall", "-Wextra", *flags, "-o", str(out), *sources],
            f"building {source.name}")

    return cached("programs", f"{source.stem}-{digest(*files, *flags)}", build)


def add_tools(archive, root):
    busybox = root / "usr/bin/busybox"
    archive.file("usr/bin/busybox", busybox.read_bytes())
    for applet in run([str(busybox), "--list"], "asking busybox").split():
        if applet != "busybox":
            archive.link(f"usr/bin/{applet}", "busybox")
    tools = [root / "usr" / tool for tool in TOOLS]
    rxe = sorted((root / LIBRARIES).glob("libibverbs/librxe*"))
    # dash, because busybox's shell would run its own ip instead of iproute2's.
    dash = root / "usr/bin/dash"
    for tool in tools:
        # guest/dcb runs the real dcb.
        folder = "usr/lib/lab" if tool.name == "dcb" else tool.parent.relative_to(root)
        archive.entries.pop(f"usr/bin/{tool.name}", None)
        archive.file(f"{folder}/{tool.name}", tool.read_bytes())
    archive.file("usr/bin/sh", dash.read_bytes())
    add_libraries(archive, labpackages.libraries(root, [*tools, *rxe, dash]))
    for library in rxe:
        archive.file(f"{LIBRARIES}/libibverbs/{library.name}", library.read_bytes())
    archive.file("etc/libibverbs.d/rxe.driver", b"driver rxe\n", 0o644)


def add_modules(archive, kernel, version, built):
    boot = labpackages.module_order(kernel, version, BOOT_MODULES)
    other = labpackages.module_order(kernel, version, OTHER_MODULES)
    for path in boot + other:
        archive.file(f"usr/lib/modules/{path.name}", path.read_bytes(), 0o644)
    for path in sorted(built.glob("*.ko")):
        archive.file(f"usr/lib/modules/{path.name}", stripped(path, "--strip-debug"), 0o644)
    names = "".join(f"/lib/modules/{path.name}\n" for path in boot)
    archive.file("etc/lab/modules", names.encode(), 0o644)


def base(root, kernel, version):
    """The archive with everything except the programs under test."""
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
        add_modules(archive, kernel, version, built)
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
    """What the guests boot: the base, the given programs, and the programs' libraries."""
    if not programs:
        return base_archive
    names = {}
    for path in programs:
        if not os.access(path, os.X_OK) or path.is_dir():
            raise LabError(f"'{path}' is not a program", 2)
        names[path.name] = path
    packages = labpackages.providers(names.values())

    def build(out):
        archive = Archive()
        for name, path in names.items():
            archive.file(f"usr/bin/{name}", stripped(path))
        if packages:
            root = labpackages.fetch(packages)
            add_libraries(archive, labpackages.libraries(root, names.values()))
        out.write_bytes(base_archive.read_bytes() + archive.bytes())

    parts = [part for name in sorted(names) for part in (name, names[name])]
    return cached("images", digest(base_archive.name, *parts, *packages), build)


def parts():
    """Returns (kernel, base archive, switch). Downloads and builds missing parts."""
    version = labpackages.kernel_version()
    kernel = labpackages.fetch_kernel(version)
    root = labpackages.fetch(labpackages.TOOL_PACKAGES)
    return kernel / "boot/vmlinux", base(root, kernel, version), program(HERE / "switch")


def prepare(steps):
    """Makes everything that does not need the programs under test, and downloads their libraries.
    Missing packages thus show before the programs are built."""
    with labpackages.locked(), steps.step("packages and image"):
        for tool in ("qemu-system-x86_64", "strip", "readelf"):
            if not shutil.which(tool):
                raise LabError(f"'{tool}' is not installed; run deploy/install-dependencies lab")
        parts()
        labpackages.download(labpackages.build_libraries())


def build_all(programs, steps):
    """Returns the paths (kernel, initial file system, switch). Builds missing parts."""
    with labpackages.locked():
        with steps.step("packages"):
            kernel, archive, switch = parts()
        with steps.step("image"):
            image = overlay(archive, [pathlib.Path(p).resolve() for p in programs])
    return kernel, image, switch
