# SPDX-License-Identifier: Apache-2.0
"""Real PostgreSQL servers on Unix sockets in temporary folders, as an unprivileged user: one, or a
pair with synchronous replication. Proxies that cut clients off."""

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
    """One server. With `primary`, a standby of it, which is not started yet."""

    def __init__(self, primary=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="fabric-pg-"))
        if os.getuid() == 0:
            os.chown(self.home, NOBODY, NOBODY)
        self.process = None
        self.log = open(self.home / "log", "wb")
        if primary:
            return
        self.run(programs() / "initdb", "-D", self.home / "data", "-A", "trust", "-U", "fabricd",
                 "--no-sync", "--no-locale", "-E", "UTF8")
        self.start()

    def follow(self, primary):
        """Becomes a standby of the primary, which confirms commits when this one has them."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        self.run(programs() / "pg_basebackup", "-D", self.home / "data", "-h", primary.home, "-U",
                 "fabricd", "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        self.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        primary.until("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1")

    def promote(self):
        """A standby becomes the primary. It has no standby to wait for."""
        self.run(programs() / "pg_ctl", "promote", "--wait", "-D", self.home / "data")
        self.sql("ALTER SYSTEM RESET synchronous_standby_names")
        self.sql("SELECT pg_reload_conf()")

    def until(self, query, value):
        end = time.monotonic() + 60
        while self.sql(query) != [[value]]:
            assert time.monotonic() < end, (query, (self.home / "log").read_text())
            time.sleep(0.05)

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


class Pair:
    """A primary and a synchronous standby. Clients have both addresses (url), or one that leads to
    the primary (proxy)."""

    def __init__(self):
        self.primary = Postgres()
        self.standby = Postgres(self.primary)
        self.standby.follow(self.primary)
        self.proxy = Proxy(self.primary)

    def url(self, **options):
        return self.primary.url(f"{self.primary.home},{self.standby.home}", **options)

    def fail_over(self, pause=0.0):
        """The primary vanishes, and after a while the standby is promoted. Then the old primary
        becomes its standby: only such a one is fenced."""
        self.primary.stop(signal.SIGQUIT)
        time.sleep(pause)
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary
        self.proxy.lead_to(self.primary)

    def restore(self):
        self.standby.follow(self.primary)

    def close(self):
        self.proxy.close()
        self.standby.close()
        self.primary.close()


class Listener:
    """Passes bytes between a socket of its own and a server, unless it is cut."""

    def __init__(self, listener):
        self.open = True
        self.refuse = 0  # So many new connections are closed at once.
        self.pairs = []
        self.listener = listener
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def connect(self):
        """A new connection to the server."""
        raise NotImplementedError

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
            try:
                server = self.connect()
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


class Proxy(Listener):
    """To a PostgreSQL, on a socket in a folder of its own."""

    def __init__(self, server):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fabric-px-"))
        self.target = server
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.folder / ".s.PGSQL.5432"))
        super().__init__(listener)

    def connect(self):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self.target.home / ".s.PGSQL.5432"))
        except OSError:
            server.close()
            raise
        return server

    def lead_to(self, server):
        self.target = server

    def close(self):
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


class TcpProxy(Listener):
    """To HOST:PORT, on a free port of this machine."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        super().__init__(listener)

    def connect(self):
        return socket.create_connection(self.target, timeout=10)
