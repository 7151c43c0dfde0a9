#include "ctl/bearer_token.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"
#include "ctl/client.h"
#include "tests/testing/temp_tree.h"

namespace fabric::ctl {
namespace {

TEST(BearerToken, IsWhatACommandPrintsOnce) {
  testing::TempTree tree;
  const std::string count = tree.path() + "/count";
  const std::string command = Format("echo x >>{}; echo ' abc.def '", count);
  for (int call = 0; call < 2; ++call) EXPECT_EQ(*ReadToken({.command = command}), "abc.def");
  std::ifstream file(count);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "x\n");
}

TEST(BearerToken, ErrorsNameTheCommandAndNotTheToken) {
  const std::pair<const char*, const char*> cases[] = {
      {"exit 3", "--token-command: 'exit 3': expected exit status 0, saw 3"},
      {"kill $$", "--token-command: 'kill $$': expected exit status 0, saw a signal"},
      {"true", "--token-command: 'true': expected one token of printable ASCII, saw no output"},
      {"printf 'a b'",
       "--token-command: 'printf 'a b'': expected one token of printable ASCII, saw other "
       "characters"},
      {"head -c 99999 /dev/zero",
       "--token-command: 'head -c 99999 /dev/zero': expected at most 16384 bytes, saw more"}};
  for (const auto& [command, message] : cases) {
    const Status status = ReadToken({.command = command}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
  EXPECT_EQ(ReadToken({.file = "f", .command = "true"}).status().message(),
            "expected --token-file or --token-command, saw both");
}

// Nothing runs before it is known that the token may be sent.
TEST(BearerToken, IsNotAskedForWithoutEncryption) {
  testing::TempTree tree;
  const std::string path = tree.path() + "/ran";
  const auto client = MakeGrpcClient({.controller = "192.0.2.7:9418",
                                      .timeout = std::chrono::seconds(1),
                                      .token = {.command = Format("touch {}; echo a", path)}});
  EXPECT_EQ(client->Call<v1::ListNodesResponse>(v1::ListNodesRequest()).status().message(),
            "--token-command: expected TLS (--tls-ca) or a controller on this machine, because a "
            "token is a secret, saw 192.0.2.7:9418");
  EXPECT_FALSE(std::ifstream(path).good());
}

}  // namespace
}  // namespace fabric::ctl
