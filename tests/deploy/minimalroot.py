"""A minimal Debian 12, made with mmdebstrap in memory and entered by chroot.

The process that makes one gets a mount namespace of its own. The mounts, and the root with them,
end with the process.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import urllib.request

from deploytest import ROOT

BUILD = pathlib.Path(os.environ.get("FABRIC_BUILD_DIR") or ROOT / "build").resolve()
CACHE = BUILD / "minimal-root"  # The packages that apt downloads
MIRROR = "http://deb.debian.org/debian"
WORK = "/var/tmp/fabric"  # FABRIC_BUILD_DIR in the root
SIZE_GIB = 6  # Limit of the file system in memory
CLONE_NEWNS = 0x20000


def obstacle():
    """The reason why this machine cannot make a minimal root, or None."""
    if os.geteuid():
        return "chroot needs root"
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                      capture_output=True, check=False).returncode:
        return "this machine does not allow mounts"
    memory = pathlib.Path("/proc/meminfo").read_text().split("MemAvailable:")[1]
    if int(memory.split()[0]) < SIZE_GIB << 20:
        return f"less than {SIZE_GIB} GiB of memory are available"
    try:
        with urllib.request.urlopen(f"{MIRROR}/dists/bookworm/InRelease", timeout=20):
            return None
    except OSError as error:
        return f"cannot reach {MIRROR}: {error}"


def command(*words, timeout=600, **options):
    """Runs a command that must succeed. Returns its output."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=timeout, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{words}: exit status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


class MinimalRoot:
    """The root. This repository and the given folders are at the same paths in it, read-only."""

    def __init__(self, *folders, include=("ca-certificates", "git")):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "unshare")
        command("mount", "--make-rprivate", "/")
        command("mount", "-t", "tmpfs", "-o", f"size={SIZE_GIB}g", "minimal-root", "/mnt")
        self.path, temporary = pathlib.Path("/mnt/root"), pathlib.Path("/mnt/tmp")
        self.path.mkdir()
        temporary.mkdir()
        command("mmdebstrap", "--variant=apt", f"--include={','.join(include)}", "bookworm",
                self.path, env=dict(os.environ, TMPDIR=str(temporary)))
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.path / "etc" / name)
        self.mount_devices()
        (CACHE / "archives/partial").mkdir(parents=True, exist_ok=True)
        command("mount", "--bind", CACHE / "archives", self.path / "var/cache/apt/archives")
        for folder in (ROOT, *folders):
            self._mount(folder, "--bind")
            command("mount", "-o", "remount,bind,ro", self.place(folder))

    def mount_devices(self):
        self._mount("/sys", "--rbind")
        self._mount("/dev", "--rbind")
        command("mount", "-t", "proc", "proc", self.path / "proc")

    def unmount_devices(self):
        for name in ("sys", "dev", "proc"):
            command("umount", "--recursive", self.path / name)

    def place(self, path):
        """The path outside of the root for a path inside."""
        return self.path / str(path).lstrip("/")

    def _mount(self, path, how):
        self.place(path).mkdir(parents=True, exist_ok=True)
        command("mount", how, path, self.place(path))

    def run(self, *words):
        """Runs a command in the repository that must succeed. Returns its output."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                       "FABRIC_BUILD_DIR": WORK,
                       **{name: value for name, value in os.environ.items()
                          if name.lower().endswith("_proxy")}}
        return command("chroot", self.path, "sh", "-c", 'cd "$0" && exec "$@"', ROOT, *words,
                       env=environment)


def unpack_image(image, folder):
    """Unpacks the concatenated archives of a guest's file system (cpio, "newc")."""
    data, at = image.read_bytes(), 0
    while at < len(data):
        if data[at:at + 6] != b"070701":  # Padding between archives
            at += 4
            continue
        fields = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = data[at + 110:at + 109 + name_size].decode()
        start = at + -(-(110 + name_size) // 4) * 4
        at = start + -(-size // 4) * 4
        content, path = data[start:start + size], folder / name
        if mode >> 12 == 4:
            path.mkdir(parents=True, exist_ok=True)
        elif mode >> 12 == 10:
            path.unlink(missing_ok=True)
            path.symlink_to(content.decode())
        elif mode >> 12 == 8 and name != "TRAILER!!!":
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            path.chmod(mode & 0o7777)
