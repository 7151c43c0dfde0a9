# SPDX-License-Identifier: Apache-2.0
"""Debian packages for the guests: downloaded and unpacked under build/lab, never installed.

Every tool and library of a guest comes from these packages. apt resolves the dependencies as if no
package were installed, so the result does not depend on this machine's packages.
"""

import contextlib
import fcntl
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess

from labdefs import HERE, LAB, LabError

# Packages of the guests' tools. apt adds the packages that these depend on.
TOOL_PACKAGES = """busybox-static dash iproute2 ethtool perftest ibverbs-utils ibverbs-providers
rdmacm-utils""".split()
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Debian 12 has a merged /usr, but its packages still use both paths.
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
DEPENDENCIES = HERE.parents[1] / "deploy/dependencies.txt"


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
    """Allows one build at a time under build/lab."""
    LAB.mkdir(parents=True, exist_ok=True)
    with open(LAB / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """A short name for the contents of bytes, strings and files."""
    total = hashlib.blake2b(digest_size=10)
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else part
        data = data.encode() if isinstance(data, str) else data
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()


def cached(folder, key, build):
    """Returns build/lab/FOLDER/KEY. Calls build(temporary path) when it does not exist."""
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


def kernel_version():
    """The kernel version of the installed linux-headers-amd64."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Depends}", "linux-headers-amd64"],
                          capture_output=True, text=True, check=False)
    found = re.search(r"linux-headers-(\S+)", done.stdout)
    if not found:
        raise LabError("linux-headers-amd64 is not installed; "
                       "run deploy/install-dependencies lab")
    return found.group(1)


def apt(*words, what="downloading packages"):
    """Runs apt-get without root and without the machine's list of installed packages.

    Uses the machine's package lists. If they fail, because they are absent or out of date, the lab
    downloads its own lists and uses them from then on.
    """
    status, lists, debs = LAB / "apt/status", LAB / "apt/lists", LAB / "debs"
    (debs / "partial").mkdir(parents=True, exist_ok=True)
    status.parent.mkdir(exist_ok=True)
    status.touch()
    command = ["apt-get", "-qq", "-y"]
    for option in (f"Dir::State::status={status}", f"Dir::Cache::archives={debs}",
                   "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "Debug::NoLocking=1",
                   "APT::Install-Recommends=0", "APT::Sandbox::User=root"):
        command += ["-o", option]
    own = ["-o", f"Dir::State::lists={lists}"]
    if not lists.exists():
        try:
            return run([*command, *words], what, cwd=debs)
        except LabError:
            (lists / "partial").mkdir(parents=True)
            run([*command, *own, "update"], "updating package lists")
    return run([*command, *own, *words], what, cwd=debs)


def download(packages):
    """Downloads packages and their dependencies. Returns the files."""
    # apt lists only the packages that are not in the archive folder, so this uses an empty one.
    listed = apt("-o", f"Dir::Cache::archives={LAB}/apt/empty", "install", "--print-uris",
                 *packages)
    files = [LAB / "debs" / name for name in re.findall(r"^'\S+' (\S+\.deb) ", listed, re.M)]
    if not all(file.exists() for file in files):
        apt("install", "--download-only", *packages)
    return files


def unpack(files, folder):
    """Unpacks packages into a folder with merged /usr."""
    for link, target in LINKS.items():
        (folder / target).mkdir(parents=True)
        (folder / link).symlink_to(target)
    for file in files:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)],
                              stdout=subprocess.PIPE) as deb:
            run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(folder)],
                f"unpacking {file.name}", stdin=deb.stdout)


def fetch(packages):
    """Returns a folder with the unpacked packages and their dependencies."""
    def build(new):
        unpack(download(packages), new)

    return cached("roots", digest(*packages), build)


def fetch_kernel(version):
    """Returns a folder with the unpacked kernel: its modules and boot/vmlinux, an ELF file."""
    package = f"linux-image-{version}"

    def build(new):
        apt("download", package)
        unpack(sorted((LAB / "debs").glob(f"{package}_*.deb"), key=os.path.getmtime)[-1:], new)
        run(["/sbin/depmod", "-b", str(new), version], "reading module dependencies")
        (new / "boot/vmlinux").write_bytes(kernel(new / f"boot/vmlinuz-{version}"))

    return cached("kernels", version, build)


def kernel(image):
    """The kernel as an ELF file, which QEMU starts directly (PVH) without decompression."""
    data = image.read_bytes()
    if data[0x202:0x206] != b"HdrS":
        raise LabError(f"{image} is not a Linux kernel")
    start = (data[0x1f1] + 1) * 512
    offset, length = struct.unpack_from("<II", data, 0x248)
    payload = data[start + offset:start + offset + length]
    if payload[:6] != b"\xfd7zXZ\0":
        raise LabError(f"{image} is not compressed with xz: {payload[:6].hex()}")
    return lzma.LZMADecompressor().decompress(payload)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def sonames(files):
    """The shared libraries that ELF files need: {file: [soname]}."""
    needed = {file: [] for file in files if is_elf(file)}
    if not needed:
        return {}
    text = run(["readelf", "-dW", *map(str, needed)], "reading the libraries of programs",
               env=dict(os.environ, LC_ALL="C"))
    # readelf prints the file name only for more than one file.
    for name, part in re.findall(r"^File: (.*)\n((?:(?!File: ).*\n?)*)", text, re.M) \
            or [(str(next(iter(needed))), text)]:
        needed[pathlib.Path(name)] = re.findall(r"\(NEEDED\).*\[(.+)\]", part)
    return needed


def inside(root, path):
    """A file of an unpacked root, or None. Follows symbolic links inside the root."""
    path = root / path
    for _ in range(10):
        if not path.is_symlink():
            return path if path.is_file() else None
        target = os.readlink(path)
        path = root / target.lstrip("/") if target.startswith("/") else path.parent / target
    return None


def libraries(root, programs):
    """All shared libraries of programs: {soname: file in the root}."""
    found, files = {}, list(programs)
    while files:
        new = []
        for file, names in sonames(files).items():
            for name in names:
                if name in found:
                    continue
                library = inside(root, f"{LIBRARIES}/{name}") or inside(root, f"usr/lib/{name}")
                if library is None:
                    raise LabError(f"{file} needs {name}, which no unpacked package has")
                found[name] = library
                new.append(library)
        files = new
    return found


def providers(programs):
    """The Debian packages of the libraries that programs need. These packages are installed on the
    machine that linked the programs."""
    needs = {name: file for file, names in sonames(programs).items() for name in names}
    places = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/lib", "/usr/lib")
    done = subprocess.run(["dpkg-query", "-S", *(f"{p}/{name}" for name in needs for p in places)],
                          capture_output=True, text=True, check=False)
    packages = {pathlib.PurePath(path).name: package for package, path
                in re.findall(r"^([^\s:,]+)[^\s,]*: (/.*)$", done.stdout, re.M)}
    for name, file in needs.items():
        if name not in packages:
            raise LabError(f"{file} needs {name}, which no installed Debian package provides")
    return sorted({packages[name] for name in needs})


def build_libraries():
    """Packages of the shared libraries that the build links. The development packages of
    deploy/dependencies.txt depend on them."""
    packages = [words[1] for words in map(str.split, DEPENDENCIES.read_text().splitlines())
                if words[:1] == ["build"]]
    form = "${Package}\t${Section}\t${Depends}\n"

    def query(names):
        done = subprocess.run(["dpkg-query", "-W", "-f", form, *names], capture_output=True,
                              text=True, check=False)
        return [line.split("\t") for line in done.stdout.splitlines()]

    depends = {word.split()[0].split(":")[0] for _, section, needs in query(packages)
               if section == "libdevel" for word in needs.split(",") if word.strip()}
    return sorted({name for name, section, _ in query(depends) if section == "libs"})


def module_order(root, version, names):
    """Files of the named modules and their dependencies, each after those it depends on."""
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
