#!/usr/bin/env python3
"""Tests of tidy: each check finds its breach at its line, and lets good code pass."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import catalogs
import cpp
import doccommands
import docs
import language
import quotes
import runbooks
import probekinds
import rulenames
import texts
import tidy
import walls
from tree import Tree


def breaches(check, files):
    """What `check` says about a repository of these files, as "path:line: what"."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return [f"{p.path}:{p.line}: {p.what}" for p in sorted(set(check(Tree(root))))]


class Sizes(unittest.TestCase):
    def test_line_counts_characters_not_bytes(self):
        self.assertEqual(breaches(texts.check_sizes, {"a.cc": "// " + "µ" * 97 + "\n"}), [])
        self.assertEqual(breaches(texts.check_sizes, {"a.cc": "\n// " + "x" * 98 + "\n"}),
                         ["a.cc:2: 101 columns"])

    def test_file(self):
        self.assertEqual(breaches(texts.check_sizes, {"a.cc": ";\n" * 400}), [])
        self.assertEqual(breaches(texts.check_sizes, {"tests/a.cc": ";\n" * 500}), [])
        self.assertEqual(breaches(texts.check_sizes, {"run": "#!/bin/sh\n" + ":\n" * 400}),
                         ["run:401: 401 lines"])

    def test_function_in_each_language(self):
        body = "  x();\n" * 69
        self.assertEqual(breaches(texts.check_sizes, {
            "ok.cc": "void F() {\n" + body[:-7] + "}\n",
            "a.cc": "\nvoid F(\n    int) {\n" + body + "}\n",
            "b.py": "def f():\n" + "    x()\n" * 70,
            "c.sh": "f() {\n" + body + "  x\n}\n",
        }), ["a.cc:2: function of 72 lines", "b.py:1: function of 71 lines",
             "c.sh:1: function of 72 lines"])

    def test_data_is_not_code(self):
        self.assertEqual(breaches(texts.check_sizes, {"tests/golden/a.py": "x" * 200}), [])


class Language(unittest.TestCase):
    def test_string_literals_headers_and_docs(self):
        self.assertEqual(breaches(language.check_language, {
            "base/a.cc": '// told in a comment of a .cc\nx = "is told";\n',
            "base/b.cc": 'x = "so "\n    "long";\n',
            "base/c.h": "// What is\n// is no thing.\n",
            "docs/a.md": "Nobody\n",
            "proto/a.proto": "// anew\n",
        }), ["base/a.cc:2: told", "base/b.cc:1: so long",
             "base/c.h:1: What is", "base/c.h:2: is no", "docs/a.md:1: Nobody",
             "proto/a.proto:1: anew"])

    def test_good_text_code_and_raw_strings(self):
        self.assertEqual(breaches(language.check_language, {
            "base/a.cc": "int told = 1;\n#include \"told\"\n",
            "base/b.cc": 'x = "is not an MTU; besides, mending";\n',
            "tests/a.cc": 'x = "told";\n'}), [])
        self.assertEqual(breaches(language.check_language, {
            "base/a.cc": 'x = R"(a\n told)";\n'}), ["base/a.cc:2: told"])


class Docs(unittest.TestCase):
    PAGE = ("# A\n\n## Layout\n\n```\nbase/  status\nagents/  main\n  host/  machine\n```\n"
            "\n## Threads\n\n| a | `agents/a.cc` |\n")

    def test_layout(self):
        files = {"docs/ARCHITECTURE.md": self.PAGE.replace("base/", "docs/\nbase/"),
                 "base/a.cc": "", "agents/host/a.cc": ""}
        self.assertEqual(breaches(docs.check_layout, files), [])
        self.assertEqual(breaches(docs.check_layout, files | {"agents/probe/a.cc": ""}),
                         ["docs/ARCHITECTURE.md:4: agents/probe"])
        del files["agents/host/a.cc"]
        files["agents/a.cc"] = ""
        self.assertEqual(breaches(docs.check_layout, files),
                         ["docs/ARCHITECTURE.md:9: agents/host"])

    def test_threads(self):
        page = {"docs/ARCHITECTURE.md": self.PAGE}
        start = "std::jthread thread([] {});\n"
        self.assertEqual(breaches(docs.check_threads, page | {"agents/a.cc": start}), [])
        self.assertEqual(
            breaches(docs.check_threads, page | {"agents/a.cc": "", "daemon/b.cc": start}),
            ["docs/ARCHITECTURE.md:12: agents/a.cc", "docs/ARCHITECTURE.md:12: daemon/b.cc"])

    def test_paths(self):
        self.assertEqual(breaches(docs.check_paths, {
            "docs/a.md": "`base/a.cc` `base` `base/a` `agents/*.cc`\n`base/b.cc`\n",
            "base/a.cc": ""}), ["docs/a.md:2: base/b.cc"])


class Functions(unittest.TestCase):
    def lengths(self, text):
        return list(cpp.functions(text))

    def test_found_in_namespaces_and_classes(self):
        self.assertEqual(self.lengths("""namespace a {
class B final : public C<int()> {
  int F() const override {
    if (x) { y(); }
  }
};
}"""), [(3, 3)])

    def test_lambda_of_a_table(self):
        table = "const Command c = {\n  .run = [](int) {\n    x();\n  },\n};"
        self.assertEqual(self.lengths(table), [(2, 3)])

    def test_braces_in_texts_do_not_count(self):
        self.assertEqual(self.lengths("""void F() {  // {
  s = "{{" + R"({")" + '{' + 1'000;
}
constexpr int kTable[] = {1, 2};
"""), [(1, 3)])


class Walls(unittest.TestCase):
    def test_forbidden_edge(self):
        self.assertEqual(breaches(walls.check_walls, {
            "base/text.h": "", "agents/session/agent.h": '#include "base/text.h"\n',
            "base/bad.cc": '#include "base/text.h"\n#include "agents/session/agent.h"\n',
            "tests/unit/t.cc": '#include "agents/session/agent.h"\n'}),
            ['base/bad.cc:2: "agents/session/agent.h"'])

    def test_from_the_root_and_in_quotes(self):
        self.assertEqual(breaches(walls.check_walls, {
            "base/a.h": "", "base/b.cc": '#include "a.h"\n#include <base/a.h>\n#include <vector>\n',
            "base/c.cc": '// #include "a.h"\n'}),
            ['base/b.cc:1: "a.h"', "base/b.cc:2: <base/a.h>"])

    def test_generated_headers_exist(self):
        self.assertEqual(breaches(walls.check_walls, {
            "base/version.h.in": "",
            "ctl/a.cc": '#include "base/version.h"\n#include "fabric/v1/fabric.grpc.pb.h"\n'}), [])

    def test_rules_are_pure(self):
        self.assertEqual(breaches(walls.check_walls, {
            "daemon/rules/a.cc": "#include <mutex>\n#include <map>\n"}),
            ["daemon/rules/a.cc:1: mutex"])
        self.assertEqual(breaches(walls.check_words, {
            "daemon/plan/a.cc": "auto t = std::chrono::steady_clock::now();\n"}),
            ["daemon/plan/a.cc:1: ::now("])

    def test_own_header_first(self):
        self.assertEqual(breaches(walls.check_own_header_first, {
            "base/a.h": "", "base/a.cc": '#include <map>\n#include "base/a.h"\n',
            "base/b.cc": "#include <map>\n"}), ["base/a.cc:1: includes map first"])


class Words(unittest.TestCase):
    def test_each_is_found_where_it_may_not_stand(self):
        for word in ("std::this_thread::sleep_for(s)", 'getenv("X")', "Registry::Instance()",
                     "std::shared_ptr<X> x", "#define X 1", "std::chrono::system_clock::now()",
                     "std::ranges::unique(v)",
                     'Open("/sys/class")', 'Open("/proc")', "ibv_open(x)", "NETLINK_ROUTE"):
            with self.subTest(word):
                found = breaches(walls.check_words, {"daemon/a.cc": f"\n{word};\n"})
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith("daemon/a.cc:2: "), found)

    def test_allowed_where_they_belong(self):
        self.assertEqual(breaches(walls.check_words, {
            "ctl/main.cc": 'getenv("X");\n', "tests/testing/golden.cc": 'getenv("X");\n',
            "base/mutex.h": "#define X\n", "base/clock.cc": "system_clock::now();\n",
            "agents/host/verbs/verbs.cc": 'ibv_open("/sys/class");\n'}), [])

    def test_comments_and_texts_are_free(self):
        self.assertEqual(breaches(walls.check_words, {
            "daemon/a.cc": '// ibv_open, sleep_for\nx = "no shared_ptr, /sys";\n'}), [])


class Comments(unittest.TestCase):
    def test_dead_code(self):
        for line in ("// return 3;", "//  x", "// if (a) {", "// foo.Bar(1);", "// int x = 3;",
                     "// EXPECT_EQ(1, 2);", "// }"):
            found = breaches(texts.check_comments, {"a.cc": line + "\n"})
            self.assertEqual(found, [] if line == "//  x" else [f"a.cc:1: {line}"], line)

    def test_prose_and_examples(self):
        prose = """// Reads one attribute; nothing else.
//   EXPECT_TRUE(MatchesGolden("name", text));
// Two lines: a, and b (see below).
// if the port is down, its netdev is too
"""
        self.assertEqual(breaches(texts.check_comments, {"a.cc": prose}), [])

    def test_promises_name_their_issue(self):
        self.assertEqual(breaches(texts.check_promises, {
            "a.cc": "// TODO(#12): more\n// FIXME: this\n", "b.md": "a TODO\n"}),
            ["a.cc:2: FIXME", "b.md:1: TODO"])


class Parsing(unittest.TestCase):
    def test_scripts(self):
        self.assertEqual(breaches(texts.check_scripts, {
            "good": "#!/bin/bash\nif true; then :; fi\n",
            "bad": "#!/bin/bash\nif true; then\n", "bad.py": "x = (\n"}),
            ["bad:3: bash -n", "bad.py:1: python"])

    def test_json(self):
        self.assertEqual(breaches(texts.check_data, {"a.json": "{\n1}", "b.json": "{}"}),
                         ["a.json:2: json"])


class Catalogs(unittest.TestCase):
    LISTS = ("fabric_catalog(t TYPE Rule HEADER h\n  NAMESPACE n\n  ENTRIES\n"
             "    port_up # why\n    dup)\n")

    def test_entries(self):
        self.assertEqual(list(catalogs.entries(self.LISTS)),
                         [(4, "Rule", "port_up"), (5, "Rule", "dup")])

    def test_need_a_test_and_a_line_of_documentation(self):
        self.assertEqual(breaches(catalogs.check_catalogs, {
            "daemon/CMakeLists.txt": self.LISTS, "docs/RULES.md": "| `port_up` | and dups |\n",
            "tests/unit/a_test.cc": "TEST(PortUp, Works) {}\nTEST(Dup, Works) {}\n"}),
            ["daemon/CMakeLists.txt:5: Rule dup"])


class Runbooks(unittest.TestCase):
    PAGE = "# Rules: a\n\n**Meaning.** x\n**Check.** x\n**Fix.** x\n**Not a fault.** x\n"
    RULES = {"docs/reference/RULES.md": "| [`x`](#x) | a | error | port |\n"}
    WHERE = "docs/runbooks/rules/"

    def test_each_family_has_one_and_each_has_a_family(self):
        whole = self.RULES | {self.WHERE + "a.md": self.PAGE}
        self.assertEqual(breaches(runbooks.check_runbooks, whole), [])
        self.assertEqual(breaches(runbooks.check_runbooks, self.RULES),
                         ["docs/reference/RULES.md:1: a"])
        self.assertEqual(breaches(runbooks.check_runbooks, whole | {self.WHERE + "b.md": "# B\n"}),
                         ["docs/runbooks/rules/b.md:1: b"])

    def test_a_part_is_missing(self):
        page = {self.WHERE + "a.md": self.PAGE.replace("**Fix.** x\n", "")}
        self.assertEqual(breaches(runbooks.check_runbooks, self.RULES | page),
                         ["docs/runbooks/rules/a.md:1: **Fix.**"])


class Quotes(unittest.TestCase):
    def page(self, path, text):
        return {"docs/A.md": f"# A\n\n<!-- from {path} -->\n```cpp\n{text}```\n"}

    def test_an_example_is_quoted_whole(self):
        example = {"tests/examples/a.cc": "int a;\nint b;\n"}
        self.assertEqual(breaches(quotes.check_quotes, example | self.page(
            "tests/examples/a.cc", "int a;\nint b;\n")), [])
        self.assertEqual(breaches(quotes.check_quotes, example | self.page(
            "tests/examples/a.cc", "int a;\n")), ["docs/A.md:3: tests/examples/a.cc"])
        self.assertEqual(breaches(quotes.check_quotes, example), ["tests/examples/a.cc:1: example"])

    def test_of_other_files_whole_lines(self):
        code = {"base/a.cc": "int a;\n  int b;\nint c;\n"}
        self.assertEqual(breaches(quotes.check_quotes, code | self.page(
            "base/a.cc", "  int b;\nint c;\n")), [])
        self.assertEqual(breaches(quotes.check_quotes, code | self.page(
            "base/a.cc", "int b;\n")), ["docs/A.md:3: base/a.cc"])
        self.assertEqual(breaches(quotes.check_quotes, self.page("base/gone.cc", "int b;\n")),
                         ["docs/A.md:3: base/gone.cc"])
        self.assertEqual(breaches(quotes.check_quotes, code | {"docs/A.md": (
            "<!-- from base/a.cc -->\n\n```cpp\nint a;\n```\n")}), ["docs/A.md:1: base/a.cc"])


class RuleNames(unittest.TestCase):
    CATALOG = {"r/CMakeLists.txt": "fabric_catalog(x TYPE Rule ENTRIES port_active duplicate_gid)"}

    def test_in_tables_and_commands(self):
        self.assertEqual(breaches(rulenames.check_rule_names, self.CATALOG | {
            "a.cc": '{.rule = "port_active, link_stable"}\n"fabricctl findings --rule port_up"',
            "b.md": "fabricctl explain no_such\n",
        }), ["a.cc:1: link_stable", "a.cc:2: port_up", "b.md:1: no_such"])

    def test_in_quoted_findings(self):
        self.assertEqual(breaches(rulenames.check_rule_names, self.CATALOG | {
            "a.md": "    SEVERITY  RULE\n    error     port_active  n1  is down\n"
                    "    open  warning  port_idle  n1  is idle\n",
        }), ["a.md:3: port_idle"])

    def test_other_names_are_free(self):
        self.assertEqual(breaches(rulenames.check_rule_names, self.CATALOG | {
            "a.cc": '.rule = ""\n.rule = "own"\n',
            "a.md": "--rule port_active, --rule NAME, an error in some_function of it\n",
        }), [])


class ProbeKinds(unittest.TestCase):
    SCHEMA = {probekinds.SCHEMA: "message ProbeSpec {\n  oneof kind {\n    UdPing ud_ping = 1\n"
                                 "        [(probe_kind) = {word: \"ping\"}];\n"
                                 "    Incast incast = 13;\n  }\n}\n"}

    def test_a_list_of_kinds(self):
        self.assertEqual(breaches(probekinds.check_probe_kinds, self.SCHEMA | {
            "daemon/a.cc": "if (spec.has_ud_ping()) return;\ncase v1::ProbeSpec::kIncast: break;\n",
            "ctl/b.cc": '{"ping", "ud_ping"},\n',
        }), ["ctl/b.cc:1: \"ud_ping\"", "daemon/a.cc:1: has_ud_ping(",
             "daemon/a.cc:2: ProbeSpec::kIncast"])

    def test_a_choice_of_a_kind(self):
        self.assertEqual(breaches(probekinds.check_probe_kinds, self.SCHEMA | {
            "daemon/a.cc": "probe.mutable_ud_ping()->set_pings(2);\n{\"incast\", kPattern},\n",
            "agents/probe/a.cc": '.name = "ud_ping",\n',
        }), [])


class DocCommands(unittest.TestCase):
    REFERENCE = {doccommands.REFERENCE:
                 "## Options of every command\n| `-o, --output FORMAT` | x |\n"
                 "## fabricctl node remove\n"
                 "## fabricctl nodes\n| `--state STATE` | Only `--all` of them. |\n"}

    def test_unknown_command_and_option(self):
        self.assertEqual(breaches(doccommands.check_commands, self.REFERENCE | {
            "a.md": "Run `fabricctl nods`.\n\n    fabricctl nodes -o wide --all n1\n\n"
                    "```\n$ fabricctl node drop n1\n```\n",
        }), ["a.md:1: fabricctl nods", "a.md:3: fabricctl nodes -o wide --all n1",
             "a.md:6: fabricctl node drop n1"])

    def test_what_the_reference_has(self):
        self.assertEqual(breaches(doccommands.check_commands, self.REFERENCE | {
            "a.md": "Run `fabricctl nodes --state lost | wc -l`, `fabricctl COMMAND` or "
                    "`fabricctl node NAME`.\n\nfabricctl shows nodes.\n\n"
                    "    fabricctl nodes \\\n        --output json && fabricctl node remove n1\n",
        }), [])


class Whole(unittest.TestCase):
    def test_a_clean_repository_is_clean(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "base").mkdir()
            (pathlib.Path(root) / "base/a.h").write_text("#pragma once\n")
            self.assertEqual(tidy.main([root]), 0)

    def test_usage(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(tidy.main(["--fix"]), 2)
        self.assertIn("Usage: tidy.py", said.getvalue())


if __name__ == "__main__":
    unittest.main()
