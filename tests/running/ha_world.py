# SPDX-License-Identifier: Apache-2.0
"""Two fabricd with one PostgreSQL, and real agents, for tests of high availability."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import postgres

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from freeports import free_ports  # pylint: disable=wrong-import-position

PROGRAMS = pathlib.Path("build/release/bin")
TREE = pathlib.Path(__file__).resolve().parent.parent / "fixtures/h100_infiniband.tree"
PATIENCE = 60.0
LEASE = 3.0

# Notes who writes (application_name) and who holds the lease then.
AUDIT = """
CREATE TABLE IF NOT EXISTS fabricd.test_writes (
  id BIGSERIAL PRIMARY KEY, writer TEXT, holder TEXT, epoch BIGINT, what TEXT);
CREATE OR REPLACE FUNCTION fabricd.test_note() RETURNS trigger AS $$ BEGIN
  INSERT INTO fabricd.test_writes (writer, holder, epoch, what)
    SELECT current_setting('application_name'), split_part(address, ' ', 1), epoch, TG_TABLE_NAME
    FROM fabricd.lease;
  RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TABLE IF NOT EXISTS fabricd.test_lease (
  id BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ, taken BOOLEAN, before TIMESTAMPTZ);
CREATE OR REPLACE FUNCTION fabricd.test_lease_note() RETURNS trigger AS $$ BEGIN
  INSERT INTO fabricd.test_lease (at, taken, before)
    VALUES (clock_timestamp(), NEW.epoch <> OLD.epoch, OLD.expires);
  RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER test_lease_note AFTER UPDATE ON fabricd.lease
  FOR EACH ROW EXECUTE FUNCTION fabricd.test_lease_note();
"""
# From the last sign of the leader in the database to the take-over, by the clock of the database.
# Without a note of a renewal, the sign is one lease before the end.
TAKEOVER = f"""
SELECT extract(epoch FROM took.at - coalesce(last.at, took.before - interval '{LEASE} s')),
  took.at > took.before FROM fabricd.test_lease took LEFT JOIN
  LATERAL (SELECT at FROM fabricd.test_lease WHERE id < took.id ORDER BY id DESC LIMIT 1) last
  ON true
  WHERE took.taken ORDER BY took.id DESC LIMIT 1
"""
TAKEOVER_MAX = 5.0
LATE_MAX = 0.5  # A machine that runs a thread later than this is overloaded.
TABLES = ("nodes", "findings", "finding_history", "silences", "campaigns", "pair_results")


def use_programs(folder):
    global PROGRAMS  # pylint: disable=global-statement
    PROGRAMS = pathlib.Path(folder)


def program(name):
    return PROGRAMS / name


class Load:
    """Measures how late the machine runs a thread that waits."""

    STEP = 0.05

    def __init__(self):
        self.late = 0.0  # Seconds, the maximum
        self.ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            began = time.monotonic()
            if self.ended.wait(self.STEP):
                return
            self.late = max(self.late, time.monotonic() - began - self.STEP)


class Controller:
    """A fabricd on ports of its own, with its own way to the database."""

    def __init__(self, folder, name, url):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.log = self.folder / "log"
        grpc, rest, health = free_ports(3)
        self.grpc = f"127.0.0.1:{grpc}"
        self.rest = f"http://127.0.0.1:{rest}"
        self.health = f"http://127.0.0.1:{health}"
        self.arguments = [
            f"--grpc={self.grpc}", f"--rest=127.0.0.1:{rest}", f"--health=127.0.0.1:{health}",
            f"--state={url}", f"--audit-log={self.folder}/audit",
            f"--signing-key={folder}/signing-key.pem", f"--lease={LEASE:.0f}s"]
        self.process = None

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([program("fabricd"), *self.arguments], stdout=out,
                                            stderr=out)

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait(20)

    def end(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait(20)

    def call(self, path, body=None, timeout=10):
        """(status, answer); status 0: no answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.rest + path, data,
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, ValueError):
            return 0, ""

    def warning(self):
        """Why its answers can be out of date; None: it does not answer reads."""
        try:
            with urllib.request.urlopen(self.rest + "/v1/nodes", timeout=3) as answer:
                return answer.headers.get("Fabric-Warning", "")
        except OSError:
            return None

    def leads(self):
        return self.call("/v1/version", timeout=3)[0] == 200


class HaWorld(unittest.TestCase):
    """Controllers a and b, and agents that reach them by `ways`. a leads at the beginning."""

    with_standby = ()  # Tests whose database has a synchronous standby

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="fabric-ha-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.pair = postgres.Pair() if self._testMethodName in self.with_standby else None
        if self.pair:
            self.addCleanup(self.pair.close)
            self.proxy = self.pair.proxy
            url = self.pair.url
        else:
            self.only = postgres.Postgres()
            self.addCleanup(self.only.close)
            self.proxy = postgres.Proxy(self.only)
            self.addCleanup(self.proxy.close)
            url = self.only.url
        key = self.folder / "signing-key.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        key.chmod(0o600)
        self.a = Controller(self.folder, "a", self.database.url(self.proxy.folder,
                                                                application_name="a"))
        self.b = Controller(self.folder, "b", url(application_name="b"))
        self.both = f"{self.a.grpc},{self.b.grpc}"
        self.ways = [postgres.TcpProxy(one.grpc) for one in (self.a, self.b)]
        for one in (self.a, self.b):
            self.addCleanup(one.end)
        for way in self.ways:
            self.addCleanup(way.close)
        self.acknowledged = set()
        self.sent = 0
        self.load = Load()
        self.addCleanup(self.load.ended.set)
        self.a.start()
        self.until(self.a.leads, "a leads")
        self.b.start()
        self.until(lambda: self.b.call("/v1/version")[0] == 503, "b stands by")
        self.database.sql(AUDIT + "".join(
            f"CREATE TRIGGER test_note AFTER INSERT OR UPDATE OR DELETE ON fabricd.{table} "
            "FOR EACH ROW EXECUTE FUNCTION fabricd.test_note();" for table in TABLES))

    @property
    def database(self):
        """The server that accepts writes."""
        return self.pair.primary if self.pair else self.only

    def until(self, condition, what, patience=PATIENCE):
        """Returns the seconds that it took."""
        begin = time.monotonic()
        while not condition():
            logs = "".join(f"--- {one.name}\n{one.log.read_text()[-3000:]}"
                           for one in (self.a, self.b) if one.log.exists())
            self.assertLess(time.monotonic() - begin, patience, f"{what}\n{logs}")
            time.sleep(0.05)
        return time.monotonic() - begin

    def start_agent(self, node):
        root = self.folder / "root"
        if not root.exists():
            subprocess.run([program("unpack"), TREE, root], check=True)
        log = open(self.folder / f"{node}.log", "wb")
        process = subprocess.Popen(
            [program("fabric-agent"), "run", "--root", root, "--node", node, "--controller",
             ",".join(way.address for way in self.ways)], stdout=log, stderr=log)

        def end():
            log.close()
            process.kill()
            process.wait(20)

        self.addCleanup(end)

    def silence(self, controller, timeout=10):
        """Orders a silence. Whether it was acknowledged."""
        self.sent += 1
        reason = f"reason {self.sent}"
        status, _ = controller.call("/v1/silences", {
            "silence": {"rule": "port_active", "author": "ada", "reason": reason},
            "duration_seconds": 3600}, timeout)
        if status == 200:
            self.acknowledged.add(reason)
        return status == 200

    def connected(self, controller, node):
        status, answer = controller.call(f"/v1/nodes/{node}")
        return status == 200 and answer["summary"]["state"] == "NODE_STATE_CONNECTED"

    def check_acknowledged(self, controller):
        status, answer = controller.call("/v1/silences")
        self.assertEqual(status, 200, answer)
        kept = {silence["reason"] for silence in answer.get("silences", [])}
        self.assertEqual(self.acknowledged - kept, set(), "acknowledged and lost")

    def check_one_writer(self):
        """Every write is of the holder of the lease, and an epoch has one writer."""
        address = {"a": self.a.grpc, "b": self.b.grpc}
        rows = self.database.sql(
            "SELECT writer, holder, epoch FROM fabricd.test_writes ORDER BY id")
        writers = {}
        for writer, holder, epoch in rows:
            self.assertEqual(address[writer], holder)
            self.assertEqual(writers.setdefault(epoch, writer), writer)
        epochs = [int(epoch) for _, _, epoch in rows]
        self.assertEqual(epochs, sorted(epochs), "an older leader wrote after a newer one")
        self.assertGreater(len(rows), 0)

    def check_campaign(self, controller, name):
        """It has ended, if early, with the reason, and no pair has two results of one probe."""
        status, now = controller.call(f"/v1/campaigns/{name}?include_results=true")
        self.assertEqual(status, 200, now)
        self.assertNotEqual(now["state"], "CAMPAIGN_STATE_RUNNING")
        pairs = [json.dumps([result[key] for key in ("from", "to", "probe") if key in result])
                 for result in now.get("results", [])]
        self.assertEqual(len(pairs), len(set(pairs)), "a pair was probed twice")
        if now["state"] != "CAMPAIGN_STATE_DONE":
            self.assertNotEqual(now.get("end_reason", ""), "", now)
        return now

    def check_takeover(self, new, seconds):
        self.check_acknowledged(new)
        self.assertTrue(self.silence(new))
        self.check_one_writer()
        [[taken, expired]] = self.database.sql(TAKEOVER)
        print(f"{self.id().rsplit('.', 1)[1]}: lease taken {float(taken):.1f} s after the last "
              f"sign of the leader, led after {seconds:.1f} s", flush=True)
        self.assertEqual(expired, "t", "a lease was taken before its end")
        if self.load.late > LATE_MAX:
            print(f"overloaded (a thread was {self.load.late:.1f} s late): the bound of "
                  f"{TAKEOVER_MAX:.0f} s is not checked", flush=True)
        else:
            self.assertLess(float(taken), TAKEOVER_MAX)
