// The engine finds what judging from scratch finds, whatever happened before.
#include "daemon/rules/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proto/names.h"
#include "tests/testing/moving.h"
#include "tests/testing/nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;

using Random = std::mt19937;

std::uint32_t Below(Random& random, std::uint32_t end) {
  return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random);
}

constexpr std::uint32_t kRails = 3;

// What a fault does to a random port, or to the node.
using Fault = void (*)(v1::NodeSnapshot&, std::uint32_t rail, Random&);

constexpr Fault kFaults[] = {
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetMtu(node, rail, Below(random, 2) == 0 ? 1500 : 4096);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetPfc(node, rail, Below(random, 256));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::TrustPcp(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      if (testing::NetdevOf(node, rail).dcb().dscp_to_priority_size() == 64)
        testing::MapDscp(node, rail, 26, 1);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::LinkDown(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::DropAddress(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetAddress(node, rail, Format("10.10.{}.{}", rail, 1 + Below(random, 4)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::SetAddress(node, rail, "10.99.0.7");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) { testing::UnloadPeermem(node); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::PortOf(node, rail).clear_state();
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::PortOf(node, rail).set_lid(1 + Below(random, 4));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::PortOf(node, rail).set_sm_lid(1 + Below(random, 2));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::PortOf(node, rail).set_active_mtu_bytes(2048);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::DeviceOf(node, rail).set_firmware(Format("28.39.{}", Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::DeviceOf(node, rail).set_node_guid("5054:00ff:fe00:0001");
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::DeviceOf(node, rail).set_model(Format("ConnectX-{}", 6 + Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::NetdevOf(node, rail).set_mac("52:54:00:00:00:01");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) {
      node.mutable_node()->set_machine_id("the same");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random& random) {
      node.mutable_host()->set_product(Format("Product {}", Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) {
      node.mutable_time_sync()->set_synchronized(false);
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) { node.mutable_gpu_nic_paths()->Clear(); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      if (node.rdma_devices_size() < static_cast<int>(kRails)) return;
      node.mutable_rdma_devices()->DeleteSubrange(static_cast<int>(rail), 1);  // Shifts the rails
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::DeviceOf(node, rail).set_name(Format("other{}", rail));
    },
};

// The same on all ports, of this node and of those that draw the same: what has one cause.
void BreakAll(v1::NodeSnapshot& node, Random& random) {
  constexpr std::size_t kOfPort = 3;  // The first ones
  const Fault fault = kFaults[Below(random, kOfPort)];
  const Random drawn(Below(random, 2));
  for (int rail = 0; rail < node.rdma_devices_size(); ++rail) {
    Random same = drawn;
    fault(node, static_cast<std::uint32_t>(rail), same);
  }
}

// Two units with leaves of their own, here and there a cable in the wrong place, and switches that
// announce something else.
void Wire(v1::NodeSnapshot& node, std::uint32_t number, Random& random) {
  for (std::uint32_t rail = 0; rail < static_cast<std::uint32_t>(node.rdma_devices_size());
       ++rail) {
    const std::uint32_t plugged = Below(random, 10) == 0 ? Below(random, kRails) : rail;
    const std::uint32_t unit = Below(random, 20) == 0 ? 0 : number % 2;
    v1::LldpNeighbor& heard =
        testing::Hear(node, rail, Format("leaf{}-{}", unit, plugged), Format("swp{}", number));
    if (Below(random, 8) == 0) heard.set_max_frame_bytes(1518);
    if (Below(random, 8) == 0) heard.mutable_pfc()->set_enabled_mask(0);
    if (Below(random, 12) == 0) heard.clear_pfc();
  }
}

v1::NodeSnapshot RandomNode(std::uint32_t number, Random& random) {
  const testing::NodeOptions options = {.number = number, .rails = kRails};
  v1::NodeSnapshot node;
  const std::uint32_t kind = Below(random, 10);
  if (kind == 0)
    node = testing::InfinibandNode(options);
  else if (kind == 1)
    node = testing::BnxtNode(options);
  else if (kind == 2)
    node = testing::RxeNode(options);
  else
    node = testing::RoceNode(options);
  node.mutable_taken_at()->set_seconds(Below(random, 1'000'000));
  for (std::uint32_t faults = Below(random, 3); faults > 0; --faults)
    kFaults[Below(random, std::size(kFaults))](node, Below(random, 2), random);
  if (Below(random, 3) == 0) BreakAll(node, random);
  if (Below(random, 4) != 0) Wire(node, number, random);
  return node;
}

// What some counters of the node have grown by, in half a minute.
void Move(fleet::NodeRecord& record, Random& random) {
  testing::Pair pair = testing::PairOf({record.snapshot});
  v1::NodeSnapshot& after = pair.after[0];
  for (v1::CounterSet& set : *after.mutable_counters())
    for (v1::Counter& counter : *set.mutable_counters())
      if (Below(random, 4) == 0)
        counter.set_value(counter.value() + (std::uint64_t{1} << Below(random, 40)));
  record.motion = fleet::Motion::Between(pair.before[0], after);
  *record.snapshot.mutable_counters() = after.counters();
}

// Findings of switches and cables do not change with each report: when they were read may be old.
std::string TextOf(v1::Finding finding) {
  const auto rules = AllRules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule* each) { return each->id == finding.rule(); });
  if ((*rule)->announcement != nullptr || (*rule)->evaluate_part != nullptr)
    for (v1::Evidence& evidence : *finding.mutable_evidence()) evidence.clear_read_at();
  return finding.ShortDebugString();
}

// Findings by id: all that is said, and what everybody must agree on.
using Said = std::map<std::string, std::string>;

Said SaidBy(const Evaluation& evaluation) {
  Said said = {{"counts", evaluation.counts.ShortDebugString()}};
  for (const v1::Finding& finding : evaluation.findings)
    EXPECT_TRUE(said.emplace(finding.id(), TextOf(finding)).second)
        << "two findings with one id: " << finding.ShortDebugString();
  return said;
}

void Expect(const Said& seen, const Said& expected) {
  for (const auto& [id, text] : expected)
    EXPECT_EQ(seen.contains(id) ? seen.at(id) : "nothing", text);
  for (const auto& [id, text] : seen) EXPECT_TRUE(expected.contains(id)) << text;
}

class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed) {}

  // One node comes, changes or goes.
  void Step() {
    const std::uint32_t number = 1 + Below(random_, 6);
    const std::string name = Format("n{}", number);
    const bool here = records_.contains(name);
    if (here && Below(random_, 4) == 0) {
      engine_.Remove(name);
      records_.erase(name);
      return;
    }
    fleet::NodeRecord& record = records_[name];  // In place, as the controller's fleet does it
    record.name = name;
    const std::uint32_t news = here ? Below(random_, 4) : 0;
    if (news < 2) {
      record.snapshot = RandomNode(number, random_);
      record.motion.Clear();
    } else if (news == 2) {
      record.snapshot.mutable_taken_at()->set_seconds(Below(random_, 1'000'000));
    }
    if (news < 3) record.version = ++versions_;
    if (news == 3 || Below(random_, 2) == 0) Move(record, random_);
    engine_.Put(record);
  }

  void Check() {
    std::vector<const fleet::NodeRecord*> order;
    for (const auto& [name, record] : records_) order.push_back(&record);
    std::shuffle(order.begin(), order.end(), random_);
    Engine fresh;
    for (const fleet::NodeRecord* record : order) fresh.Put(*record);
    const Said expected = SaidBy(fresh.All());
    Expect(SaidBy(engine_.All()), expected);

    const Delta delta = engine_.Take();
    for (const v1::Finding& finding : delta.found) told_[finding.id()] = TextOf(finding);
    for (const std::string& id : delta.gone) told_.erase(id);
    told_["counts"] = delta.counts.ShortDebugString();
    Expect(told_, expected);
    EXPECT_EQ(engine_.nodes(), records_.size());
  }

 private:
  Random random_;
  std::map<std::string, fleet::NodeRecord> records_;
  std::uint64_t versions_ = 0;
  Engine engine_;
  Said told_;  // By deltas alone
};

TEST(EngineProperty, WhateverHappenedTheOutcomeIsThatOfTheNodesAsTheyAre) {
  for (std::uint32_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    World world(seed);
    for (std::uint32_t step = 0; step < 40; ++step) {
      world.Step();
      if (step % 4 == 3) world.Check();
    }
  }
}

std::vector<v1::NodeSnapshot> RandomFleet(std::uint32_t nodes, Random& random) {
  std::vector<v1::NodeSnapshot> fleet;
  for (std::uint32_t number = 1; number <= nodes; ++number)
    fleet.push_back(RandomNode(number, random));
  return fleet;
}

TEST(EngineProperty, OrderOfArrivalNeverChangesTheOutcome) {
  for (std::uint32_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Random random(seed);
    std::vector<v1::NodeSnapshot> nodes = RandomFleet(9, random);
    const Said expected = SaidBy(JudgeWithCauses(nodes));
    std::shuffle(nodes.begin(), nodes.end(), random);
    Expect(SaidBy(JudgeWithCauses(nodes)), expected);
    std::vector<fleet::NodeRecord> records;
    for (const v1::NodeSnapshot& node : nodes)
      records.push_back({.name = node.node().name(), .snapshot = node});
    Engine engine;
    for (const fleet::NodeRecord& record : records) {
      engine.Put(record);
      if (Below(random, 2) == 0) (void)engine.Take();
    }
    Expect(SaidBy(engine.All()), expected);
  }
}

// Other names for all RDMA devices of a node, in another order. Each has a PCI address, which
// tells where it is.
void RenameDevices(v1::NodeSnapshot& node, Random& random) {
  std::vector<std::string> names;
  for (const v1::RdmaDevice& device : node.rdma_devices()) names.push_back("x" + device.name());
  std::shuffle(names.begin(), names.end(), random);
  std::map<std::string, std::string> renamed;
  for (int i = 0; i < node.rdma_devices_size(); ++i) {
    v1::RdmaDevice& device = *node.mutable_rdma_devices(i);
    renamed[device.name()] = names[static_cast<std::size_t>(i)];
    device.set_name(names[static_cast<std::size_t>(i)]);
  }
  for (v1::GpuNicPath& path : *node.mutable_gpu_nic_paths())
    path.set_device(renamed[path.device()]);
}

// What was found where, without what things are called.
std::vector<std::string> Places(const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<std::string> places;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings) {
    if (finding.rule() == "device_names_equal") continue;
    const v1::Subject& subject = finding.subject();
    places.push_back(Format("{} {} {} {} {} {}", finding.rule(), Name(finding.verdict()),
                            subject.node(), subject.netdev(), subject.port(), subject.rail()));
  }
  std::sort(places.begin(), places.end());
  return places;
}

TEST(EngineProperty, RenamingDevicesNeverChangesTheOutcome) {
  for (std::uint32_t seed = 1; seed <= 30 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Random random(seed);
    std::vector<v1::NodeSnapshot> nodes = RandomFleet(1 + Below(random, 8), random);
    const std::vector<std::string> expected = Places(nodes);
    for (v1::NodeSnapshot& node : nodes) RenameDevices(node, random);
    EXPECT_EQ(Places(nodes), expected);
  }
}

class EngineTest : public ::testing::Test {
 protected:
  void Put(const v1::NodeSnapshot& node) {
    fleet::NodeRecord& record = records_[node.node().name()];
    record.name = node.node().name();
    record.snapshot = node;
    engine_.Put(record);
  }
  // "mtu_equal_on_rail n2/mlx5_0/1" for each that is new or reads differently.
  std::vector<std::string> Found() {
    last_ = engine_.Take();
    std::vector<std::string> names;
    for (const v1::Finding& finding : last_.found)
      names.push_back(finding.rule() + " " + SubjectName(finding.subject()));
    return names;
  }

  std::map<std::string, fleet::NodeRecord> records_;
  Engine engine_;
  Delta last_;
};

TEST_F(EngineTest, TellsWhatAChangeOpensAndEnds) {
  auto nodes = Nodes(4, testing::RoceNode);
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(), IsEmpty());
  testing::SetMtu(nodes[1], 0, 1500);
  Put(nodes[1]);
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n2/mlx5_0/1"));
  EXPECT_EQ(last_.counts.fail(), 1U);
  const std::string id = last_.found[0].id();
  EXPECT_THAT(Found(), IsEmpty()) << "said once";
  Put(nodes[2]);
  EXPECT_THAT(Found(), IsEmpty()) << "nothing is new";
  testing::SetMtu(nodes[1], 0, 9000);
  Put(nodes[1]);
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(last_.gone, ElementsAre(id));
  EXPECT_EQ(last_.counts.fail(), 0U);
}

TEST_F(EngineTest, ANodeThatIsLostTakesItsFindingsAndItsVoteAway) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::SetMtu(nodes[2], 0, 1500);
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n3/mlx5_0/1"));
  engine_.Remove("n1");
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail rail 0")) << "one against one";
  EXPECT_EQ(last_.gone.size(), 1U);
  engine_.Remove("n3");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(last_.gone.size(), 1U);
  engine_.Remove("n3");
  engine_.Remove("never heard of");
  engine_.Remove("n2");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(last_.counts.pass(), 0U);
}

TEST_F(EngineTest, EqualCardsOfANodeAreComparedWhileItIsAlone) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 8});
  testing::SetMtu(node, 5, 1500);
  Put(node);
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_in_node n1/mlx5_5/1"));
  Put(testing::RoceNode({.number = 2, .rails = 8}));
  Put(testing::RoceNode({.number = 3, .rails = 8}));
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n1/mlx5_5/1"));
  EXPECT_EQ(last_.gone.size(), 1U);
}

TEST_F(EngineTest, OperatorsRulesAreNodeRules) {
  engine_.AddNodeRule({.id = "named_n2",
                       .severity = v1::SEVERITY_INFO,
                       .evaluate = [](const fleet::NodeView& node, Verdicts& out) {
                         if (node.node->name != "n2") return out.Pass();
                         v1::Finding finding;
                         finding.set_verdict(v1::VERDICT_FAIL);
                         finding.mutable_subject()->set_scope(v1::SCOPE_NODE);
                         finding.mutable_subject()->set_node(node.node->name);
                         out.Add(std::move(finding));
                       }});
  const std::uint64_t passes = Judge(Nodes(2, testing::RoceNode)).counts.pass();
  for (const auto& node : Nodes(2, testing::RoceNode)) Put(node);
  EXPECT_THAT(Found(), ElementsAre("named_n2 n2"));
  EXPECT_EQ(last_.found[0].severity(), v1::SEVERITY_INFO);
  EXPECT_EQ(last_.counts.pass(), passes + 1);
}

TEST_F(EngineTest, WindowsOfCountersAreJudgedWithoutTheSettings) {
  testing::Pair pair = testing::PairOf({testing::RoceNode({.number = 1, .rails = 2})});
  testing::Count(pair, 0, 1, "icrc_errors", 1000);
  fleet::NodeRecord record = {.name = "n1", .snapshot = pair.before[0], .version = 1};
  engine_.Put(record);
  EXPECT_THAT(Found(), IsEmpty());
  const std::uint64_t passes = last_.counts.pass();
  *record.snapshot.mutable_counters() = pair.after[0].counters();
  record.motion = fleet::Motion::Between(pair.before[0], pair.after[0]);
  engine_.Put(record);
  EXPECT_THAT(Found(), ElementsAre("roce_packets_intact n1/mlx5_1/1"));
  EXPECT_GT(last_.counts.pass(), passes);
  testing::SetMtu(record.snapshot, 0, 1500);
  testing::SetMtu(record.snapshot, 1, 4000);
  record.version = 2;
  record.motion.Clear();
  engine_.Put(record);
  EXPECT_THAT(Found(), ::testing::Not(::testing::Contains(::testing::HasSubstr("intact"))));
  EXPECT_EQ(last_.gone.size(), 1U);
}

TEST(Share, OfLargeFleetsReadsTheSameWhenOneMoreJoins) {
  EXPECT_EQ(Share(15, 16), "15 of 16");
  EXPECT_EQ(Share(98, 99), "98 of 99");
  EXPECT_EQ(Share(99, 100), "99 % of 100+");
  EXPECT_EQ(Share(16220, 16384), "98 % of 16000+");
  EXPECT_EQ(ShareKey(16220, 16384), ShareKey(16221, 16385));
  EXPECT_NE(ShareKey(15, 16), ShareKey(16, 17));
}

}  // namespace
}  // namespace fabric::rules
