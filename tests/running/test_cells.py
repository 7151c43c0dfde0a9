#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten cells, each with its own fabricd, and fabricctl with all of their contexts: one cell is down,
one has another CA, one refuses the caller, and two have nodes of the same name.

test_cells.py BIN  where fabric-agent, fabricd and fabricctl are
"""

import json
import re
import shutil
import sys
import unittest

import tls_world
from tls_world import TlsWorld

CELLS = [f"cell{number}" for number in range(10)]
DOWN, OTHER_CA, REFUSES = "cell3", "cell5", "cell7"
WITH_NODES = {"cell0": "n1", "cell1": "n1", "cell2": "n2"}


class CellsTest(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()
        self.issue("node", "n2")
        self.run_ctl("pki", "init", "--dir", self.folder / "other")
        self.config = self.folder / "config.yaml"
        self.addresses, self.logs, self.ends = {}, {}, {}
        for cell in CELLS:
            self.start_cell(cell)
        for cell, node in WITH_NODES.items():
            self.start("fabric-agent", "run", "--controller", self.addresses[cell], "--node",
                       node, *self.files(f"node/{node}"))
            self.until_logged(self.logs[cell], f"node {node} connected")
        self.ends[DOWN]()

    def start_cell(self, cell):
        folder = self.folder / cell
        folder.mkdir()
        domain = ["--trust-domain=elsewhere"] if cell == REFUSES else []
        self.logs[cell] = self.start(
            "fabricd", "--grpc=127.0.0.1:0", "--rest=127.0.0.1:0", "--health=127.0.0.1:0",
            f"--state={folder}/state.db", f"--addresses-file={folder}/addresses",
            *self.files("server/fabricd"), *domain)
        self.ends[cell] = self.started["fabricd"]
        self.until((folder / "addresses").exists, f"{cell} listens")
        self.addresses[cell] = json.loads((folder / "addresses").read_text())["grpc"]
        alice = self.pki / "admin/alice"
        ca = (self.folder / "other" if cell == OTHER_CA else self.pki) / "ca.pem"
        self.run_ctl("config", "set-context", cell, "--config", self.config, "--controller",
                     self.addresses[cell], "--tls-ca", ca, "--tls-cert", alice / "cert.pem",
                     "--tls-key", alice / "key.pem")

    def all(self, *words):
        return self.run_ctl(*words, "--config", self.config, "--context", "all", good=False)

    def test_each_cell_has_its_answer_or_its_error(self):
        done = self.all("nodes", "-o", "json")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")
        cells = {one["context"]: one for one in json.loads(done.stdout)["contexts"]}
        self.assertEqual(list(cells), CELLS)
        for cell, one in cells.items():
            bad = cell in (DOWN, OTHER_CA, REFUSES)
            self.assertEqual("error" in one, bad, one)
            self.assertEqual("answer" in one, not bad, one)
            self.assertEqual(one["exit_status"] != 0, bad, one)
            if not bad:
                names = [node["name"] for node in one["answer"].get("nodes", [])]
                self.assertEqual(names, [WITH_NODES[cell]] if cell in WITH_NODES else [])
        self.assertIn(f"{self.addresses[DOWN]}: connection refused", cells[DOWN]["error"])
        self.assertRegex(cells[OTHER_CA]["error"], r"certificate|CA")
        self.assertNotIn("connection refused", cells[OTHER_CA]["error"])
        self.assertIn("has no role", cells[REFUSES]["error"])

    def test_tables_have_the_name_of_the_context_and_errors_too(self):
        done = self.all("nodes")
        self.assertNotEqual(done.returncode, 0)
        parts = dict(re.findall(r"^Context (\S+)\n((?:(?!Context ).*\n)*)", done.stdout, re.M))
        self.assertEqual(list(parts), CELLS)
        for cell, node in WITH_NODES.items():
            self.assertIn(node, parts[cell])
        errors = done.stderr.splitlines()
        self.assertIn("cell4: No nodes; no agent has reported yet.", errors)
        for cell in (DOWN, OTHER_CA, REFUSES):
            self.assertEqual(parts[cell], "")
            self.assertEqual(sum(line.startswith(f"fabricctl: {cell}: ") for line in errors), 1,
                             done.stderr)

    def test_a_name_of_a_node_is_looked_for_in_each_cell(self):
        done = self.all("node", "n1", "-o", "json")
        cells = {one["context"]: one for one in json.loads(done.stdout)["contexts"]}
        self.assertEqual([cell for cell, one in cells.items() if "answer" in one],
                         [cell for cell, node in WITH_NODES.items() if node == "n1"])
        self.assertIn("n1", cells["cell2"]["error"])


if __name__ == "__main__":
    if not shutil.which("openssl"):
        print("SKIPPED: openssl is not installed")
        sys.exit(77)
    if len(sys.argv) > 1:
        tls_world.use_programs(sys.argv.pop(1))
    unittest.main()
