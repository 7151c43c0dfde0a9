#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each CMake preset configures, and the compiler takes its options: CI builds only one of them."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OBJECT = "tests/fuzz/CMakeFiles/fuzz_jws.dir/jws_fuzz.cc.o"  # Small, without precompiled headers


def presets():
    presets_file = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    return [preset for preset in presets_file["configurePresets"] if not preset.get("hidden")]


class TestPresets(unittest.TestCase):
    def run_well(self, *command):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])

    def test_each_one_compiles(self):
        for preset in presets():
            compiler = preset.get("cacheVariables", {}).get("CMAKE_CXX_COMPILER")
            with self.subTest(preset["name"]), tempfile.TemporaryDirectory() as where:
                if compiler and not shutil.which(compiler):
                    print(f"{preset['name']}: SKIPPED: there is no {compiler}", file=sys.stderr)
                    continue
                self.run_well("cmake", "--preset", preset["name"], "-B", where)
                self.run_well("ninja", "-C", where, OBJECT)


if __name__ == "__main__":
    unittest.main(verbosity=2)
