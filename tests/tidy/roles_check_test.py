#!/usr/bin/env python3
"""cmake/CheckRoles.cmake, which the build runs: a method without a role fails it."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTOS = sorted(ROOT.glob("proto/fabric/v1/*.proto"))
ROLE = re.compile(r" *option \(required_role\) = ROLE_\w+;\n")


class RolesCheckTest(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            proto, stamp = pathlib.Path(folder, "x.proto"), pathlib.Path(folder, "stamp")
            proto.write_text(text)
            done = subprocess.run(
                ["cmake", f"-DPROTO={proto}", f"-DSTAMP={stamp}", "-P",
                 ROOT / "cmake/CheckRoles.cmake"],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode == 0, stamp.exists())
            return "" if done.returncode == 0 else " ".join(done.stderr.split())

    def test_each_method_without_its_role_is_named(self):
        services = [path for path in PROTOS if "\nservice " in path.read_text()]
        self.assertGreaterEqual(len(services), 3)
        for path in services:
            text = path.read_text()
            self.assertEqual(self.check(text), "")
            roles = list(ROLE.finditer(text))
            for role in (roles[0], roles[len(roles) // 2], roles[-1]):
                method = re.findall(r"rpc (\w+)", text[:role.start()])[-1]
                self.assertIn(f"rpc {method}: expected option (required_role), saw none",
                              self.check(text[:role.start()] + text[role.end():]))

    def test_a_method_without_a_body(self):
        self.assertIn("rpc Get: expected option (required_role), saw none",
                      self.check("service S {\n  rpc Get(A) returns (B);\n}\n"))

    def test_a_file_without_methods(self):
        self.assertIn("no method found", self.check("message A {}\n"))


if __name__ == "__main__":
    unittest.main()
