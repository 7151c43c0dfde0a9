# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server on a Unix socket in a temporary folder, as an unprivileged user, and a
proxy that cuts one client off."""

import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

NOBODY = 65534


def programs():
    """The folder of the newest version's programs; None: not installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


def drop():
    """PostgreSQL refuses to run as root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


class Postgres:
    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="fabric-pg-"))
        if os.getuid() == 0:
            os.chown(self.home, NOBODY, NOBODY)
        self.process = None
        self.log = open(self.home / "log", "wb")
        self.run(programs() / "initdb", "-D", self.home / "data", "-A", "trust", "-U", "fabricd",
                 "--no-sync", "--no-locale", "-E", "UTF8")
        self.start()

    def run(self, *words):
        subprocess.run([str(word) for word in words], stdout=self.log, stderr=self.log,
                       preexec_fn=drop, check=True, timeout=120)

    def url(self, folder=None, **options):
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://fabricd@/postgres?host={folder or self.home}{more}"

    def start(self):
        self.process = subprocess.Popen(
            [programs() / "postgres", "-D", self.home / "data", "-c", "listen_addresses=", "-c",
             f"unix_socket_directories={self.home}", "-c", "shared_buffers=16MB", "-c",
             "max_connections=40"], stdout=self.log, stderr=self.log, preexec_fn=drop)
        end = time.monotonic() + 60
        while subprocess.run([programs() / "pg_isready", "-q", "-h", self.home],
                             check=False).returncode != 0:
            assert time.monotonic() < end, (self.home / "log").read_text()
            time.sleep(0.05)

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(30)
        self.process = None

    def sql(self, statement):
        """Rows of columns."""
        done = subprocess.run(
            [programs() / "psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
             "-d", self.url(), "-c", statement], capture_output=True, text=True, timeout=60,
            check=False)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def close(self):
        if self.process:
            self.stop(signal.SIGQUIT)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


class Proxy:
    """Passes bytes between a socket in a folder of its own and the server, unless it is cut."""

    def __init__(self, server):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fabric-px-"))
        self.target = str(server.home / ".s.PGSQL.5432")
        self.open = True
        self.refuse = 0  # So many new connections are closed at once.
        self.pairs = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / ".s.PGSQL.5432"))
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.refuse > 0:
                self.refuse -= 1
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client, server):
        try:
            while True:
                ready, _, _ = select.select([client, server], [], [], 0.1)
                for end in ready if self.open else []:
                    data = end.recv(65536)
                    if not data:
                        return
                    (server if end is client else client).sendall(data)
                if not self.open:
                    time.sleep(0.05)
        except (OSError, ValueError):
            pass
        finally:
            client.close()
            server.close()

    def cut(self):
        """As a network that drops packets: nothing is refused, nothing arrives."""
        self.open = False

    def mend(self):
        self.open = True

    def close(self):
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                end.close()
        shutil.rmtree(self.folder, ignore_errors=True)
