#!/usr/bin/env python3
"""The Slurm programs with certificates of a real fabricd, a real slurmctld and 16 slurmd.

The agents are on captured machines, or their RDMA devices are memory
(tests/running/memory_agents.cc).
"""

import json
import pathlib
import re
import subprocess

from deploytest import main
from fleet import Fleet
from slurmcluster import SlurmTest


class TestCertificates(SlurmTest):
    def real_fabricctl(self):
        (self.path / "bin/fabricctl").unlink()
        (self.path / "bin/fabricctl").symlink_to(self.program("fabricctl").resolve())

    def test_a_node_that_a_real_certificate_fails_is_drained(self):
        """fabricd signs it; with another key nothing is drained."""
        self.fleet()
        self.real_fabricctl()
        with Fleet(self.folder(), self.program) as fleet:
            for name in ("n1", "n2"):
                fleet.add(name, "roce_connectx6dx")
            # The rules compare the nodes: n2 has an error that n1 does not have.
            fleet.break_node("n2", "roce_connectx6dx")
            fleet.wait(lambda: any(
                finding["severity"] in ("SEVERITY_ERROR", "SEVERITY_CRITICAL")
                and finding["subject"].get("node") == "n2"
                for finding in fleet.get("/v1/findings")["findings"]), "a finding of n2")
            key, other = self.path / "key.pem", self.path / "other.pem"
            key.write_text(fleet.text("/certificate-key.pem"))
            self.run_well("openssl", "genpkey", "-algorithm", "ed25519", "-out", self.path / "x")
            self.run_well("openssl", "pkey", "-in", self.path / "x", "-pubout", "-out", other)
            more = {"act": "yes", "controller": fleet.grpc, "certify_within": "10s"}
            job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}
            self.settings(certificate_key=other, **more)
            self.assertIn("expected exit status 1, saw 5", self.program_run("prolog", **job))
            self.assertEqual(self.in_state("drained"), [])
            self.settings(certificate_key=key, **more)
            self.program_run("prolog", status=1, **job)
            self.assertIn("n2", self.in_state("drained"))
            evidence = pathlib.Path(re.search(r"\[(.*)\]", self.reason("n2"))[1])
            done = subprocess.run([self.program("fabricctl"), "certify", "verify", evidence,
                                   "--key", key, "--nodes", "n1,n2"], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)

    def memory_agents(self, fleet, *broken):
        """Agents of n1 to n4. Returns the process, which ends with its standard input."""
        # Both ends of a probe poll: on a busy machine they would not run for seconds.
        # pylint: disable=consider-using-with
        process = subprocess.Popen(["nice", "-n", "-15", self.program("memory_agents"), fleet.grpc,
                                    "4", *broken], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.stdin.close)
        fleet.wait(lambda: sum(node["state"] == "NODE_STATE_CONNECTED"
                               for node in fleet.get("/v1/nodes")["nodes"]) == 4, "four nodes")
        return process

    def test_a_node_is_drained_and_resumed_by_real_certificates(self):
        """Requests towards n1 fail, then they do not. A job goes to other nodes meanwhile. fabricd
        does not know n5 to n16."""
        self.fleet("PartitionName=known Nodes=n[1-4] State=UP")
        self.real_fabricctl()
        with Fleet(self.folder(), self.program, "--boot-grace=0s",
                   "--pairs-at-once-max=1") as fleet:
            broken = self.memory_agents(fleet, "n1")
            key = self.path / "key.pem"
            key.write_text(fleet.text("/certificate-key.pem"))
            self.settings(act="yes", controller=fleet.grpc, certify_within="60s",
                          certificate_key=key, partition_share_percent=50)
            # UNKNOWN is possible on a busy machine: the job runs on the nodes that it got first.
            self.wait(lambda: self.job(3, "known") == ["n2", "n3", "n4"], 150)
            self.assertEqual(self.in_state("drained"), ["n1"], self.logs())
            self.assertRegex(self.reason("n1"), "^fabricd: n1 loses all packets")
            self.assertIn("not resumed n1: VERDICT_FAIL", self.program_run("resume"))
            for name in ("n2", "n3", "n4"):
                self.slurm("scontrol", "update", f"nodename={name}", "state=drain", "reason=fan")
            self.assertIn("not resumed n1: no idle node of its partitions is connected to fabricd",
                          self.program_run("resume"))
            self.slurm("scontrol", "update", "nodename=n[2-4]", "state=resume")
            broken.stdin.close()
            broken.wait(30)
            self.memory_agents(fleet)
            # UNKNOWN resumes nothing.
            self.wait(lambda: self.program_run("resume") and not self.in_state("drained"), 150)
            self.assertEqual(self.audit(), [("drain", "n1"), ("resume", "n1")])
            self.check_evidence(key)

    def check_evidence(self, key):
        """The certificate of the last act is signed. It passes n1, whatever its partners."""
        evidence = [json.loads(line)["evidence"] for line in
                    (self.path / "fabric/audit.jsonl").read_text().splitlines()][-1]
        done = subprocess.run([self.program("fabricctl"), "certify", "verify", evidence, "--key",
                               key, "-o", "json"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertIn(done.returncode, (0, 6), done.stderr + done.stdout)
        nodes = {node["name"]: node["verdict"] for node in json.loads(done.stdout)["nodes"]}
        self.assertEqual((len(nodes), nodes["n1"]), (3, "VERDICT_PASS"))


if __name__ == "__main__":
    main()
