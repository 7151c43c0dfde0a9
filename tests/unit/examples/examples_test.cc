// The examples of docs/ADDING.md at work: carrier_changes, subnet_manager_present, one_write, lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/probe/probe.h"
#include "tests/testing/fake_verbs.h"
#include "tests/unit/ctl/fake_client.h"
#include "tests/unit/inspect/small_node.h"
#include "tests/unit/rules/judged.h"

namespace fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CarrierChanges, AreACounterOfTheNetdev) {
  inspect::SmallNode node;
  node.File(inspect::kNetdev + "/carrier_changes", "7\n");
  v1::NodeSnapshot snapshot;
  snapshot.add_net_interfaces()->set_name("eth0");
  EXPECT_TRUE(inspect::AllInspectors()[0]->inspect(node.fake.host(), snapshot).ok());
  const v1::Counter* const counter = inspect::FindCounter(snapshot, "carrier_changes");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->value(), 7u);
}

TEST(CarrierChanges, WhatIsNoNumberIsAGapAndNotZero) {
  inspect::SmallNode node;
  node.File(inspect::kNetdev + "/carrier_changes", "many\n");
  v1::NodeSnapshot snapshot;
  snapshot.add_net_interfaces()->set_name("eth0");
  EXPECT_TRUE(inspect::AllInspectors()[0]->inspect(node.fake.host(), snapshot).ok());
  EXPECT_EQ(inspect::FindCounter(snapshot, "carrier_changes"), nullptr);
  EXPECT_THAT(inspect::GapsOf(snapshot, "carrier_changes"),
              ElementsAre(HasSubstr("eth0 sys/class/net/eth0/carrier_changes: INVALID_ARGUMENT")));
}

TEST(SubnetManagerPresent, FailsWithoutOneAndIsUnknownWhenUnread) {
  auto nodes = testing::Nodes(2, testing::InfinibandNode, {.rails = 1});
  testing::PortOf(nodes[0], 0).set_sm_lid(0);
  testing::PortOf(nodes[1], 0).clear_sm_lid();
  EXPECT_THAT(rules::Failures(nodes), ElementsAre("subnet_manager_present n1/mlx5_0/1"));
  EXPECT_THAT(rules::Unknowns(nodes), ElementsAre("subnet_manager_present n2/mlx5_0/1"));
}

TEST(SubnetManagerPresent, IsNothingToRoce) {
  const auto evaluation = rules::Judge(testing::Nodes(2, testing::RoceNode));
  EXPECT_THAT(evaluation.findings, IsEmpty());
  EXPECT_EQ(evaluation.counts.pass(), 0u);
}

// One end against a partner in memory.
v1::ProbeResult RunOneWrite(testing::FakeFabric& fabric, std::byte& arrived) {
  const probe::ProbeKind& kind = *probe::FindProbeKind("one_write");
  const v1::ProbeSpec spec;
  testing::FakeVerbs verbs(fabric);
  host::RcOptions options = std::get<host::RcOptions>(kind.needs(spec));
  options.at.device = "a";
  const auto a = *verbs.OpenRc(options);
  options.at.device = "b";
  const auto b = *verbs.OpenRc(options);
  const host::ConnectionSettings settings{.path_mtu_bytes = 4096};
  EXPECT_TRUE(a->Connect(0, b->local(), settings).ok());
  EXPECT_TRUE(b->Connect(0, a->local(), settings).ok());
  const SystemClock clock;
  int patience = 10;
  probe::ProbeRun run{.spec = spec,
                      .queue_pairs = a.get(),
                      .clock = clock,
                      .stopped = [&] { return --patience < 0; },
                      .await_stop = [] {}};
  v1::ProbeResult result;
  kind.initiate(run, result);
  arrived = b->memory()[0];
  return result;
}

TEST(OneWrite, Arrives) {
  testing::FakeFabric fabric;
  std::byte arrived{};
  EXPECT_EQ(RunOneWrite(fabric, arrived).status(), v1::PROBE_STATUS_OK);
  EXPECT_EQ(arrived, std::byte{1});
}

TEST(OneWrite, SaysWhatItWaitedFor) {
  testing::FakeFabric fabric;
  fabric.Silence("b");
  std::byte arrived{};
  const v1::ProbeResult result = RunOneWrite(fabric, arrived);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(result.reason(), "write 1 of 1: no completion");
}

TEST(Lost, ListsLostNodesAndExitsWithOne) {
  ctl::FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = ctl::FromText<v1::ListNodesResponse>(R"({"nodes": [
    {"name": "n1", "state": "NODE_STATE_CONNECTED"},
    {"name": "n2", "state": "NODE_STATE_LOST", "lost_reason": "no message for 3.0 s"}]})");
  const ctl::Said said = ctl::RunWords("lost", controller);
  EXPECT_EQ(said.out, "NAME  WHY\nn2    no message for 3.0 s\n");
  EXPECT_EQ(said.status, 1);
}

}  // namespace
}  // namespace fabric
