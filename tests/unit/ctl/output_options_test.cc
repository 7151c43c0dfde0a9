// Options of every command: formats, --sort-by, --watch, terminal width, contexts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <semaphore>

#include "base/text.h"
#include "ctl/contexts.h"
#include "ctl/render.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FakeController ThreeNodes() {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(R"({"nodes": [
    {"name": "n10", "state": "NODE_STATE_CONNECTED", "findings_open": 3},
    {"name": "n2", "state": "NODE_STATE_CONNECTED", "findings_open": 12},
    {"name": "a,b", "state": "NODE_STATE_CONNECTED", "findings_open": 0}]})");
  return controller;
}

TEST(Options, OfACommandAreGivenOnce) {
  FakeController controller = ThreeNodes();
  const Said said = RunWords("findings --rule a --rule b", controller);
  EXPECT_EQ(said.err, "fabricctl: --rule is given twice\n");
  EXPECT_EQ(said.status, kExitUsage);
  // Options of every command can come from a shell alias: the last one wins.
  EXPECT_EQ(RunWords("nodes -o wide -o name", controller).out, "n10\nn2\na,b\n");
}

TEST(Options, ThatAreListsCanBeGivenSeveralTimes) {
  FakeController controller = ThreeNodes();
  RunWords("events --kind node --kind port,probe", controller);
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().filter(), "kind=~node|port|probe");
}

TEST(NoHeaders, LeavesOutTheTitlesOfColumns) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>().add_nodes()->set_name("n1");
  EXPECT_THAT(RunWords("nodes", controller).out, HasSubstr("NAME "));
  const std::string rows = RunWords("nodes --no-headers", controller).out;
  EXPECT_TRUE(rows.starts_with("n1 ")) << rows;
  EXPECT_EQ(std::ranges::count(rows, '\n'), 1) << rows;
  EXPECT_TRUE(RunWords("nodes --no-headers -o csv", controller).out.starts_with("n1,"));
}

TEST(SortBy, ComparesNumbersAndNamesInNaturalOrder) {
  FakeController controller = ThreeNodes();
  EXPECT_EQ(RunWords("nodes --sort-by name -o name", controller).out, "a,b\nn2\nn10\n");
  EXPECT_EQ(RunWords("nodes --sort-by -findings -o name", controller).out, "n2\nn10\na,b\n");
  EXPECT_EQ(RunWords("nodes --sort-by active-ports", controller).status, kExitOk);
  const Said said = RunWords("nodes --sort-by findngs", controller);
  EXPECT_EQ(said.err, "fabricctl: --sort-by: unknown column 'findngs'; did you mean 'findings'?\n");
  EXPECT_EQ(said.status, kExitUsage);
}

TEST(SortBy, ComparesRatesByValueAndPutsAbsentValuesLast) {
  Output output;
  output.tables.push_back(
      {.columns = {{.title = "RATE"}}, .rows = {{"-"}, {"1 Tb/s"}, {"400 Gb/s"}, {"2.5 Mb/s"}}});
  ASSERT_TRUE(SortRows("-rate", output).ok());
  const std::vector<std::vector<std::string>> expected = {
      {"1 Tb/s"}, {"400 Gb/s"}, {"2.5 Mb/s"}, {"-"}};
  EXPECT_EQ(output.tables[0].rows, expected);
}

TEST(Formats, JsonlHasOneElementOnEachLine) {
  FakeController controller = ThreeNodes();
  const std::string out = RunWords("nodes -o jsonl", controller).out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_EQ(FromText<v1::NodeSummary>(out.substr(0, out.find('\n'))).name(), "n10");
}

TEST(Formats, CsvQuotesAndLeavesAbsentValuesEmpty) {
  FakeController controller = ThreeNodes();
  const std::string out = RunWords("nodes -o csv", controller).out;
  EXPECT_THAT(out, HasSubstr("NAME,STATE,DEVICES,"));
  EXPECT_THAT(out, HasSubstr("\n\"a,b\",connected,0,?/0,0,0,0,,"));
}

TEST(Watch, RepeatsUntilInterrupted) {
  FakeController controller = ThreeNodes();
  const Said said = RunWords("nodes --watch", controller, {.waits = 3});
  EXPECT_EQ(controller.Requests<v1::ListNodesRequest>().size(), 3U);
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_THAT(said.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RunWords("nodes -w", controller, {.waits = 1, .columns = 80}).out,
              HasSubstr("\x1b[H\x1b[J"));
}

TEST(Watch, IsForCommandsThatOnlyRead) {
  FakeController controller;
  EXPECT_EQ(RunWords("probe run --watch", controller).err,
            "fabricctl: --watch: expected a command that lists or shows, saw 'probe run'\n");
  EXPECT_TRUE(controller.Requests<v1::StartCampaignRequest>().empty());
  controller.failure = Status(Code::kUnavailable, "gone");
  EXPECT_EQ(RunWords("nodes --watch", controller, {.waits = 9}).status, kExitUnreachable);
}

TEST(Width, OnlyElasticColumnsAreCut) {
  const Output output = [] {
    Output one;
    one.tables.push_back({.columns = {{.title = "ID"}, {.title = "WHAT", .elastic = true}},
                          .rows = {{"0123456789", "a sentence that is longer than the line"}}});
    return one;
  }();
  EXPECT_EQ(Render(output, {.columns = 30}).out,
            "ID          WHAT\n0123456789  a sentence that i…\n");
  EXPECT_EQ(Render(output, {.ascii = true, .columns = 30}).out,
            "ID          WHAT\n0123456789  a sentence that i~\n");
  EXPECT_EQ(Render(output, {.columns = 200}).out, Render(output, {}).out);
  EXPECT_EQ(Render(output, {.format = OutputFormat::kWide, .columns = 30}).out,
            Render(output, {}).out);
}

TEST(Version, IsPrintedWithoutACommand) {
  FakeController controller;
  EXPECT_TRUE(RunWords("--version", controller).out.starts_with("fabricctl "));
  EXPECT_EQ(RunWords("nodes --version", controller).out, RunWords("--version", controller).out);
}

class ContextsTest : public ::testing::Test {
 protected:
  ContextsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "fabricctl-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    terminal_.config = folder_ / "sub/config.yaml";
  }
  ~ContextsTest() override { std::filesystem::remove_all(folder_); }

  Said Ctl(std::string_view words) { return RunWords(words, controller_, terminal_); }

  std::filesystem::path folder_;
  FakeTerminal terminal_;
  FakeController controller_;
};

TEST_F(ContextsTest, AreSetSelectedAndUsed) {
  EXPECT_THAT(Ctl("config get-contexts").err, HasSubstr("No contexts"));
  EXPECT_EQ(Ctl("config set-context prod --controller p:1 --tls-ca /ca.pem").status, kExitOk);
  EXPECT_EQ(Ctl("config set-context lab --controller lab").status, kExitOk);
  EXPECT_EQ(Ctl("config set-context prod --tls-ca /ca.pem").status, kExitOk) << "a change";
  EXPECT_THAT(Ctl("config set-context new").err,
              HasSubstr("new context 'new': expected --controller, --tls-ca, --tls-cert, "
                        "--tls-key, --token-file or --token-command, saw none\n"));
  EXPECT_EQ(Ctl("config get-contexts -o name").out, "lab\nprod\n");
  EXPECT_THAT(Ctl("config get-contexts -o json").out, HasSubstr("\"name\": \"lab\""));
  Ctl("nodes");
  EXPECT_EQ(controller_.options.controller, "p:1");
  EXPECT_EQ(controller_.options.tls.ca, "/ca.pem");
  EXPECT_EQ(Ctl("config use-context lab").out, "Context lab is the current context.\n");
  Ctl("nodes");
  EXPECT_EQ(controller_.options.controller, "lab:9418");
  EXPECT_EQ(controller_.options.tls.ca, "");
  Ctl("nodes --context prod");
  EXPECT_EQ(controller_.options.controller, "p:1");
  Ctl("nodes --context prod --controller q:2");
  EXPECT_EQ(controller_.options.controller, "q:2");
  terminal_.controller = "env:3";
  Ctl("nodes");
  EXPECT_EQ(controller_.options.controller, "env:3") << "the environment overrides the file";
  struct stat status = {};
  ASSERT_EQ(stat(terminal_.config.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(ContextsTest, AnUnknownContextAndAMissingFileAreErrors) {
  Ctl("config set-context prod --controller p:1");
  EXPECT_EQ(Ctl("nodes --context prd").err,
            "fabricctl: --context: unknown context 'prd'; did you mean 'prod'?\n");
  EXPECT_EQ(Ctl("config use-context prd").status, kExitUsage);
  EXPECT_THAT(Ctl("nodes --config /no/such/file").err, HasSubstr("/no/such/file: "));
}

TEST_F(ContextsTest, AreDeleted) {
  EXPECT_EQ(Ctl("config current-context").err,
            "fabricctl: no current context; select one with `fabricctl config use-context`\n");
  Ctl("config set-context prod --controller p:1");
  Ctl("config set-context lab --controller l:1");
  EXPECT_EQ(Ctl("config current-context").out, "prod\n");
  EXPECT_EQ(Ctl("config delete-context lab").out, "Context lab is deleted.\n");
  EXPECT_EQ(Ctl("config delete-context lab").status, kExitUsage) << "it is gone";
  EXPECT_EQ(Ctl("config current-context").out, "prod\n");
  EXPECT_EQ(Ctl("config delete-context prod").out,
            "Context prod is deleted; no context is current now.\n");
  EXPECT_EQ(Ctl("config get-contexts -o name").out, "");
}

TEST_F(ContextsTest, AContextWithoutAFileSaysHowToCreateIt) {
  EXPECT_EQ(Ctl("nodes --context prod").err,
            Format("fabricctl: --context prod: {}: No such file or directory; create the file "
                   "with fabricctl config set-context\n",
                   terminal_.config));
}

TEST_F(ContextsTest, AllShowsEachOneWithItsOwnError) {
  EXPECT_THAT(Ctl("nodes --context all --config /no/such/file").err, HasSubstr("/no/such/file: "));
  Ctl("config set-context east --controller e:1");
  Ctl("config set-context north --controller n:1");
  Ctl("config set-context west --controller w:1");
  std::ifstream written(terminal_.config);
  std::string contexts{std::istreambuf_iterator<char>(written), {}};
  contexts.replace(contexts.find("n:1"), 3, "n:1:2");  // By hand: set-context refuses it
  std::ofstream(terminal_.config) << contexts;
  v1::NodeSummary& node = *controller_.Answer<v1::ListNodesResponse>().add_nodes();
  node.set_name("n1");
  const Said said = Ctl("nodes --context all");
  EXPECT_EQ(said.status, kExitUsage);
  const auto rows = [&](std::string_view cell) {
    const std::size_t at = said.out.find(Format("Context {}\n", cell));
    return at == std::string::npos ? ""
                                   : said.out.substr(at, said.out.find("Context", at + 1) - at);
  };
  EXPECT_THAT(rows("east"), HasSubstr("n1"));
  EXPECT_THAT(rows("west"), HasSubstr("n1"));
  EXPECT_EQ(rows("north"), "Context north\n");
  EXPECT_THAT(said.err, HasSubstr("fabricctl: north: --controller: "));
  EXPECT_EQ(controller_.options.controller, "w:1");
  EXPECT_EQ(controller_.Requests<v1::ListNodesRequest>().size(), 2U);
  EXPECT_EQ(Ctl("nodes --context all -o yaml").status, kExitUsage);
  EXPECT_EQ(Ctl("nodes --context all --controller c:1").status, kExitUsage);
  EXPECT_EQ(Ctl("backup --context all").status, kExitUsage);
  controller_.failure = Status(Code::kUnavailable, "gone");
  const Said gone = Ctl("nodes --context all");
  EXPECT_EQ(gone.status, kExitUnreachable);
  for (const char* const cell : {"east", "west"})
    EXPECT_THAT(gone.err, HasSubstr(Format("fabricctl: {}: gone; check that", cell)));
}

// East answers only after west and north: in sequence it would never answer.
TEST_F(ContextsTest, AllAsksAtTheSameTimeAndShowsThemInOrder) {
  for (const char* const cell : {"west", "east", "north"})
    Ctl(Format("config set-context {} --controller {}:1", cell, cell));
  std::counting_semaphore<2> others(0);
  controller_.on_call = [&](const ClientOptions& options) {
    if (options.controller != "east:1") return others.release();
    for (int n = 0; n < 2; ++n) EXPECT_TRUE(others.try_acquire_for(std::chrono::seconds(60)));
  };
  controller_.Answer<v1::ListNodesResponse>().add_nodes()->set_name("n1");
  for (const char* const command : {"nodes --context all", "nodes --context all -o json"}) {
    const std::string out = Ctl(command).out;
    std::size_t at = 0;
    for (const char* const shown : {"east", "n1", "north", "n1", "west", "n1"})
      EXPECT_NE(at = out.find(shown, at), std::string::npos) << out;
  }
}

TEST_F(ContextsTest, AllAsJsonIsOneDocumentWithTheErrorOfEachOne) {
  Ctl("config set-context east --controller e:1");
  Ctl("config set-context west --controller w:1 --token-file /no/such/token");
  controller_.Answer<v1::ListNodesResponse>().add_nodes()->set_name("n1");
  const Said said = Ctl("nodes --context all -o json");
  EXPECT_EQ(said.err, "");
  const auto document = nlohmann::json::parse(said.out);
  ASSERT_EQ(document["contexts"].size(), 2U);
  EXPECT_EQ(document["contexts"][0]["context"], "east");
  EXPECT_EQ(document["contexts"][0]["exit_status"], 0);
  EXPECT_EQ(document["contexts"][0]["answer"]["nodes"][0]["name"], "n1");
  EXPECT_FALSE(document["contexts"][0].contains("error"));
  controller_.failure = Status(Code::kPermissionDenied, "ListNodes: expected role viewer");
  const Said denied = Ctl("nodes --context all -o json");
  EXPECT_EQ(denied.status, kExitNotAllowed);
  const auto failed = nlohmann::json::parse(denied.out);
  for (const auto& cell : failed["contexts"]) {
    EXPECT_EQ(cell["exit_status"], kExitNotAllowed);
    EXPECT_EQ(cell["error"], "ListNodes: expected role viewer");
    EXPECT_FALSE(cell.contains("answer"));
  }
}

TEST_F(ContextsTest, AFileThatOthersCanReadIsRefused) {
  Ctl("config set-context prod --controller p:1");
  ASSERT_EQ(chmod(terminal_.config.c_str(), 0644), 0);
  const Said said = Ctl("nodes");
  EXPECT_NE(said.status, kExitOk);
  EXPECT_THAT(said.err, HasSubstr(terminal_.config));
  EXPECT_TRUE(controller_.Requests<v1::ListNodesRequest>().empty());
}

TEST(ParseContexts, ErrorsHaveThePosition) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"contexts:\n  p:\n    tls-cs: x\n",
       "f:3:5: unknown setting 'tls-cs'; did you mean 'tls-ca'?"},
      {"contexts: 3\n", "f:1:11: contexts: expected a map, saw '3'"},
      {"context: 3\n", "f:1:1: unknown setting 'context'; did you mean 'contexts'?"},
      {"contexts:\n  p:\n    controller: [a]\n", "f:3:17: controller: expected a text, saw a list"},
      {"- a\n", "f:1:1: expected a map, saw a list"},
  };
  for (const auto& [text, message] : rows) {
    const auto contexts = ParseContexts("f", text);
    ASSERT_FALSE(contexts.ok()) << text;
    EXPECT_EQ(contexts.status().message(), message);
  }
}

TEST(ParseContexts, ReadsWhatIsWritten) {
  const Contexts written = {.current = "a b",
                            .by_name = {{"a b", {{"controller", "[::1]:1"}}}, {"true", {}}}};
  const auto read = ParseContexts("f", ContextsText(written));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->current, written.current);
  EXPECT_EQ(read->by_name, written.by_name);
}

}  // namespace
}  // namespace fabric::ctl
