// Each row of the tables nccl_connections, nccl_setup, ucx, kernel_log, pcie, rdma_core,
// network_drivers, nic_firmware, software_stack, storage_and_switches, gpus, host, frameworks,
// subnet_manager, jobs, verbs and verbs_calls takes the lines it is made for, in the versions of
// them that are about.
#include "daemon/explain/message.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "daemon/explain/matcher.h"
#include "tests/testing/paths.h"

namespace fabric::explain {
namespace {

struct Sample {
  std::string id;
  std::string line;
};

// "id<tab>line", in a file because the lines are long.
std::vector<Sample> Samples() {
  std::ifstream file(std::string(fabric::testing::kSourceDir) +
                     "/tests/fixtures/logs/messages.tsv");
  std::vector<Sample> samples;
  for (std::string line; std::getline(file, line);)
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos)
      samples.push_back({.id = line.substr(0, tab), .line = line.substr(tab + 1)});
  return samples;
}

TEST(MessageTables, TakeTheLinesTheyAreMadeFor) {
  Matcher matcher;
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(sample.id == "-" || matcher.MayMatch(sample.line)) << sample.line;
    const auto match = matcher.Find(sample.line);
    EXPECT_EQ(match ? match->message->id : "-", sample.id) << sample.line;
  }
}

TEST(MessageTables, EachRowHasASample) {
  std::set<std::string, std::less<>> sampled;
  for (const Sample& sample : Samples()) sampled.insert(sample.id);
  for (const MessageTable* table : AllMessageTables())
    for (const Message& message : table->messages)
      EXPECT_TRUE(sampled.contains(message.id)) << message.id;
}

TEST(MessageTables, RowsAreWhole) {
  EXPECT_EQ(BrokenRow(), "");
  std::set<std::string_view> ids;
  for (const MessageTable* table : AllMessageTables())
    for (const Message& message : table->messages) {
      EXPECT_TRUE(ids.insert(message.id).second) << message.id;
      EXPECT_FALSE(message.needle.empty()) << message.id;
      const bool completion = message.title.empty() && message.role == Role::kFailure;
      if (message.role == Role::kContext || completion) continue;
      EXPECT_FALSE(message.title.empty()) << message.id;
      EXPECT_TRUE(message.meaning.ends_with('.')) << message.id;
      EXPECT_NE(message.causes[0], Cause::kNone) << message.id;
    }
}

TEST(Matcher, TakesWhatTheLineNames) {
  Matcher matcher;
  const auto match = matcher.Find(
      "h:1:2 [1] transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer "
      "10.99.91.63<51161> with status=12 opcode=32614 len=32614 vendor err 129 (Send) localGid "
      "::ffff:10.99.92.59 remoteGids::ffff:10.99.91.63 hca mlx5_1");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->library, "NCCL");
  EXPECT_EQ(match->fields.peer, "10.99.91.63");
  EXPECT_EQ(match->fields.status, "12");
  EXPECT_EQ(match->fields.vendor, "129");
  EXPECT_EQ(match->fields.local_gid, "::ffff:10.99.92.59");
  EXPECT_EQ(match->fields.remote_gid, "::ffff:10.99.91.63");
  EXPECT_EQ(match->fields.hca, "mlx5_1");
}

TEST(Matcher, TakesTheNamesOfNewerVersions) {
  Matcher matcher;
  const auto match = matcher.Find(
      "NCCL WARN NET/IB: Got completion from peer 10.153.235.13<40554> with "
      "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RECV_RDMA_WITH_IMM(129) vendor_err=129 "
      "localGid ::ffff:1.1.2.2 remoteGids::ffff:1.1.1.4 hca mlx5_1");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->fields.status, "12");
  EXPECT_EQ(match->fields.vendor, "129");
  EXPECT_EQ(match->fields.remote_gid, "::ffff:1.1.1.4");
  EXPECT_EQ(match->fields.hca, "mlx5_1");
}

}  // namespace
}  // namespace fabric::explain
