#!/usr/bin/env python3
"""The commands of the reference pages and runbooks of the manual run against a real fabricd with
agents on captured machines. Commands that cannot run here are counted, each with its reason."""

import re
import shutil

import manualcommands
from deploytest import ROOT, DeployTest, main
from manualcommands import FIXTURE, SYSTEMD, Counts, ManualTest, Page, run_by

RUNS_ON = "runs until it is stopped"
WRONG_PROFILE = """name: site
inherits: roce-pfc-dcqcn
title: "Site"
expect:
  trust:  dcsp
  data_dscp:  64
overrides:
  - where: {rail: [0]}
    expect: {mtu_bytes: 4096}
"""


class TestManualCommands(ManualTest):
    def start(self, *settings, names=("n1", "n2")):
        """A fleet with a healthy node n1, and n2 with ports that are down."""
        fleet = super().start(*settings, names=names)
        fleet.break_node("n2", FIXTURE)
        self.finding = fleet.wait(self.first_finding(fleet), "a finding about n2")
        self.await_state(fleet, "n2", "CONNECTED")
        return fleet

    @staticmethod
    def first_finding(fleet):
        def first():
            found = fleet.get("/v1/findings?node=n2&rule=port_active")["findings"]
            return found and found[0]["id"]

        return first

    def lose(self, fleet, node):
        fleet.kill(node)
        self.await_state(fleet, node, "LOST")

    def with_tools(self):
        for tool in ("curl", "jq", "openssl"):
            self.tool(tool)

    def test_findings(self):
        self.with_tools()
        fleet = self.start()

        def come_and_go():
            fleet.add("n1", FIXTURE)
            self.await_state(fleet, "n1", "CONNECTED")
            self.lose(fleet, "n1")


        def newest_silence(_):
            return fleet.get("/v1/silences")["silences"][-1]["id"]

        self.run_page(Page(
            "FINDINGS.md",
            replace=[(r"\b05c3\b", self.finding), (r"127\.0\.0\.1:9419", fleet.rest),
                     (r"\bs1(?=:delete)", newest_silence)],
            before={"fabricctl validate": lambda: self.lose(fleet, "n1"),
                    "curl -s -X DELETE": come_and_go},
            output={"fabricctl finding ack": "is acknowledged by ada",
                    "fabricctl silence add": "Silence s1 of node n2 is active until",
                    "fabricctl silence end": "Silence s1 of node n2 has ended",
                    "fabricctl validate": "1 of 2 nodes judged; n1 lost since",
                    "fabricctl node remove": "Node n1 is removed",
                    "curl -s http://127.0.0.1:9419/v1/findings/": '"rule"',
                    "curl -s -X POST": '"until"', "curl -s -X DELETE": "NODE_STATE_REMOVED"}),
            fleet)

    def test_profiles(self):
        fleet = self.start()
        self.inspect(fleet, "n1", "n2", "n3", "n4", "roce-01", "roce-02", "roce-03")
        (fleet.folder / "site.yaml").write_text(WRONG_PROFILE)

        def right():
            (fleet.folder / "site.yaml").write_text(
                "name: site\nplaces:\n  - {where: {nodes: [n1, n3]}, leaf: leaf-1, pod: pod1}\n"
                "  - {where: {nodes: [n2, n4]}, leaf: leaf-2, pod: pod1}\n")

        self.run_page(Page(
            "PROFILES.md", before={"fabricctl probe plan --profile": right},
            status={"fabricctl profile check": (2,)},
            output={"fabricctl profile list": "roce-pfc-dcqcn",
                    "fabricctl profile check":
                        r"site.yaml:5:\d+: trust: expected one of pcp, dscp, saw 'dcsp'\n"
                        r".*site.yaml:6:\d+: data_dscp: expected a number from 0 to 63, saw '64'\n"
                        r".*unknown key 'rail'; did you mean 'rails'\?",
                    "fabricctl probe plan --profile": "same-pod",
                    "fabricctl profile infer": "Profile inferred from the majority of 3 nodes"}),
            fleet)

    def test_certify(self):
        self.with_tools()
        fleet = self.start()
        self.run_well("openssl", "genpkey", "-algorithm", "ed25519", "-out",
                      fleet.folder / "signing-key.pem.example")

        def example():
            shutil.copy(fleet.folder / "signing-key.pem.example", fleet.folder / "signing-key.pem")

        self.run_page(Page(
            "CERTIFY.md",
            replace=[(r"gpu\[001-016,20\]", "n1,n2"), (r"--rails 0,1", "--rails 0"),
                     (r"--within 60s", "--within 2s"), (r"controller:9419", fleet.rest)],
            before={"(openssl genpkey": example},
            output={"fabricctl certify --nodes gpu[001-002]": "gpu001: unknown node",
                    "fabricctl certify verify": "FAIL: 2 nodes of job 4711",
                    "openssl pkeyutl": "Signature Verified Successfully"}),
            fleet)
        keys = (fleet.folder / "signing-key.pem").read_text()
        self.assertEqual(keys.count("BEGIN PRIVATE KEY"), 2)

    def test_custom_rules(self):
        fleet = self.start()
        text = (ROOT / "docs/CUSTOM_RULES.md").read_text()
        rules = re.search(r"```yaml\n(.*?)```", text, re.S)[1]
        site = fleet.folder / "site.yaml"
        # The documented mistake, then the rules of the page.
        site.write_text(rules.replace("check: netdev.mtu_bytes", "check: netdev.mtu_byte"))

        def right():
            site.write_text(rules)
            self.run_well(self.program("fabricctl"), "rules", "test", site)

        self.inspect(fleet, "n1", "n2")
        self.run_page(Page(
            "CUSTOM_RULES.md",
            replace=[(r"deploy/rules/example\.yaml", str(ROOT / "deploy/rules/example.yaml"))],
            not_run={"fabricd --rules": RUNS_ON},
            status={"fabricctl rules check": (2,)},
            before={"fabricctl check --rules": right},
            output={"fabricctl rules check": r"site\.yaml:7:19: check: unknown NetInterface field "
                                             r"'mtu_byte'; did you mean 'mtu_bytes'\?",
                    "fabricctl rules test": "MTU that is right, wrong, not read, and not checked "
                                            " *passed",
                    "fabricctl check --rules": "example.mtu_9000|No findings"}),
            fleet)

    def test_probes(self):
        fleet = self.start()
        self.run_page(Page(
            "PROBES.md", not_run={"ibnetdiscover": "needs an InfiniBand subnet"},
            output={"fabricctl probe plan --nodes 6":
                        r"6 pairs of 6 ports, random-regular, seed 7\n"
                        r"ROUND  PAIRS\n    1  n4>n3 n1>n5 n6>n2\n    2  n4>n6 n2>n1 n5>n3\n"
                        "2 rounds",
                    "fabricctl probe plan --nodes 4": r'\{"pairs":\[\{"a":"n3","b":"n4"\}'}),
            fleet)

    def test_guides(self):
        fleet = self.start()
        for name in ("n3", "n4"):
            fleet.add(name, FIXTURE)
            self.await_state(fleet, name, "CONNECTED")
        nodes = [(r"--nodes NODE,NODE", "--nodes n1,n3"), (r"--hub NODE", "--hub n1")]
        self.run_page(Page("LOSSLESS_ROCE.md", replace=nodes,
                           output={"fabricctl profile list": "roce-sonic",
                                   "fabricctl certify": "2 nodes"}), fleet)
        self.run_page(Page("GPUDIRECT.md", replace=nodes,
                           not_run={"modprobe": "needs root and an NVIDIA driver"},
                           output={"fabric-agent inspect": "GPUDirect"}), fleet)

    def test_readme_and_web(self):
        self.with_tools()
        fleet = self.start(names=("n1", "n2", "n3"))
        self.run_page(Page(
            "../README.md",
            # The quickstart has TLS, and this controller has none.
            replace=[(r"--cacert \S+ --cert \S+ --key \S+", ""),
                     (r"https://127\.0\.0\.1:9419", f"http://{fleet.rest}")],
            not_run={"fabricctl events --watch": RUNS_ON},
            output={"fabricctl findings": "port_active", "fabricctl validate": "3 nodes",
                    "fabricctl certify": "3 nodes", "curl -s": '"findings"'}), fleet)
        web = "tests/web/CMakeLists.txt"
        self.run_page(Page(
            "WEB.md",
            replace=[(r"127\.0\.0\.1:9419", fleet.rest),
                     (r"(results)$", r"\1 -o results.bin")],
            not_run={"xdg-open": "needs a desktop", "npm": run_by(web), "ctest": run_by(web),
                     "FABRICD=": RUNS_ON}), fleet)
        self.assertGreater((fleet.folder / "results.bin").stat().st_size, 0)

    def runbook(self, path, fleet):
        text = (ROOT / "docs" / path).read_text()
        lines = manualcommands.commands(text)
        corpus = ROOT / "tests/fuzz/corpus"
        net = corpus / "subnet_topology/small_tree"
        file = {"explain-log": ROOT / "tests/fixtures/logs/gpudirect_on_one_node.log",
                "rules check": ROOT / "deploy/rules/example.yaml",
                "subnet check": net, "subnet path": f"{net} {corpus / 'subnet_tables/opensm_lfts'}"}

        def of_command(match):
            for words, name in file.items():
                if words in match.string:
                    return str(name)
            return match[0]

        not_run = {line: SYSTEMD for line in lines if line.startswith(("systemctl", "journalctl"))}
        status = {line: (5,) for line in lines if line == "fabricctl join-certificates"}
        return Page(path, not_run=not_run, status=status,
                    output={line: "joining is off" for line in status},
                    replace=[(r"\bNODE,PEER --kind incast", "n1,n3,n4 --kind incast"),
                             (r"subnet path NODE PEER", "subnet path n1 n2"),
                             (r"\bNODE\b", "n1"),
                             (r"\b(PEER|HEALTHY)\b", "n3"),
                             (r"\bNETDEV\b", self.netdev), (r"\bID\b", self.finding),
                             (r"\bRULE\b", "port_active"), (r"\bFILE\b", of_command),
                             (r"/var/lib/fabricd", str(fleet.folder))])

    def test_runbooks(self):
        fleet = self.start()
        for name in ("n3", "n4"):  # An incast needs two senders.
            fleet.add(name, FIXTURE)
            self.await_state(fleet, name, "CONNECTED")
        devices = fleet.get("/v1/devices?node=n1")["devices"]
        self.netdev = next(one["netdev"] for one in devices if one["netdev"])
        pages = sorted(path.relative_to(ROOT / "docs")
                       for path in (ROOT / "docs/runbooks").rglob("*.md"))
        self.assertGreater(len(pages), 20)
        self.run_well(self.program("fabricctl"), "--controller", fleet.grpc, "probe", "run",
                      "--no-wait", "--nodes", "n1,n3", "--kind", "latency")
        self.run_well(self.program("fabricctl"), "pki", "init", cwd=fleet.folder)
        for path in pages:
            with self.subTest(page=str(path)):
                self.run_page(self.runbook(str(path), fleet), fleet)


class TestCommandsOfAPage(DeployTest):
    def test_each_page_for_operators_with_commands_is_run_by_a_test(self):
        sources = "".join(path.read_text() for path in (
            *(ROOT / "tests/deploy").glob("test_manual*.py"),
            ROOT / "tests/running/test_access_docs.py"))
        pages = [path for path in (ROOT / "docs").glob("*.md")
                 if path.stem not in ("ARCHITECTURE", "ADDING", "STYLE")]  # For developers
        with_commands = [path.name for path in (*pages, ROOT / "README.md")
                         if manualcommands.commands(path.read_text())]
        self.assertGreater(len(with_commands), 14)
        self.assertEqual([name for name in with_commands
                          if not re.search(rf'"(\.\./)?{re.escape(name)}"', sources)], [])

    def test_lines_of_blocks(self):
        text = ("text `fabricctl nodes`\n\n    $ fabricctl node n1\n    output\n\n"
                "    fabricctl nodes\n    not-a-program x\n    curl -s a \\\n      b\n\n"
                "```\n$ fabricctl mesh\nfabricctl x\n```\n```yaml\ncheck: fabricctl\n```\n"
                "    (openssl genpkey; cat a) > b\n    # a comment\n")
        self.assertEqual(manualcommands.commands(text),
                         ["fabricctl node n1", "fabricctl nodes", "curl -s a    b",
                          "fabricctl mesh", "(openssl genpkey; cat a) > b"])

    def test_a_command_that_fails_and_a_rule_that_is_not_used_are_found(self):
        folder = self.folder()
        for page in (Page("runbooks/FabricControllerDown.md", replace=[(".*", "exit 9")]),
                     Page("runbooks/FabricControllerDown.md", not_run={"systemctl": "x",
                                                                       "journalctl": "x",
                                                                       "gone": "x"})):
            with self.assertRaises(AssertionError):
                manualcommands.run(self, page, folder, {}, Counts())


if __name__ == "__main__":
    main()
