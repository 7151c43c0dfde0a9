#!/usr/bin/env python3
"""Tests of the programs for the hardening flags of release builds (CMakeLists.txt)."""

import platform
import subprocess

from deploytest import DeployTest, main

PROGRAMS = ("fabricd", "fabric-agent", "fabricctl")
X86 = platform.machine() in ("x86_64", "amd64")
SOURCE = """#include <stdio.h>
int main(int argc, char** argv) {
  char text[16];
  sprintf(text, "%d", argc);
  return printf(argv[0], text);
}
"""
WEAK = ("-O2", "-no-pie", "-fno-pie", "-fno-stack-protector", "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=0", "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack", "-w")
STRONG = ("-O2", "-pie", "-fPIE", "-fstack-protector-all", "-D_FORTIFY_SOURCE=2",
          "-Wl,-z,relro,-z,now", "-w")


def read(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_in(path):
    """Names of the protections that a program lacks."""
    path = str(path)
    header, dynamic, segments = (read("readelf", option, path) for option in ("-hW", "-dW", "-lW"))
    symbols = read("readelf", "-W", "--dyn-syms", path)
    flags = " ".join(line for line in dynamic.splitlines() if "(FLAGS" in line)
    stack = next((line for line in segments.splitlines() if "GNU_STACK" in line), "RWE")
    found = {
        "PIE": "Type:" in header and "DYN" in header and "PIE" in flags,
        "RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": "NOW" in flags.replace("BIND_NOW", "NOW").split(),
        "stack that cannot be executed": "RWE" not in stack,
        "stack protector": "__stack_chk_fail" in symbols,
        "FORTIFY": any("_chk@" in line and "__stack_chk" not in line
                       for line in symbols.splitlines()),
    }
    if X86:
        # The linker drops the property of the whole program if a library of the system lacks it:
        # check our own code.
        code = read("objdump", "-d", "--no-show-raw-insn", "--disassemble=main", path)
        entry = [line for line in code.splitlines() if line.startswith(" ")][:1]
        found["CET (endbr64)"] = bool(entry) and "endbr64" in entry[0]
    return {name for name, there in found.items() if not there}


class TestHardening(DeployTest):
    def setUp(self):
        self.tool("readelf")
        self.tool("objdump")

    def build(self, *flags):
        folder = self.folder()
        (folder / "weak.c").write_text(SOURCE)
        self.run_well(self.tool("cc"), *flags, "-o", folder / "program", folder / "weak.c")
        return folder / "program"

    def test_programs(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.assertEqual(missing_in(self.program(name)), set())

    def test_a_program_without_flags_lacks_them(self):
        cet = ("-fcf-protection=none",) if X86 else ()
        lacks = {"PIE", "RELRO", "BIND_NOW", "stack that cannot be executed", "stack protector",
                 "FORTIFY"}
        self.assertEqual(missing_in(self.build(*WEAK, *cet)),
                         lacks | ({"CET (endbr64)"} if X86 else set()))

    def test_each_flag_is_seen(self):
        cet = ("-fcf-protection",) if X86 else ()
        self.assertEqual(missing_in(self.build(*STRONG, *cet)), set())
        for name, flag in (("BIND_NOW", "-Wl,-z,lazy"), ("RELRO", "-Wl,-z,norelro"),
                           ("stack protector", "-fno-stack-protector"),
                           ("FORTIFY", "-D_FORTIFY_SOURCE=0")):
            with self.subTest(flag):
                flags = [one for one in STRONG if not (name == "FORTIFY" and "FORTIFY" in one)]
                self.assertIn(name, missing_in(self.build(*flags, *cet, flag)))


if __name__ == "__main__":
    main()
