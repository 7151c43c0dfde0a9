"""Prometheus's node_exporter from Debian's package. It is unpacked below build/ and not installed,
because the installed service would listen on every interface."""

import contextlib
import fcntl
import re
import shutil
import subprocess
import time
import urllib.request

from deploytest import ROOT

PACKAGE = "prometheus-node-exporter"
PLACE = ROOT / "build/node_exporter"
START_LIMIT = 30  # seconds


class Unavailable(Exception):
    """node_exporter is not available. The text gives the reason."""


def program():
    """The path of the installed program, or of the unpacked package."""
    if found := shutil.which(PACKAGE):
        return found
    fetched = PLACE / "root/usr/bin" / PACKAGE
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not fetched.exists():
            _fetch()
    return fetched


def _fetch():
    for command in (["apt-get", "download", "-q", PACKAGE], None):
        if command is None:
            package = str(max(PLACE.glob(f"{PACKAGE}_*.deb")))
            command = ["dpkg", "-x", package, str(PLACE / "root")]
        try:
            done = subprocess.run(command, cwd=PLACE, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise Unavailable(f"{error.filename} is not installed") from error
        if done.returncode:
            raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")


@contextlib.contextmanager
def started(folder, sysfs):
    """Starts node_exporter's infiniband collector on `sysfs`. Yields HOST:PORT and the PID."""
    log = folder / "node_exporter.log"
    with open(log, "wb") as out, subprocess.Popen(
            [program(), "--collector.disable-defaults", "--collector.infiniband",
             "--web.disable-exporter-metrics", f"--path.sysfs={sysfs}",
             "--web.listen-address=127.0.0.1:0"], stdout=out, stderr=out) as process:
        try:
            yield _address(process, log), process.pid
        finally:
            process.terminate()


def _address(process, log):
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        if bound := re.search(r'msg="Listening on" address=(\S+)', log.read_text()):
            return bound[1]
        time.sleep(0.02)
    raise Unavailable(f"node_exporter did not start: {log.read_text()[-500:]}")


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        return answer.read().decode()
