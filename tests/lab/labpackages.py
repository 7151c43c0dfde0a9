# SPDX-License-Identifier: Apache-2.0
"""Debian packages for the guests: downloaded and unpacked under build/lab, never installed."""

import contextlib
import fcntl
import hashlib
import lzma
import pathlib
import re
import shutil
import struct
import subprocess

from labdefs import LAB, LabError

# Programs and their libraries; libraries that are not here come from the host (libc).
PACKAGES = """busybox-static dash iproute2 ethtool perftest ibverbs-utils ibverbs-providers
rdmacm-utils libibverbs1 librdmacm1 libibumad3 libnl-3-200 libnl-route-3-200 libpci3 libmnl0
libelf1 libbpf1 libcap2 libbsd0 libtirpc3 libdb5.3 libselinux1""".split()


def run(argv, what, **options):
    """Runs a build step. Its output is shown only when it fails."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", **options)
    except FileNotFoundError:
        raise LabError(f"{what}: '{argv[0]}' is not installed; "
                       "run deploy/install-dependencies lab") from None
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise LabError(f"{what}: '{argv[0]}' failed with status {done.returncode}\n{tail}")
    return done.stdout


@contextlib.contextmanager
def locked():
    """One build at a time under build/lab."""
    LAB.mkdir(parents=True, exist_ok=True)
    with open(LAB / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """A short name for contents: of bytes, strings and files."""
    total = hashlib.blake2b(digest_size=10)
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else part
        data = data.encode() if isinstance(data, str) else data
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()


def kernel_version():
    """The kernel that the installed linux-headers-amd64 belongs to."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", "linux-headers-amd64"],
                          capture_output=True, text=True, check=False)
    found = re.search(r"linux-headers-(\S+)", done.stdout)
    if not found:
        raise LabError("linux-headers-amd64 is not installed; "
                       "run deploy/install-dependencies lab")
    return found.group(1)


def fetch(version):
    """Returns the directory with the unpacked packages."""
    packages = PACKAGES + [f"linux-image-{version}"]
    root = LAB / f"root-{digest(' '.join(packages))}"
    if root.is_dir():
        return root
    debs = LAB / "debs"
    debs.mkdir(exist_ok=True)
    missing = [p for p in packages if not list(debs.glob(f"{p}_*.deb"))]
    if missing:
        run(["apt-get", "download", *missing], "downloading packages", cwd=debs)
    new = LAB / "root.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for package in packages:
        deb = max(debs.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)
        run(["dpkg", "-x", str(deb), str(new)], "unpacking packages")
    run(["/sbin/depmod", "-b", str(new), version], "reading module dependencies")
    for old in LAB.glob("root-*"):
        shutil.rmtree(old)
    new.rename(root)
    return root


def kernel(root, version):
    """The kernel as an ELF file. QEMU starts it directly (PVH): the guest decompresses nothing."""
    image = root / "boot" / f"vmlinuz-{version}"
    out = root / "boot" / f"vmlinux-{version}"
    if out.exists():
        return out
    data = image.read_bytes()
    if data[0x202:0x206] != b"HdrS":
        raise LabError(f"{image} is not a Linux kernel")
    start = (data[0x1f1] + 1) * 512
    offset, length = struct.unpack_from("<II", data, 0x248)
    payload = data[start + offset:start + offset + length]
    if payload[:6] != b"\xfd7zXZ\0":
        raise LabError(f"{image} is not compressed with xz: {payload[:6].hex()}")
    elf = lzma.LZMADecompressor().decompress(payload)
    temporary = out.with_suffix(".new")
    temporary.write_bytes(elf)
    temporary.rename(out)
    return out


def module_order(root, version, names):
    """Files of the named modules and all they need, each after what it needs."""
    where = root / "lib" / "modules" / version
    needs = {}
    for line in (where / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[pathlib.PurePath(path).name.split(".")[0]] = (path, rest.split())
    builtin = {pathlib.PurePath(line).name.split(".")[0]
               for line in (where / "modules.builtin").read_text().split()}
    order = []

    def add(name):
        if name in builtin:
            return
        if name not in needs:
            raise LabError(f"kernel {version} has no module '{name}'")
        path, rest = needs[name]
        for other in reversed(rest):
            add(pathlib.PurePath(other).name.split(".")[0])
        if where / path not in order:
            order.append(where / path)

    for name in names:
        add(name)
    return order
