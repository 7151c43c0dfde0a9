#!/usr/bin/env python3
"""The container images: built without a daemon from the Debian packages, with their users, programs
and lists of packages. Nothing is pushed."""

import json
import os
import subprocess
import tarfile

import minimalroot
from deploytest import DEPLOY, DeployTest, main
from test_packages import build_packages

USERS = {"fabricd": "65532:65532", "fabric-agent": "0:0"}
VERSION = {"fabricd": "--version", "fabric-agent": "version"}


class TestImages(DeployTest):
    def setUp(self):
        for tool in ("buildah", "mmdebstrap", "dpkg-buildpackage", "dh", "help2man"):
            self.tool(tool)
        for name in (*USERS, "fabricctl"):
            self.program(name)
        reason = minimalroot.obstacle()
        if reason:
            self.skipTest(reason)

    def test_images_run_their_program_as_their_user(self):
        folder = self.folder()
        packages = build_packages(folder / "packages", "0.1.0")
        done = subprocess.run([DEPLOY / "images/build", packages, folder / "out"],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        for name, user in USERS.items():
            with self.subTest(name):
                config, root = self.unpack(folder / f"out/{name}.tar", folder / name)
                self.assertEqual(config["config"]["User"], user)
                self.assertEqual(config["config"]["Entrypoint"], [f"/usr/bin/{name}"])
                uid = int(user.split(":")[0])
                printed = self.run_well("chroot", f"--userspec={uid}:{uid}", root,
                                        f"/usr/bin/{name}", VERSION[name])
                self.assertIn("0.1.0", printed)
                self.check_packages(folder / f"out/{name}.spdx.json", root)

    def unpack(self, archive, folder):
        """Returns the configuration of an OCI archive, and its file system."""
        with tarfile.open(archive) as tar:
            def read(name):
                return json.load(tar.extractfile(name))
            digest = read("index.json")["manifests"][0]["digest"].replace(":", "/")
            manifest = read(f"blobs/{digest}")
            config = read("blobs/" + manifest["config"]["digest"].replace(":", "/"))
            root = folder / "root"
            root.mkdir(parents=True)
            for layer in manifest["layers"]:
                path = folder / "layer"
                with open(path, "wb") as file:
                    file.write(tar.extractfile(
                        "blobs/" + layer["digest"].replace(":", "/")).read())
                subprocess.run(["tar", "-xf", path, "-C", root], check=True)
                path.unlink()
        return config, root

    def check_packages(self, path, root):
        document = json.loads(path.read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        listed = {one["name"]: one["versionInfo"] for one in document["packages"]}
        installed = dict(line.split() for line in self.run_well(
            "dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f",
            "${Package} ${Version}\n").splitlines())
        self.assertEqual(listed, installed)
        self.assertIn("libgrpc++1.51", listed)

    def test_a_missing_package_is_one_line(self):
        folder = self.folder()
        done = subprocess.run([DEPLOY / "images/build", folder, folder / "out"],
                              capture_output=True, text=True, timeout=60, check=False,
                              env=dict(os.environ))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no fabricd_*.deb in", done.stderr)


if __name__ == "__main__":
    main()
