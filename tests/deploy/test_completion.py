#!/usr/bin/env python3
"""Tests of the completion scripts in real shells."""

import os
import shlex
import shutil
import unittest

from deploytest import DeployTest, main


class TestShells(DeployTest):
    """Asks each shell for the completions of a line, with names from a configuration file."""

    def setUp(self):
        self.bin = self.program("fabricctl").parent
        folder = self.folder()
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}",
                            "HOME": str(folder), "FABRICCTL_CONFIG": str(folder / "config.yaml")}
        for name in ("prod-a", "prod-b"):
            self.run_well("fabricctl", "config", "set-context", name, "--controller", "127.0.0.1:1",
                          env=self.environment)

    def in_bash(self, *words):
        """The completions that bash offers for the last word."""
        line = " ".join(shlex.quote(word) for word in ("fabricctl", *words))
        script = (f"source <(fabricctl completion bash); COMP_WORDS=({line}); "
                  "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                  "complete -p fabricctl >/dev/null || exit 9; "
                  "_fabricctl; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return self.run_well("bash", "--norc", "-c", script, env=self.environment).split()

    def test_bash(self):
        self.assertEqual(self.in_bash("findi"), ["findings", "finding"])
        self.assertEqual(self.in_bash("config", "use-context", "prod"), ["prod-a", "prod-b"])
        self.assertEqual(self.in_bash("nodes", "--output", "=", "js"), ["json", "jsonl"])
        self.assertEqual(self.in_bash("node", "x"), [], "no controller: no names, no error")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is optional")
    def test_zsh(self):
        """zsh parses the script, and its function offers what fabricctl prints."""
        script = ("compdef() { :; }; compadd() { print -l -- ${(P)2}; }; "
                  "source <(fabricctl completion zsh); words=(fabricctl findi); CURRENT=2; "
                  "_fabricctl")
        printed = self.run_well("zsh", "-f", "-c", script, env=self.environment)
        self.assertEqual(printed.split(), ["findings", "finding"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is optional")
    def test_zsh_from_fpath(self):
        """As packages install it: autoloaded at the first completion."""
        folder = self.folder()
        (folder / "_fabricctl").write_text(self.run_well("fabricctl", "completion", "zsh",
                                                         env=self.environment))
        script = (f"fpath=({folder} $fpath); autoload -U _fabricctl; compdef() {{ exit 9; }}; "
                  "compadd() { print -l -- ${(P)2}; }; words=(fabricctl findi); CURRENT=2; "
                  "_fabricctl; _fabricctl")
        printed = self.run_well("zsh", "-f", "-c", script, env=self.environment)
        self.assertEqual(printed.split(), ["findings", "finding"] * 2)

    @unittest.skipUnless(shutil.which("fish"), "fish is optional")
    def test_fish(self):
        printed = self.run_well("fish", "--no-config", "-c",
                                "fabricctl completion fish | source; complete -C 'fabricctl findi'",
                                env=self.environment)
        self.assertEqual(sorted(printed.split()), ["finding", "findings"])


if __name__ == "__main__":
    main()
