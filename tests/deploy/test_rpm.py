#!/usr/bin/env python3
"""The RPM packages, built with Debian's rpm from the programs of the build tree.

Not tested here: compilation and installation on a RHEL-like system. Debian has no packages of one.
"""

import subprocess

from deploytest import BIN, DEPLOY, DeployTest, main

SPEC = DEPLOY / "rpm/fabricd.spec"
FILES = {
    "fabricd": {"/usr/bin/fabricd", "/usr/lib/systemd/system/fabricd.service",
                "/etc/fabricd/fabricd.yaml"},
    "fabric-agent": {"/usr/bin/fabric-agent", "/usr/lib/systemd/system/fabric-agent.service",
                     "/etc/fabricd/agent.yaml",
                     "/usr/share/fabricd/systemd/fabric-agent-deep.conf"},
    "fabricctl": {"/usr/bin/fabricctl", "/usr/share/fabricd/slurm/fabric_slurm.py",
                  "/usr/share/bash-completion/completions/fabricctl"},
}


class TestRpm(DeployTest):
    def build(self):
        """Returns {package: file}."""
        for name in FILES:
            self.program(name)
        folder = self.folder()
        done = subprocess.run(
            [self.tool("rpmbuild"), "-bb", SPEC, "--nodeps", "--define", f"_topdir {folder}",
             "--define", f"fabric_build {BIN.resolve().parent}",
             "--define", f"_dbpath {folder}/db"],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        rpms = {path.name.rsplit("-", 2)[0]: path for path in folder.glob("RPMS/*/*.rpm")}
        self.assertEqual(sorted(rpms), sorted(FILES))
        return rpms

    def query(self, *words):
        return self.run_well(self.tool("rpm"), "-qp", *words)

    def test_packages_have_the_files_that_run_the_units(self):
        for name, path in self.build().items():
            listed = set(self.query("-l", path).splitlines())
            self.assertLessEqual(FILES[name], listed, name)
            for other, files in FILES.items():
                if other != name:
                    self.assertFalse(files & listed, f"{name} has files of {other}")
            settings = {line for line in FILES[name] if line.startswith("/etc/")}
            self.assertEqual(set(self.query("-c", path).split()), settings, name)

    def test_the_version_is_that_of_the_program(self):
        rpms = self.build()
        version = self.query("--queryformat", "%{VERSION}", rpms["fabricd"])
        self.assertIn(version, self.run_well(self.program("fabricd"), "--version"))
        self.assertIn("libgrpc++", self.query("--requires", rpms["fabricd"]))

    def test_the_spec_is_valid(self):
        self.run_well(self.tool("rpmspec"), "-P", SPEC)


if __name__ == "__main__":
    main()
