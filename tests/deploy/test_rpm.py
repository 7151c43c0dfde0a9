#!/usr/bin/env python3
"""The RPM packages, built with Debian's rpm from the programs of the build tree.

Not tested here: compilation and installation on a RHEL-like system. Debian has no packages of one.
"""

import re
import subprocess

from deploytest import BIN, DEPLOY, ROOT, DeployTest, main

SPEC = DEPLOY / "rpm/fabricd.spec"
FILES = {
    "fabricd": {"/usr/bin/fabricd", "/usr/lib/systemd/system/fabricd.service",
                "/etc/fabricd/fabricd.yaml", "/usr/share/man/man8/fabricd.8"},
    "fabric-agent": {"/usr/bin/fabric-agent", "/usr/lib/systemd/system/fabric-agent.service",
                     "/etc/fabricd/agent.yaml", "/usr/share/man/man8/fabric-agent.8",
                     "/usr/share/fabricd/systemd/fabric-agent-deep.conf"},
    "fabricctl": {"/usr/bin/fabricctl", "/usr/share/fabricd/slurm/fabric_slurm.py",
                  "/usr/share/bash-completion/completions/fabricctl",
                  "/usr/share/man/man1/fabricctl.1",
                  "/usr/share/man/man1/fabricctl-probe-run.1"},
}
# Packages with what CMakeLists.txt finds: {name there: (of RHEL-like systems, of Debian)}
FOUND = {
    "Protobuf": ("protobuf-devel", "libprotobuf-dev"), "gRPC": ("grpc-devel", "libgrpc++-dev"),
    "fmt": ("fmt-devel", "libfmt-dev"), "nlohmann_json": ("json-devel", "nlohmann-json3-dev"),
    "spdlog": ("spdlog-devel", "libspdlog-dev"), "yaml-cpp": ("yaml-cpp-devel", "libyaml-cpp-dev"),
    "prometheus-cpp": ("prometheus-cpp-devel", "prometheus-cpp-dev"),
    "SQLite3": ("sqlite-devel", "libsqlite3-dev"), "OpenSSL": ("openssl-devel", "libssl-dev"),
    "ZLIB": ("zlib-devel", "zlib1g-dev"), "PkgConfig": ("pkgconf-pkg-config", "pkg-config"),
    "libibverbs": ("rdma-core-devel", "libibverbs-dev"), "re2": ("re2-devel", "libre2-dev"),
    "libzstd": ("libzstd-devel", "libzstd-dev"), "libpq": ("libpq-devel", "libpq-dev"),
    "libnl-3.0": ("libnl3-devel", "libnl-3-dev"),
    "libnl-route-3.0": ("libnl3-devel", "libnl-route-3-dev"),
    "Boost": ("boost-devel", "libboost1.81-dev"),
    "protoc": ("protobuf-compiler", "protobuf-compiler"),
    "grpc_cpp_plugin": ("grpc-plugins", "protobuf-compiler-grpc"),
}
OF_THE_SYSTEM = {"Threads", "GTest", "benchmark", "Python3"}  # Or of the tests only


class TestRpm(DeployTest):
    def build(self):
        """Returns {package: file}."""
        self.tool("help2man")
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
            # Debian's rpm does not compress man pages.
            listed = {line.removesuffix(".gz") for line in self.query("-l", path).splitlines()}
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

    def test_build_requirements_are_what_cmake_finds(self):
        """Of the spec and of the Debian packages."""
        found = set()
        for path in (ROOT / "CMakeLists.txt", *ROOT.glob("*/CMakeLists.txt"),
                     *ROOT.glob("cmake/*.cmake"), *ROOT.glob("daemon/*/CMakeLists.txt")):
            text = path.read_text()
            found |= set(re.findall(r"find_package\((\S+)", text))
            for listed in re.findall(r"pkg_check_modules\(\S+ REQUIRED IMPORTED_TARGET ([^)]+)",
                                     text):
                found |= set(listed.split())
        self.assertLessEqual(found - OF_THE_SYSTEM, set(FOUND))
        spec = set(re.findall(r"^BuildRequires: +(\S+)", SPEC.read_text(), re.M))
        control = (ROOT / "debian/control").read_text().split("\n\n")[0]
        debian = {line.split()[0].rstrip(",") for line in
                  control.split("Build-Depends:\n")[1].splitlines()}
        self.assertEqual({rpm for rpm, _ in FOUND.values()} - spec, set())
        self.assertEqual({deb for _, deb in FOUND.values()} - debian, set())

    def test_the_spec_is_valid(self):
        self.run_well(self.tool("rpmspec"), "-P", SPEC)


if __name__ == "__main__":
    main()
