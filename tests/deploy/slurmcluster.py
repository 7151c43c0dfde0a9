"""A real slurmctld with 16 slurmd and the shipped programs of deploy/slurm."""

import getpass
import json
import os
import re
import shutil
import subprocess
import sys
import time

from deploytest import DEPLOY, ROOT, DeployTest

sys.path.insert(0, str(ROOT / "tests/testing"))
from freeports import free_ports  # pylint: disable=wrong-import-position

NODES = 16
TOOLS = ("slurmctld", "slurmd", "munged", "scontrol", "sinfo", "sbatch", "squeue")
SLURM_CONF = """ClusterName=t
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerParameters=sched_interval=1,bf_interval=2
ReturnToService=2
MpiDefault=none
{more}
"""
# In place of `fabricctl certify`: the nodes of the file "bad" fail. All others are connected.
CERTIFY = """#!/usr/bin/env python3
import base64, json, os, subprocess, sys
if sys.argv[1] == "nodes":
    json.dump({{"nodes": [{{"name": f"n{{i}}", "ports_active": 2}} for i in range(1, 17)]}},
              sys.stdout)
    sys.exit(0)
if sys.argv[1] != "certify":
    os.execv({fabricctl!r}, sys.argv)
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
names = subprocess.run([{scontrol!r}, "show", "hostnames", given["--nodes"]], text=True,
                       stdout=subprocess.PIPE, check=True).stdout.split()
bad = open({bad!r}).read().split()
nodes = [{{"name": name, "verdict": "VERDICT_FAIL", "reasons": ["port mlx5_1/1 is slow"]}}
         if name in bad else {{"name": name, "verdict": "VERDICT_PASS"}} for name in names]
text = json.dumps({{"id": "cert-1", "nodes": nodes}}).encode()
payload = base64.urlsafe_b64encode(text).decode().rstrip("=")
json.dump({{"payload": payload}}, open(given["--out"], "w"))
sys.exit(1 if set(bad) & set(names) else 0)
"""


class SlurmTest(DeployTest):
    """Starts munged. fleet() starts the others. All end with the test."""

    def setUp(self):
        for tool in TOOLS:
            self.tool(tool)
        if os.geteuid():
            self.skipTest("slurmd runs the jobs of other users only as root")
        self.path = self.folder()
        self.path.chmod(0o755)
        self.env = dict(os.environ, SLURM_CONF=str(self.path / "slurm.conf"),
                        FABRIC_SLURM_SETTINGS=str(self.path / "slurm.yaml"))
        for name in ("state", "spool", "munge", "bin"):
            (self.path / name).mkdir(mode=0o700)
        (self.path / "munge/key").write_bytes(os.urandom(64))
        (self.path / "munge/key").chmod(0o600)
        munge = self.path / "munge"
        self.start("munged", "--force", "--foreground", f"--key-file={munge}/key",
                   f"--socket={munge}/sock", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                   f"--seed-file={munge}/seed")
        self.wait(lambda: (munge / "sock").exists())
        munge.chmod(0o755)

    def start(self, *words):
        process = subprocess.Popen(words, env=self.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)

    def wait(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, self.logs())
            time.sleep(0.2)

    def logs(self):
        return "\n".join(path.read_text(errors="replace")[-3000:]
                         for path in self.path.glob("*.log"))

    def configure(self, more, port=None):
        port = port or free_ports(1)[0]
        (self.path / "slurm.conf").write_text(SLURM_CONF.format(
            port=port, user=getpass.getuser(), folder=self.path, more=more))

    def fleet(self, more=""):
        """Starts 16 slurmd and slurmctld with the shipped programs. more: lines of slurm.conf"""
        own, *ports = free_ports(NODES + 1)
        nodes = "\n".join(f"NodeName=n{i} NodeHostname=localhost NodeAddr=127.0.0.1 "
                          f"Port={port} CPUs=1" for i, port in enumerate(ports, 1))
        prolog = self.path / "prolog"  # slurmctld passes no variables to the program.
        prolog.write_text(f"#!/bin/sh\nexport FABRIC_SLURM_SETTINGS={self.path}/slurm.yaml\n"
                          f"exec {DEPLOY}/slurm/prolog-slurmctld 2>>{self.path}/prolog.log\n")
        prolog.chmod(0o755)
        self.configure(f"PrologSlurmctld={prolog}\n{nodes}\n"
                       f"PartitionName=all Nodes=n[1-{NODES}] Default=YES State=UP\n{more}", own)
        for name in ("sinfo", "scontrol"):
            (self.path / "bin" / name).symlink_to(shutil.which(name))
        (self.path / "bin/fabric-agent").symlink_to(self.program("fabric-agent").resolve())
        self.bad = self.path / "bad"
        certify = self.path / "bin/fabricctl"
        certify.write_text(CERTIFY.format(fabricctl=str(self.program("fabricctl").resolve()),
                                          scontrol=shutil.which("scontrol"), bad=str(self.bad)))
        certify.chmod(0o755)
        self.start("slurmctld", "-D")
        for i in range(1, NODES + 1):
            self.start("slurmd", "-D", "-N", f"n{i}")
        self.wait(lambda: len(self.in_state("idle")) == NODES)

    def settings(self, **more):
        given = {"bin": self.path / "bin", "state-dir": self.path / "fabric",
                 "slurm-conf": self.path / "slurm.conf",
                 "partition-share-percent": 25} | {
                     name.replace("_", "-"): value for name, value in more.items()}
        (self.path / "slurm.yaml").write_text(
            "".join(f"{name}: {value}\n" for name, value in given.items()))

    def slurm(self, *words):
        return self.run_well(*words, env=self.env)

    def in_state(self, state):
        """Without repetition: sinfo has a line for each partition of a node."""
        lines = [line.split("|") for line in
                 self.slurm("sinfo", "-h", "-N", "-o", "%N|%T").splitlines()]
        return list(dict.fromkeys(name for name, seen in lines if seen == state))

    def reason(self, name):
        return self.slurm("sinfo", "-h", "-n", name, "-o", "%E").strip()

    def job(self, nodes, partition="all"):
        """Runs a job on this number of nodes. Returns the nodes on which it ended."""
        made = self.slurm("sbatch", "--parsable", "-N", nodes, "-p", partition, "-o", "/dev/null",
                          "--requeue", "--wrap", "true").strip()
        field = lambda name: re.search(  # noqa: E731
            rf"\b{name}=(\S*)", self.slurm("scontrol", "show", "job", made))[1]
        self.wait(lambda: field("JobState") == "COMPLETED", 120)
        return self.slurm("scontrol", "show", "hostnames", field("NodeList")).split()

    def program_run(self, command, status=0, **environment):
        done = subprocess.run([sys.executable, "-B", DEPLOY / "slurm/fabric_slurm.py", command],
                              env=self.env | environment, text=True, capture_output=True,
                              timeout=100, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def audit(self):
        lines = (self.path / "fabric/audit.jsonl").read_text().splitlines()
        return [(entry["act"], entry["node"]) for entry in map(json.loads, lines)]
