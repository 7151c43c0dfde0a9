#!/usr/bin/env python3
"""The manual: the site builds without a broken link, and the commands of its task pages run against
a real fabricd with agents on captured machines."""

import os
import re
import shutil
import subprocess
import urllib.request

from deploytest import DEPLOY, ROOT, DeployTest, main
from fleet import Fleet

# Findings, or a certificate that is not PASS
STATUSES = (0, 1, 6)


class TestManual(DeployTest):
    tools = ""  # Folder of more programs

    def site(self):
        """Builds the manual. Returns its folder."""
        if subprocess.run(["/usr/bin/python3", "-c", "import markdown"], check=False,
                          capture_output=True).returncode:
            self.skipTest("python3-markdown is not installed; run deploy/install-dependencies test")
        out = self.folder()
        self.run_well("/usr/bin/python3", "-B", DEPLOY / "manual/build.py", out)
        return out

    def test_fabricd_serves_the_site(self):
        out = self.site()
        with Fleet(self.folder(), self.program, f"--manual={out}") as fleet:
            self.assertIn("First hour", fleet.text("/docs"))  # Redirected
            for page in out.rglob("*"):
                if page.is_file():
                    path = f"/docs/{page.relative_to(out)}"
                    with urllib.request.urlopen(f"http://{fleet.rest}{path}") as answer:
                        self.assertEqual(answer.read(), page.read_bytes(), path)
                        self.assertIn("default-src 'none'",
                                      answer.headers["Content-Security-Policy"], path)

    def test_the_site_has_no_broken_link_and_no_script(self):
        out = self.site()
        pages = list(out.rglob("*.html"))
        self.assertGreater(len(pages), 60)
        for page in pages:
            text = page.read_text()
            self.assertNotIn("<script", text, page.name)
            self.assertIn("default-src &#x27;none&#x27;; style-src &#x27;self&#x27;", text)
        self.assertIn("First hour", (out / "index.html").read_text())

    def test_the_index_lists_each_heading_with_a_link_that_works(self):
        out = self.site()
        text = (out / "index-of-headings.html").read_text()
        links = re.findall(r'<li><a href="([^"]+\.html)#([^"]+)">', text)
        self.assertGreater(len(links), 500)
        pages = {}
        for page, identifier in links:
            body = pages.setdefault(page, (out / page).read_text())
            self.assertIn(f'id="{identifier}"', body, page)
        for words in ("mtu_equal_on_rail", "FabricFindingOpen", "fabricctl status"):
            self.assertRegex(text, f">[^<]*{words}[^<]*</a>")
        self.assertIn('href="../index-of-headings.html"',
                      (out / "runbooks/FabricFindingOpen.html").read_text())

    def test_the_site_has_the_readme_and_the_changelog(self):
        out = self.site()
        self.assertIn('<a href="OPERATIONS.html#opentelemetry">', (out / "README.html").read_text())
        self.assertIn('<a href="README.html#status">', (out / "CHANGELOG.html").read_text())
        self.assertIn('href="../../CHANGELOG.html"',
                      (out / "runbooks/rules/lossless.html").read_text())

    def test_one_page_has_the_whole_manual_for_operators(self):
        out = self.site()
        text = (out / "whole-manual.html").read_text()
        for page in sorted(out.rglob("*.html")):
            name = page.relative_to(out).as_posix()
            title = re.search(r"<h1[^>]*>(.*?)</h1>", page.read_text(), re.S)[1]
            if f'<h1><a href="{name}">{title}</a></h1>' not in text:
                self.assertRegex(
                    name, r"^(index|index-of-headings|whole-manual|design/.*|ARCHITECTURE|ADDING"
                          r"|STYLE)(\.html)?$")
        for attribute in re.findall(r'(?:href|src)="([^"]+)"', text):
            target, _, fragment = attribute.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            self.assertTrue((out / target).is_file(), attribute)
            if fragment:
                self.assertIn(f'id="{fragment}"', (out / target).read_text(), attribute)

    def blocks(self, page):
        """The code blocks of a page, as one script."""
        text = (ROOT / "docs" / page).read_text()
        return [line[4:] for line in re.findall(r"^ {4}.*$", text, re.M)]

    def run_page(self, page, change, omit=()):
        """omit: beginnings of lines that are not run."""
        with Fleet(self.folder(), self.program) as fleet:
            for name in ("n1", "n2"):
                fleet.add(name, "roce_connectx6dx")
            fleet.wait(lambda: len(fleet.get("/v1/nodes")["nodes"]) == 2, "two nodes")
            fleet.break_node("n2", "roce_connectx6dx")
            fleet.wait(lambda: fleet.get("/v1/findings")["findings"], "a finding")
            environment = dict(os.environ, USER="ada", HOME=str(fleet.folder),
                               FABRICCTL_CONTROLLER=fleet.grpc,
                               PATH=f"{self.program('fabricctl').parent}:{self.tools}:"
                                    f"{os.environ['PATH']}")
            script = ""
            for line in self.blocks(page):
                if line.startswith(tuple(omit)):
                    continue
                script += change(line, fleet) + "\n"
                done = subprocess.run(["bash", "-c", "set -o pipefail\n" + script], text=True,
                                      capture_output=True, timeout=120, check=False,
                                      env=environment)
                self.assertIn(done.returncode, STATUSES, f"{line}\n{done.stdout}\n{done.stderr}")
                self.assertNotIn("expected", done.stderr, line)
                if not re.match(r"[A-Z]+=", line):
                    script = script[:-len(change(line, fleet)) - 1]  # Keep only assignments.

    def test_commands_of_the_first_hour(self):
        self.run_page("FIRST_HOUR.md", lambda line, fleet: line)

    def test_examples_of_the_api(self):
        for tool in ("curl", "jq"):
            self.tool(tool)
        self.run_page("API_EXAMPLES.md", self.of_fleet, omit=["GRPC=", "grpcurl "])

    def test_examples_of_grpc(self):
        if not shutil.which("grpcurl"):
            self.use_own_grpcurl()
        lines = self.blocks("API_EXAMPLES.md")
        self.assertGreater(sum(line.startswith("grpcurl ") for line in lines), 5)
        others = {line for line in lines if not re.match("GRPC=|grpcurl ", line)}
        self.run_page("API_EXAMPLES.md", self.of_fleet, omit=others)

    def use_own_grpcurl(self):
        """grpcurl is not part of Debian. web/tests/grpcurl.mjs can do what the examples need."""
        node = self.tool("node")
        if not (ROOT / "web/node_modules").is_dir():
            self.skipTest("no packages of npm: run deploy/install-dependencies npm")
        path = self.folder() / "grpcurl"
        path.write_text(f'#!/bin/sh\nexec {node} {ROOT}/web/tests/grpcurl.mjs "$@"\n')
        path.chmod(0o755)
        self.tools = str(path.parent)

    @staticmethod
    def of_fleet(line, fleet):
        return (line.replace("http://127.0.0.1:9419", f"http://{fleet.rest}")
                .replace("GRPC=127.0.0.1:9418", f"GRPC={fleet.grpc}"))


if __name__ == "__main__":
    main()
