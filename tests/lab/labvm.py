# SPDX-License-Identifier: Apache-2.0
"""A guest: QEMU's command line, its monitor, its console."""

import base64
import ctypes
import fcntl
import functools
import json
import mmap
import os
import platform
import re
import socket
import subprocess
import time

import labstate
from labdefs import EXEC_PORTS, LAB, METRICS_PORT, MTU, RAILS, LabError, mac
from labpackages import digest

# The kernel's command line. It is quiet, because the serial line is slow under emulation, and turns
# off features that cost time and are not needed in an emulated machine.
KERNEL_ARGS = """console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr no_timer_check
tsc=reliable cryptomgr.notests random.trust_cpu=on audit=0 apparmor=0 nowatchdog
rcupdate.rcu_expedited=1 ipv6.autoconf=0 net.ifnames=0 8250.nr_uarts=1 i8042.nokbd i8042.noaux
ima_appraise=off init_on_alloc=0 initcall_blacklist=crypto_kdf108_init,init_kprobe_trace""".split()
MACHINE = {
    "tcg": ["-M", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,-la57"],
    "kvm": ["-M", "q35", "-accel", "kvm", "-cpu", "host"],
}
TRIAL_LIMIT = 20  # seconds in which a guest must boot with hardware virtualisation


@functools.cache
def time_stamp_khz():
    """The frequency of this machine's time stamp counter, or 0 if it has none. Emulated guests use
    the same counter. A guest that calibrates the counter itself on a busy machine can measure a
    tenth of the frequency; its clock then runs ten times too fast."""
    if platform.machine() != "x86_64":
        return 0
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))  # rdtsc; shl rdx, 32; or rax, rdx; ret
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def both():
        """Counter and time of the fastest of ten readings."""
        readings = ((time.monotonic_ns(), counter(), time.monotonic_ns()) for _ in range(10))
        before, ticks, after = min(readings, key=lambda reading: reading[2] - reading[0])
        return ticks, (before + after) / 2

    (ticks, began), _, (more_ticks, ended) = both(), time.sleep(0.1), both()
    return round((more_ticks - ticks) * 1e6 / (ended - began))


def card(netdev, role, index, slot, more=""):
    """A card at a fixed PCI slot, so that addresses are stable and in the order of the rails."""
    return ["-netdev", netdev, "-device",
            f"virtio-net-pci,netdev={role},mac={mac(role, index)},addr={slot},romfile={more}"]


def command(kernel, image, node, index, memory=448, accel="tcg", agent=None):
    """QEMU's command line. It runs in the lab's directory: socket names stay short."""
    words = KERNEL_ARGS + [f"lab.node={node}", f"lab.index={index}"]
    if accel == "tcg" and time_stamp_khz():
        words.append(f"tsc_early_khz={time_stamp_khz()}")
    if agent:
        words.append("lab.agent=" + base64.b64encode(agent.encode()).decode())
    argv = ["qemu-system-x86_64", "-name", node, "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-smp", "1", "-m", str(memory), *MACHINE[accel],
            "-kernel", str(kernel), "-initrd", str(image), "-append", " ".join(words),
            "-chardev", f"file,id=console,path={node}/console.log", "-serial", "chardev:console",
            "-qmp", f"unix:{node}/monitor.sock,server=on,wait=off"]
    argv += card(f"user,id=eth0,hostfwd=tcp:127.0.0.1:0-:{METRICS_PORT}", "eth0", index, 3)
    for number, rail in enumerate(RAILS):
        argv += card(f"stream,id={rail},server=off,addr.type=unix,addr.path={rail}.{index}.sock",
                     rail, index, 4 + number, f",host_mtu={MTU}")
    argv += ["-device", f"virtio-serial-pci,addr=8,max_ports={EXEC_PORTS + 1}"]
    for port in range(EXEC_PORTS):
        argv += ["-chardev", f"socket,id=x{port},path={node}/exec{port}.sock,server=on,wait=off",
                 "-device", f"virtserialport,chardev=x{port},nr={port + 1},name=lab.{port}"]
    return argv


def connect(folder, name, timeout):
    """Connects to a unix socket in a directory whose path may be longer than sockets allow."""
    there = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(timeout)
        sock.connect(f"/proc/self/fd/{there}/{name}")
        return sock
    except OSError:
        sock.close()
        raise
    finally:
        os.close(there)


def monitor(folder, execute, timeout=10, **arguments):
    """Sends a request to QEMU's monitor of the guest in this directory. Returns the answer."""
    node = folder.name
    with open(folder / "monitor.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with connect(folder, "monitor.sock", timeout) as sock, sock.makefile("rw") as file:
                json.loads(file.readline())
                for request in ({"execute": "qmp_capabilities"},
                                {"execute": execute, "arguments": arguments}):
                    file.write(json.dumps(request) + "\n")
                    file.flush()
                    answer = {}
                    while "return" not in answer and "error" not in answer:
                        answer = json.loads(file.readline())
        except (OSError, ValueError) as error:
            raise LabError(f"the monitor of {node} does not answer: {error}") from None
    if "error" in answer:
        raise LabError(f"the monitor of {node} refused {execute}: {answer['error']['desc']}")
    return answer["return"]


def forwarded_port(folder):
    """The port of 127.0.0.1 that QEMU forwards to the guest's metrics."""
    text = monitor(folder, "human-monitor-command", **{"command-line": "info usernet"})
    found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s", text)
    if not found:
        raise LabError(f"QEMU's user network of {folder.name} forwards no port:\n{text}")
    return int(found.group(1))


def console(folder):
    try:
        data = (folder / "console.log").read_bytes()
    except OSError:
        return ""
    return data.decode("utf-8", "replace").replace("\r", "")


def boot_state(folder):
    """(ready, failure) from the console."""
    text = console(folder)
    failed = re.search(r"^lab: FAILED (.*)$|(Kernel panic.*)$", text, re.M)
    if failed:
        return False, failed.group(1) or failed.group(2)
    return "lab: ready" in text, None


def tail(folder, lines=25):
    text = console(folder).strip().splitlines()
    return "\n".join("  | " + line for line in text[-lines:]) or "  | (the console is empty)"


def choose_accel(kernel, image, steps):
    """"kvm" if FABRIC_LAB_ACCEL is auto and a guest has booted with it, else "tcg"."""
    wanted = os.environ.get("FABRIC_LAB_ACCEL", "tcg")
    if wanted not in ("tcg", "auto"):
        raise LabError(f"FABRIC_LAB_ACCEL: expected tcg or auto, saw '{wanted}'", 2)
    if wanted == "tcg" or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        key = digest(str(kernel), file.read())
    record = LAB / "kvm-trial.json"
    seen = labstate.read_json(record)
    if not seen or seen["key"] != key:
        with steps.step("trial of hardware virtualisation"):
            seen = {"key": key, "boots": trial(kernel, image)}
        labstate.write_json(record, seen)
    steps.say("hardware virtualisation " + ("works" if seen["boots"] else "does not work"))
    return "kvm" if seen["boots"] else "tcg"


def trial(kernel, image):
    """Boots a guest with kvm and without a network. True when it is ready in time."""
    folder = LAB / "kvm-trial" / "n1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "console.log").unlink(missing_ok=True)
    argv = command(kernel, image, "n1", 1, accel="kvm")
    argv = [re.sub(r"^stream,id=(rail\d).*", r"user,id=\1", word) for word in argv]
    with subprocess.Popen(argv, cwd=folder.parent, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + TRIAL_LIMIT
        try:
            while time.monotonic() < deadline and child.poll() is None:
                if boot_state(folder)[0]:
                    return True
                time.sleep(0.1)
            return False
        finally:
            child.kill()
