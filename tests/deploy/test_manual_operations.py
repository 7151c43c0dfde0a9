#!/usr/bin/env python3
"""The commands of the pages about the operation of fabricd, InfiniBand, Slurm and Kubernetes run
against a real fabricd, a simulated subnet and a real kube-apiserver. Commands that cannot run here
are counted, each with its reason."""

import json
import pathlib
import shutil
import sys
import urllib.request

import kubeserver
import manualcommands
import realhelm
from deploytest import DEPLOY, ROOT, main
from fleet import Fleet
from manualcommands import SYSTEMD, ManualTest, Page, run_by

sys.path.insert(0, str(ROOT / "tests/subnet"))
import ibsimsubnet  # pylint: disable=wrong-import-position
import liveworld  # pylint: disable=wrong-import-position


class TestOperations(ManualTest):
    """docs/OPERATIONS.md, in its order."""

    def setUp(self):
        for tool in ("rsync", "openssl"):
            self.tool(tool)
        self.fleet = self.start(names=("gpu-001", "gpu-002", "gpu-007"))
        # The folders of a machine, below the one of the test
        self.root = self.fleet.folder / "root"
        for path in ("etc/fabricd", "root", "backup", "backup-host", "var/lib/private"):
            (self.root / path).mkdir(parents=True)
        (self.root / "var/lib/private/fabricd").symlink_to(self.fleet.folder)

    def label(self, *words):
        self.run_well(self.program("fabricctl"), "--controller", self.fleet.grpc, "node", "label",
                      *words)

    def copy_certificates(self):
        shutil.copytree(self.root / "root/fabricd-pki/node/gpu-001", self.root / "etc/fabricd/tls")

    def write_snapshots(self):
        self.inspect(self.fleet, "roce-01", "roce-03")
        path = self.fleet.folder / "roce-03.json"
        snapshot = json.loads(path.read_text())
        snapshot["net_interfaces"][0]["mtu_bytes"] = 1500
        path.write_text(json.dumps(snapshot))

    def remove_first_backup(self):
        """Backups have a name with the second."""
        for path in self.fleet.folder.glob("fabricd.db.backup-*"):
            path.unlink()

    def stop(self):
        """Stops fabricd, and fetches the backup from the other host."""
        self.fleet.process.terminate()
        self.fleet.process.wait()
        [copy] = (self.root / "backup-host/fabricd").glob("fabricd.db.backup-*Z")
        for end in ("", ".audit"):
            shutil.copy(f"{copy}{end}",
                        self.root / f"backup/fabricd.db.backup-20261123T180000Z{end}")

    def page(self):
        tree = self.fleet.folder / "tree-gpu-001"
        packages = run_by("tests/deploy/test_packages.py")
        portable = run_by("tests/deploy/test_portable.py")
        high_availability = run_by("tests/running/test_ha.py")
        return Page(
            "OPERATIONS.md",
            replace=[(r"\bsudo ", ""),
                     (r"(?<![\w/])/(?=etc/|root/|backup/|var/lib/)", f"{self.root}/"),
                     (r"\bbackup-host:", f"{self.root}/backup-host/"),
                     (r"(?<![\w/])deploy/(?=systemd/)", f"{DEPLOY}/"),
                     (r"/usr/share/fabricd/systemd", f"{DEPLOY}/systemd"),
                     (r"gpu\[001-016\]", "gpu-[001-002]"),
                     (r"inspect -o json", f"inspect --root {tree} -o json"),
                     (r"sleep 30", "true")],
            not_run={"sudo apt-get": packages, "FABRIC_BUILD=": packages,
                     "deploy/portable/build": portable, "sudo tar": portable, "sudo ln": portable,
                     "cmake --": "builds all programs",
                     "sudo cmake --install": run_by("tests/deploy/test_systemd.py"),
                     "sudo systemd-sysusers": SYSTEMD, "sudo systemctl": SYSTEMD,
                     "sudo chown": "needs the group fabric-tls",
                     "fabricctl join-": run_by("tests/running/test_access_docs.py"),
                     "fabricctl support-bundle": run_by("tests/running/test_secrets.py"),
                     "fabricd --grpc=": high_availability, "fabricd --state=": high_availability},
            before={"fabricctl node label --nodes": lambda: self.label(
                        "--nodes", "gpu-[001-002]", "spare="),
                    "fabricctl certify": lambda: self.label(
                        "--nodes", "gpu-[001-002]", "pool=h100", "rack=r12"),
                    "fabricctl probe run": lambda: self.label("gpu-007", "spare="),
                    "sudo chmod": self.copy_certificates,
                    "fabricctl diff": self.write_snapshots,
                    "fabricctl backup && rsync": self.remove_first_backup,
                    "sudo fabricd --state": self.stop},
            output={"fabricctl node maintenance gpu-007 --for":
                        r"^Node gpu-007 is in maintenance until \S+Z\.$",
                    "fabricctl node maintenance gpu-007 --end": "gpu-007",
                    "fabricctl node label gpu-007 pool": "pool=h100,rack=r12",
                    "fabricctl node label --nodes": "pool=h100",
                    "fabricctl certify": "3 nodes",
                    "fabricctl probe run": "campaign",
                    "fabricctl silence add": "gpu-001",
                    "fabricctl pki show": r"gpu-001.*\n(.*\n)*.*prometheus",
                    "fabricctl nodes": "gpu-007",
                    "fabricctl diff": r"net_interfaces\[ens\w+\]\.mtu_bytes +\d+ +1500",
                    "fabric-agent doctor": "FEATURE +USED FOR +STATE",
                    "fabricctl backup": "Backup on the controller's host: "
                                        r"\S+/fabricd\.db\.backup-\w+, \d+ bytes",
                    "sudo fabricd --state": "restored"})

    def test_operations(self):
        self.run_page(self.page(), self.fleet)
        for folder in (self.fleet.folder, self.root / "backup-host/fabricd-key"):
            self.assertTrue((folder / "signing-key.pem").exists(), folder)
        self.fleet.addresses.unlink()
        again = Fleet(self.fleet.folder, self.program)
        self.addCleanup(again.__exit__)
        labels = {node["name"]: node.get("labels") for node in again.get("/v1/nodes")["nodes"]}
        self.assertEqual(labels["gpu-007"], {"pool": "h100", "rack": "r12", "spare": ""},
                         "it was restored")


class TestInfiniband(ManualTest):
    """docs/INFINIBAND.md, and topology.conf of docs/SLURM.md, with ibsim and opensm."""

    def setUp(self):
        for tool in ("ibsim", "opensm", "ibnetdiscover", "dump_lfts", "sminfo", "dot"):
            self.tool(tool)
        for name in ("fabricd", "fabric-agent", "fabricctl"):
            self.program(name)
        self.at = pathlib.Path(self.folder())
        self.subnet = ibsimsubnet.Subnet(self.at, ibsimsubnet.library_or_skip())
        self.addCleanup(self.subnet.close)

    def environment_of_tools(self):
        """Only the tools get the library of ibsim, which is not for our programs."""
        folder = self.at / "tools"
        folder.mkdir()
        for tool in ("ibnetdiscover", "dump_lfts", "sminfo"):
            script = folder / tool
            script.write_text("#!/bin/sh\n" + "".join(
                f"export {name}='{self.subnet.env[name]}'\n"
                for name in ("LD_PRELOAD", "SIM_HOST", "IBSIM_SOCKNAME"))
                              + f"exec {shutil.which(tool)}\n")
            script.chmod(0o755)
        return folder

    def test_infiniband(self):
        world = liveworld.World(self.at, self.program("fabricd"), self.program("fabric-agent"),
                                self.program("fabricctl"), self.subnet)
        self.addCleanup(world.close)
        world.start_agent("n3")
        world.start_agent("n2")
        liveworld.wait_for("first reading", world.read, log=world.log)
        environment = self.environment(self.at, world.grpc)
        environment["PATH"] = f"{self.environment_of_tools()}:{environment['PATH']}"

        def plan():
            shutil.copy(self.at / "net.txt", self.at / "plan.ndt")

        def golden():
            shutil.copy(self.at / "net.txt", self.at / "golden.txt")

        (self.at / "etc/slurm").mkdir(parents=True)
        settings = self.at / "slurm.yaml"
        settings.write_text(f"bin: {self.program('fabricctl').parent}\n"
                            f"controller: {world.grpc}\n")
        environment["FABRIC_SLURM_SETTINGS"] = str(settings)
        names = [(r"gpu-1 gpu-7", "n1 n4"), (r"\bleaf-3\b", "leaf-2"),
                 (r"/etc/", f"{self.at}/etc/"),
                 (r"-C mlx5_0 -P 1 --rate-interval 60s",
                  f"--ibsim {self.subnet.env['IBSIM_SOCKNAME']} "
                  f"--ibsim-node {ibsimsubnet.HOSTS['n2']} --rate-interval 1s")]
        self.run_in(environment, Page(
            "INFINIBAND.md", replace=names,
            before={"fabricctl subnet check net.txt": plan, "fabricctl subnet diff": golden},
            output={"fabricctl subnet list": r"mlx5_0/1 +n[23] mlx5_0/1",
                    "fabricctl subnet check": "8 nodes, 8 cables",
                    "fabricctl subnet path": "leaf-1",
                    "fabricctl probe run": "campaign c1: ",
                    "fabricctl subnet show": "levels|switches",
                    "fabricctl subnet switches": "spine-1",
                    "fabricctl subnet links": '"links"',
                    "fabricctl subnet routes": "HOPS",
                    "fabricctl subnet diff": "8 cables are the same",
                    "fabricctl subnet plan compare": "8"}))
        for name, begin in (("topology.conf", "SwitchName="), ("tree.json", "{"),
                            ("subnet.svg", "<?xml"), ("subnet.json", '{"schema"')):
            self.assertTrue((self.at / name).read_text().startswith(begin), name)
        self.run_in(environment, Page(
            "SLURM.md", begin="## topology.conf",
            replace=[*names, (r"/usr/share/fabricd/slurm", f"{DEPLOY}/slurm")]))
        self.assertIn("SwitchName=", (self.at / "etc/slurm/topology.conf").read_text())

    def run_in(self, environment, page):
        manualcommands.run(self, page, self.at, environment, self.counts)


class TestSlurm(ManualTest):
    def test_slurm(self):
        fleet = self.start("--remediation=approve", "--remediation-percent=100",
                           names=("gpu-017",))
        root = fleet.folder / "root"
        (root / "etc").mkdir(parents=True)

        def propose():
            request = urllib.request.Request(
                f"http://{fleet.rest}/v1/node-actions", method="POST",
                headers={"Content-Type": "application/json"}, data=json.dumps(
                    {"kind": "NODE_ACTION_KIND_SLURM_DRAIN", "node": "gpu-017",
                     "reason": "port mlx5_1/1 is slow", "author": "fabric-slurm"}).encode())
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.assertEqual(answer.status, 200)

        self.run_page(Page(
            "SLURM.md", end="## topology.conf",
            replace=[(r"\bsudo ", ""), (r"/usr/share/fabricd/slurm", f"{DEPLOY}/slurm"),
                     (r"(?<![\w/])/(?=etc/|var/lib/)", f"{root}/"), (r"-o slurm -g slurm ", "")],
            not_run={"sinfo": run_by("tests/deploy/test_slurm.py")},
            before={"fabricctl remedy list": propose},
            output={"fabricctl remedy list":
                        r"Remediation: approve\. Approved in the last hour: 0 of 4\. "
                        r"Nodes: 0 of 1\.\n\n"
                        r"ID  KIND         NODE     STATE     SINCE                 AUTHOR        "
                        r"REASON\n"
                        r"a1  slurm-drain  gpu-017  proposed  \S+Z  fabric-slurm  "
                        "port mlx5_1/1 is slow",
                    "fabricctl remedy approve": "a1"}),
            fleet)
        self.assertTrue((root / "etc/fabricd/slurm.yaml").exists())
        self.assertTrue((root / "var/lib/fabric-slurm").is_dir())


class TestKubernetes(ManualTest):
    def test_kubernetes(self):
        self.tool("kubectl")
        folder = self.folder()
        environment = self.environment(folder, "127.0.0.1:1")
        not_run = {"FABRIC_BUILD=": run_by("tests/deploy/test_packages.py"),
                   "sudo deploy/images/build": run_by("tests/deploy/test_images.py"),
                   "skopeo": "needs a registry",
                   "helm": "needs helm and a cluster",
                   "kubectl port-forward": "needs a Pod that runs",
                   "kubectl describe node": "needs a node"}
        reason, helm = kubeserver.obstacle(), realhelm.obstacle()
        output = {}
        if reason is None:
            server = kubeserver.KubeServer(self.folder())
            self.addCleanup(server.close)
            output = {"kubectl create namespace": "namespace/fabricd created",
                      "kubectl create secret": "secret/fabric[\\w-]+ created",
                      "kubectl describe node": "Name: +gpu-001"}
            if helm is None:
                self.use_helm(server, folder, environment)
                output["helm"] = "STATUS: deployed"
                del not_run["helm"]
            else:
                not_run["helm"] = helm
            environment["PATH"] = f"{self.kubectl(server)}:{environment['PATH']}"
            server.must("POST", "/api/v1/nodes", {"metadata": {"name": "gpu-001"}})
            del not_run["kubectl describe node"]
        else:
            not_run["kubectl"] = f"needs a kube-apiserver: {reason}"
        pki = folder / "fabricd-pki"

        def controller():
            self.run_well(self.program("fabricctl"), "pki", "issue", "server", "local", "--dir",
                          pki, "--ip", "127.0.0.1")
            files = pki / "server/local"
            fabricd = Fleet(folder, self.program, f"--tls-cert={files}/cert.pem",
                            f"--tls-key={files}/key.pem", f"--tls-ca={files}/ca.pem",
                            f"--join-ca={pki}/ca.pem", f"--join-ca-key={pki}/ca-key.pem")
            self.addCleanup(fabricd.__exit__)
            own = pki / "admin/alice"
            environment.update(FABRICCTL_CONTROLLER=fabricd.grpc,
                               FABRICCTL_TLS_CA=f"{own}/ca.pem",
                               FABRICCTL_TLS_CERT=f"{own}/cert.pem",
                               FABRICCTL_TLS_KEY=f"{own}/key.pem")

        manualcommands.run(self, Page(
            "KUBERNETES.md", not_run=not_run,
            before={"fabricctl join-token create": controller}, output=output),
            folder, environment, self.counts)
        self.assertRegex((folder / "token").read_text(), r"^fabric_join_\S+\n$")

    def use_helm(self, server, folder, environment):
        """Helm for the server, and the chart where the page names it."""
        programs = realhelm.Helm(self.folder(), server).script()
        environment["PATH"] = f"{programs}:{environment['PATH']}"
        (folder / "deploy/helm").mkdir(parents=True)
        realhelm.chart_for_any_server(folder / "deploy/helm/fabricd")

    def kubectl(self, server):
        """A folder with a kubectl of the administrator of the server."""
        folder = self.folder()
        script = folder / "kubectl"
        script.write_text(f"#!/bin/sh\nexec {shutil.which('kubectl')} --server={server.url} "
                          f"--token={kubeserver.ADMIN} --insecure-skip-tls-verify "
                          f"--cache-dir={folder}/cache \"$@\"\n")
        script.chmod(0o755)
        return folder


if __name__ == "__main__":
    main()
