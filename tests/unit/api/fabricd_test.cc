// The program itself: exit statuses, its one line, its addresses file and its end.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "base/settings.h"
#include "base/text.h"
#include "daemon/store/store.h"
#include "proto/json.h"
#include "tests/testing/paths.h"
#include "tests/testing/raw_client.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Runs fabricd with standard output in a pipe and standard error in the same one.
class Program {
 public:
  explicit Program(std::vector<std::string> args) {
    args.insert(args.begin(), std::string(testing::kBinaryDir) + "/bin/fabricd");
    std::vector<char*> words;
    for (std::string& arg : args) words.push_back(arg.data());
    words.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    EXPECT_EQ(posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
    close(out_);
  }

  pid_t pid() const { return pid_; }

  std::string ReadLine() {
    std::string line;
    for (char c = 0; c != '\n' && read(out_, &c, 1) == 1;) line += c;
    return line;
  }
  std::string ReadAll() {
    std::string all;
    for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) all += line;
    return all;
  }
  void Signal(int signal) { kill(pid_, signal); }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

std::uint16_t PortIn(const std::string& addresses_file, const std::string& which) {
  std::ifstream file(addresses_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  google::protobuf::Struct json;
  EXPECT_TRUE(FromJson(text, json).ok()) << text;
  const auto address = ParseHostPort(json.fields().at(which).string_value());
  EXPECT_TRUE(address.ok()) << text;
  return address.ok() ? address->port : std::uint16_t{0};
}

TEST(Fabricd, ABadSettingIsOneLineAndStatus2) {
  Program program({"--grpc", "nowhere"});
  const std::string said = program.ReadAll();
  EXPECT_THAT(said, StartsWith("fabricd: --grpc: expected HOST:PORT"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(program.Wait(), 2);
}

TEST(Fabricd, NeedsAStateFileAndCreatesNothingWithoutIt) {
  Program program({});
  EXPECT_THAT(program.ReadAll(), StartsWith("fabricd: --state FILE|URL is required"));
  EXPECT_EQ(program.Wait(), 2);
}

TEST(Fabricd, APortThatIsInUseIsOneLineAndCreatesNothing) {
  testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  Program first({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                 tree.path() + "/state.db", "--addresses-file", addresses});
  while (!std::ifstream(addresses).good()) EXPECT_NE(first.ReadLine(), "");
  for (const std::string setting : {"grpc", "rest", "health"}) {
    const std::string used = Format("127.0.0.1:{}", PortIn(addresses, setting));
    std::vector<std::string> args = {"--state", tree.path() + "/second/state.db"};
    for (const std::string listener : {"grpc", "rest", "health"}) {
      args.push_back("--" + listener);
      args.push_back(listener == setting ? used : "127.0.0.1:0");
    }
    mkdir((tree.path() + "/second").c_str(), 0700);
    Program program(args);
    EXPECT_EQ(
        program.ReadAll(),
        Format("fabricd: --{}: cannot listen on {}: Address already in use\n", setting, used));
    EXPECT_EQ(program.Wait(), 1);
    EXPECT_EQ(rmdir((tree.path() + "/second").c_str()), 0) << "a file was created";
  }
}

TEST(Fabricd, TwoListenersNeedTwoAddresses) {
  const testing::TempTree tree;
  Program program({"--grpc", "127.0.0.1:9418", "--rest", "127.0.0.1:9417", "--state",
                   tree.path() + "/state.db"});
  EXPECT_EQ(program.ReadAll(),
            "fabricd: --health: expected another address than that of --grpc, saw 127.0.0.1:9418 "
            "for both\n");
  EXPECT_EQ(program.Wait(), 1);
}

TEST(Fabricd, AListenerWithTheAddressOfAnotherOneIsOneLineAndCreatesNothing) {
  testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  std::string port;
  {
    Program first({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--addresses-file", addresses});
    while (!std::ifstream(addresses).good()) EXPECT_NE(first.ReadLine(), "");
    port = Format("{}", PortIn(addresses, "grpc"));
  }
  mkdir((tree.path() + "/second").c_str(), 0700);
  for (const auto& [grpc, rest] :
       {std::pair("0.0.0.0:", "127.0.0.1:"), std::pair("127.0.0.1:", "0.0.0.0:")}) {
    Program program({"--state", tree.path() + "/second/state.db", "--tls", "off", "--grpc",
                     grpc + port, "--rest", rest + port, "--health", "127.0.0.1:0"});
    EXPECT_EQ(program.ReadAll(),
              Format("fabricd: --rest: expected another port than that of --grpc ({0}{2}), which "
                     "has the address {1}{2} too\n",
                     grpc, rest, port));
    EXPECT_EQ(program.Wait(), 1);
  }
  EXPECT_EQ(rmdir((tree.path() + "/second").c_str()), 0) << "a file was created";
}

TEST(Fabricd, AStateFileThatCannotBeOpenedIsNamed) {
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state", "/nowhere/x.db"});
  EXPECT_THAT(program.ReadAll(), HasSubstr("/nowhere/x.db"));
  EXPECT_EQ(program.Wait(), 1);
}

TEST(Fabricd, RefusesWhatTheRolesDoNotPermitAndRecordsIt) {
  testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--addresses-file", addresses, "--loopback-roles",
                   "viewer"});
  EXPECT_THAT(program.ReadLine(), Not(HasSubstr("error")));  // Until it listens
  while (!std::ifstream(addresses).good()) EXPECT_NE(program.ReadLine(), "");
  const std::uint16_t rest = PortIn(addresses, "rest");
  EXPECT_THAT(testing::HttpGet(rest, "/v1/identity"), HasSubstr("\"roles\":[\"ROLE_VIEWER\"]"));
  EXPECT_THAT(testing::HttpGet(rest, "/openapi.json"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(testing::HttpGet(rest, "/v1/audit"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(testing::HttpGet(PortIn(addresses, "health"), "/metrics"),
              HasSubstr("fabric_access_refused_total{reason=\"denied\"} 1\n"));
  program.Signal(SIGTERM);
  EXPECT_THAT(program.ReadAll(), HasSubstr("audit 1: loopback from 127.0.0.1:"));
  EXPECT_EQ(program.Wait(), 0);
}

TEST(Fabricd, PrintsItsConfigurationAndItsVersion) {
  Program config({"--lost-after", "7s", "--print-config"});
  EXPECT_THAT(config.ReadAll(), HasSubstr("lost-after: 7s  # command line\n"));
  EXPECT_EQ(config.Wait(), 0);
  Program version({"--version"});
  EXPECT_THAT(version.ReadAll(), StartsWith("fabricd "));
  EXPECT_EQ(version.Wait(), 0);
}

TEST(Fabricd, LoadsTheGoodRulesOfAFolderAndLogsTheOthers) {
  const testing::TempTree tree;
  std::ofstream(tree.path() + "/a.yaml")
      << "rules:\n"
         "  - {id: a.good, title: t, severity: info, scope: node, check: has(node.gpus)}\n"
         "  - {id: a.bad, title: t, severity: info, scope: node, check: has(node.gpsu)}\n";
  std::ofstream(tree.path() + "/b.yml") << "rules: [\n";
  std::ofstream(tree.path() + "/c.txt") << "not read";
  const std::string addresses = tree.path() + "/addresses.json";
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--addresses-file", addresses, "--rules",
                   tree.path()});
  std::string said;
  for (std::string line; line.find("REST and /metrics") == std::string::npos; said += line) {
    line = program.ReadLine();
    if (line.empty()) break;
  }
  EXPECT_THAT(said, HasSubstr("rule skipped: " + tree.path() + "/a.yaml:3:"));
  EXPECT_THAT(said, HasSubstr("rule skipped: " + tree.path() + "/b.yml:"));
  const std::uint16_t port = PortIn(addresses, "rest");
  const std::string rules = testing::HttpGet(port, "/v1/rules");
  EXPECT_THAT(rules, HasSubstr("a.good"));
  EXPECT_THAT(rules, Not(HasSubstr("a.bad")));
  EXPECT_THAT(testing::HttpGet(port, "/metrics"), HasSubstr("fabric_rule_problems 2"));
}

// Until it listens: what it said.
std::string Started(Program& program) {
  std::string said;
  for (std::string line; line.find("REST and /metrics") == std::string::npos; said += line) {
    line = program.ReadLine();
    if (line.empty()) break;
  }
  return said;
}

TEST(Fabricd, MakesAKeyForCertificatesOnceAndShowsThePublicOne) {
  const testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  const std::string file = tree.path() + "/signing-key.pem";
  std::vector<std::string> shown;
  for (int run = 0; run < 2; ++run) {
    Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                     tree.path() + "/state.db", "--addresses-file", addresses});
    EXPECT_THAT(Started(program), HasSubstr(run == 0 ? " (new)" : "signing certificates with "));
    shown.push_back(testing::HttpGet(PortIn(addresses, "rest"), "/certificate-key.pem"));
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0);
    // As if it had been killed between the two files.
    if (run == 0) (void)unlink((tree.path() + "/signing-key.pub.pem").c_str());
  }
  for (const std::string& name : {file, tree.path() + "/state.db"}) {
    struct stat status = {};
    ASSERT_EQ(stat(name.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
  std::ifstream pub(tree.path() + "/signing-key.pub.pem");
  const std::string pem{std::istreambuf_iterator<char>(pub), {}};
  EXPECT_THAT(pem, StartsWith("-----BEGIN PUBLIC KEY-----\n"));
  EXPECT_THAT(shown[0], HasSubstr(pem));
  EXPECT_THAT(shown[1], HasSubstr(pem)) << "the same after a restart";
}

TEST(Fabricd, AKeyThatIsNoneIsNamed) {
  const testing::TempTree tree;
  for (const auto& [text, seen] : std::vector<std::pair<std::string, std::string>>{
           {"hello", "key.pem: expected an Ed25519 private key"}, {"", "saw an empty file"}}) {
    std::ofstream(tree.path() + "/key.pem") << text;
    EXPECT_EQ(chmod((tree.path() + "/key.pem").c_str(), 0600), 0);
    Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                     tree.path() + "/state.db", "--signing-key", tree.path() + "/key.pem"});
    const std::string said = program.ReadAll();
    EXPECT_THAT(said, HasSubstr("signing-key: "));
    EXPECT_THAT(said, HasSubstr(seen));
    EXPECT_EQ(program.Wait(), 1);
  }
  Program missing({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--signing-key", "/nowhere/key.pem"});
  EXPECT_THAT(missing.ReadAll(), HasSubstr("signing-key: /nowhere/key.pem: No such file"));
}

TEST(Fabricd, AKeyThatOthersCanReadIsRefused) {
  const testing::TempTree tree;
  const std::string key = tree.path() + "/key.pem";
  std::ofstream(key) << "hello";
  EXPECT_EQ(chmod(key.c_str(), 0644), 0);
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--signing-key", key});
  EXPECT_THAT(program.ReadAll(),
              HasSubstr(key + ": expected a private key that other users cannot read (mode 0600 or "
                              "0640), saw mode 0644"));
  EXPECT_EQ(program.Wait(), 1);
}

TEST(Fabricd, SighupDoesNotEndIt) {
  const testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--addresses-file", addresses});
  EXPECT_THAT(Started(program), HasSubstr("REST and /metrics"));
  program.Signal(SIGHUP);
  EXPECT_THAT(program.ReadLine(), HasSubstr("reloaded: profile none"));
  EXPECT_THAT(testing::HttpGet(PortIn(addresses, "rest"), "/readyz"), HasSubstr("ok\n"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST(Fabricd, ADamagedStateFileIsMovedAsideAtTheStart) {
  const testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  const std::string state = tree.path() + "/state.db";
  for (const bool damaged : {false, true}) {
    ASSERT_EQ(damaged ? truncate(state.c_str(), 8192) : 0, 0);
    Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state", state,
                     "--addresses-file", addresses});
    const std::string said = Started(program);
    EXPECT_EQ(said.find("the state file was damaged: moved to " + state + ".damaged-") !=
                  std::string::npos,
              damaged)
        << said;
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), 0);
  }
}

TEST(Fabricd, AFileOfRulesThatIsNotThereIsNamed) {
  const testing::TempTree tree;
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--rules", "/nowhere/r.yaml"});
  EXPECT_THAT(program.ReadAll(), HasSubstr("rules: /nowhere/r.yaml: No such file"));
  EXPECT_EQ(program.Wait(), 1);
}

TEST(Fabricd, ListensSaysWhereAndEndsCleanlyWithAWatcher) {
  const testing::TempTree tree;
  const std::string addresses = tree.path() + "/addresses.json";
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
                   tree.path() + "/state.db", "--addresses-file", addresses});
  EXPECT_THAT(Started(program), HasSubstr("REST and /metrics on http://127.0.0.1:"));
  const std::uint16_t port = PortIn(addresses, "rest");
  EXPECT_NE(PortIn(addresses, "grpc"), 0);
  for (const char* page : {"/livez", "/readyz", "/healthz", "/metrics"})
    EXPECT_THAT(testing::HttpGet(PortIn(addresses, "health"), page), HasSubstr("200 OK")) << page;
  EXPECT_THAT(testing::HttpGet(PortIn(addresses, "health"), "/v1/nodes"), HasSubstr("404"));
  EXPECT_THAT(testing::HttpGet(port, "/healthz"), HasSubstr("200 OK"));
  const std::string description = testing::HttpGet(port, "/openapi.json");
  for (const char* part : {"\"/v1/nodes\"", "Lists all nodes", "\"example\""})
    EXPECT_THAT(description, HasSubstr(part));
  testing::RawClient watcher(port);
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  watcher.ReadUntil("retry");

  Program second({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:" + std::to_string(port), "--state",
                  tree.path() + "/second.db"});
  EXPECT_THAT(second.ReadAll(), HasSubstr("fabricd: --rest: cannot listen on 127.0.0.1:" +
                                          std::to_string(port) + ": Address already in use\n"));
  EXPECT_EQ(second.Wait(), 1);

  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

// Virtual memory of a process, in bytes.
std::uint64_t AddressSpaceOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Fabricd, StreamsALargeCampaignIn64MegabytesMore) {
  constexpr std::uint32_t kResults = 300'000;
  const testing::TempTree tree;
  const std::string state = tree.path() + "/state.db";
  {
    auto store = store::OpenSqlite(state);
    ASSERT_TRUE(store.ok());
    v1::Campaign campaign;
    campaign.set_id("c1");
    campaign.set_state(v1::CAMPAIGN_STATE_DONE);
    campaign.mutable_ended_at()->set_seconds(1);
    campaign.set_probes_ok(kResults);
    ASSERT_TRUE((*store)->PutCampaign(campaign).ok());
    v1::PairResult result;
    result.mutable_from()->set_node("gpu-node-with-a-long-name");
    result.mutable_result()->set_reason(std::string(200, 'r'));
    const std::vector<store::CampaignResult> some(10'000, {"c1", result});
    for (std::uint32_t n = 0; n < kResults; n += 10'000)
      ASSERT_TRUE((*store)->AddPairResults(some).ok());
  }
  const std::string addresses = tree.path() + "/addresses.json";
  Program program({"--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state", state,
                   "--addresses-file", addresses});
  Started(program);
  const std::uint16_t port = PortIn(addresses, "rest");
  // Threads and their heaps are there before the limit.
  for (int n = 0; n < 8; ++n) testing::HttpGet(port, "/v1/campaigns/c1/results?page_size=256");
  const rlimit limit = {.rlim_cur = AddressSpaceOf(program.pid()) + (64 << 20),
                        .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(prlimit(program.pid(), RLIMIT_AS, &limit, nullptr), 0);
  testing::RawClient client(port);
  client.Send(
      "GET /v1/campaigns/c1?include_results=true HTTP/1.1\r\nHost: localhost\r\n"
      "Connection: close\r\n\r\n");
  const std::string answer = client.ReadToEnd();
  EXPECT_GT(answer.size(), std::size_t{kResults} * 200);
  EXPECT_TRUE(answer.ends_with("\r\n0\r\n\r\n")) << answer.substr(answer.size() - 100);
  EXPECT_THAT(testing::HttpGet(port, "/metrics"), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace fabric
