#!/usr/bin/env python3
"""The compilation of the Debian packages: debian/rules needs only what debian/control names, its
options give debug information, and a compilation in another folder gives the same bytes.

One source file is compiled: all of them need 20 minutes on two cores."""

import json
import os
import re
import shlex
import shutil
import subprocess

from deploytest import ROOT, DeployTest, main

FOLDERS = ("agents", "base", "cmake", "ctl", "daemon", "debian", "deploy", "nccl", "proto",
           "subnet", "web")
FILES = ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md")
SOURCE = "base/utf8.cc"


class TestPackageBuild(DeployTest):
    def setUp(self):
        for tool in ("dh", "dpkg-buildflags", "cmake", "ninja", "readelf"):
            self.tool(tool)

    def configured(self, name):
        """A copy of the sources, as debian/rules configures it."""
        source = self.folder() / name
        source.mkdir()
        for folder in FOLDERS:
            shutil.copytree(ROOT / folder, source / folder,
                            ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        for file in FILES:
            shutil.copy(ROOT / file, source)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("CXXFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS")}
        self.run_well("debian/rules", "override_dh_auto_configure", cwd=source, timeout=400,
                      env=environment | {"SOURCE_DATE_EPOCH": "1767225600"})
        return source

    def compiled(self, source):
        """The object file of SOURCE, with the options of the other files of its folder."""
        build = source / "build/package"
        [command, *_] = [one["command"] for one in
                         json.loads((build / "compile_commands.json").read_text())
                         if "/fabric_base.dir/" in one["file"]]
        words = shlex.split(command)
        del words[words.index("-c"):]
        if words[0].endswith("ccache_launcher.sh"):
            del words[:3]
        words[words.index("-o") + 1] = "object.o"
        subprocess.run([*words, "-c", source / SOURCE], cwd=build, check=True, timeout=300,
                       env=dict(os.environ, CCACHE_DISABLE="1"))
        return build / "object.o"

    def test_debug_information_and_the_same_bytes_in_another_folder(self):
        first, second = map(self.configured, ("one", "another-name"))
        cache = (first / "build/package/CMakeCache.txt").read_text()
        self.assertIn("\nFABRIC_TESTS:BOOL=OFF\n", cache)
        self.assertFalse(re.search(r"^(GTest|benchmark)_DIR:", cache, re.M),
                         "packages of the tests are not in Build-Depends")
        one, other = map(self.compiled, (first, second))
        sections = self.run_well("readelf", "-SW", one)
        for section in (".debug_info", ".debug_line"):
            self.assertIn(f" {section} ", sections)
        self.assertEqual(one.read_bytes(), other.read_bytes())
        self.assertNotIn(str(first.parent).encode(), one.read_bytes())


if __name__ == "__main__":
    main()
