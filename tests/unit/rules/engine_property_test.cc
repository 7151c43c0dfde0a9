// The engine finds what judging from scratch finds, whatever happened before.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine/engine.h"
#include "proto/names.h"
#include "tests/unit/rules/judged.h"
#include "tests/unit/rules/random_nodes.h"

namespace fabric::rules {
namespace {

// Findings of switches and cables do not change with each report: when they were read may be old.
std::string TextOf(v1::Finding finding) {
  const auto rules = AllRules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule* each) { return each->id == finding.rule(); });
  if ((*rule)->lldp_rule != nullptr)
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
      record.rates.Clear();
    } else if (news == 2) {
      record.snapshot.mutable_taken_at()->set_seconds(Below(random_, 1'000'000));
    }
    if (news < 3) record.version = ++versions_;
    if (news == 3 || Below(random_, 2) == 0) MoveCounters(record, random_);
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
    EXPECT_EQ(engine_.All().coverage.ShortDebugString(), fresh.All().coverage.ShortDebugString());
    for (const auto& [name, record] : records_)
      EXPECT_EQ(engine_.CoverageOf({name})->ShortDebugString(),
                fresh.CoverageOf({name})->ShortDebugString());

    Apply(engine_.Take());
    Expect(told_, expected);
    EXPECT_EQ(engine_.nodes(), records_.size());
  }

  // A part of an evaluation, with little work. Nodes change only while the engine judges; one may
  // go at any time.
  void StepInParts() {
    switch (Below(random_, 5)) {
      case 0:
        if (!engine_.collecting()) Step();
        break;
      case 1: {
        const std::string name = Format("n{}", 1 + Below(random_, 6));
        engine_.Remove(name);
        records_.erase(name);
        break;
      }
      case 2:
        if (Below(random_, 10) == 0) (void)engine_.All();
        break;
      default: TakePart();
    }
  }
  // Without changes in between.
  void CheckInParts() {
    const auto drain = [&] {
      for (std::uint32_t part = 0; !TakePart(); ++part) ASSERT_LT(part, 100'000U);
    };
    if (engine_.collecting()) drain();
    drain();
    Engine fresh;
    for (const auto& [name, record] : records_) fresh.Put(record);
    Expect(told_, SaidBy(fresh.All()));
  }
  std::uint32_t longest() const { return longest_; }

  // It is not affected by later changes.
  void CheckView() {
    const EvaluationView view = engine_.View();
    const Said then = SaidBy(Copy(view));
    for (int step = 0; step < 4; ++step) Step();
    (void)engine_.All();
    Expect(SaidBy(Copy(view)), then);
  }

 private:
  bool TakePart() {
    ++parts_;
    const auto delta = engine_.TakePart(1 + Below(random_, 150));
    if (!delta) return false;
    longest_ = std::max(longest_, std::exchange(parts_, 0));
    Apply(*delta);
    return true;
  }
  void Apply(const Delta& delta) {
    for (const v1::Finding& finding : delta.found) told_[finding.id()] = TextOf(finding);
    for (const std::string& id : delta.gone) told_.erase(id);
    told_["counts"] = delta.counts.ShortDebugString();
  }

  Random random_;
  std::uint32_t parts_ = 0, longest_ = 0;  // Of an evaluation
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
      if (step % 4 != 3) continue;
      world.CheckView();
      world.Check();
    }
  }
}

TEST(EngineProperty, JudgingInPartsFindsTheSameAlsoWhenNodesChangeBetweenThem) {
  std::uint32_t longest = 0;
  for (std::uint32_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    World world(seed);
    for (std::uint32_t step = 1; step <= 600 && !::testing::Test::HasFailure(); ++step) {
      world.StepInParts();
      if (step % 100 == 0) world.CheckInParts();
    }
    longest = std::max(longest, world.longest());
  }
  EXPECT_GT(longest, 20U) << "parts of one evaluation: too few to test anything";
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
    fleet::AssignRails(records);
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

// Some rules of counters judge by a profile alone.
profile::Profile ForCounters() {
  v1::Expectations expectations;
  expectations.set_ecn(true);
  expectations.set_cnp_max_percent(1);
  expectations.set_lossless(true);
  return Expecting(expectations);
}

bool ReadsCounters(const Rule& rule) {
  return rule.needs.contains(Input::kCounters);
}

// What a rule says of each node alone, findings and passes.
std::vector<std::string> SaidOfNodes(const Rule& rule,
                                     const std::vector<fleet::NodeRecord>& records) {
  std::vector<std::string> said;
  const fleet::FleetView view(records, ForCounters());
  for (const fleet::NodeView& node : view.nodes()) {
    Verdicts out(rule.id, rule.severity);
    rule.evaluate_node(node, out);
    said.push_back(Format("{} passes", out.passes()));
    for (const v1::Finding& finding : out.findings()) said.push_back(finding.ShortDebugString());
  }
  return said;
}

// The engine runs these alone after a window of counters: one that reads counters without saying so
// would go on saying what it said before.
TEST(EngineProperty, RulesReadCountersExactlyWhenTheySayThatTheyNeedThem) {
  std::set<std::string_view> moved;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    std::vector<fleet::NodeRecord> records;
    for (std::uint32_t number = 1; number <= 6; ++number) {
      fleet::NodeRecord& record = records.emplace_back();
      record.snapshot = RandomNode(number, random);
      record.name = record.snapshot.node().name();
    }
    const std::vector<fleet::NodeRecord> before = records;
    for (fleet::NodeRecord& record : records) MoveCounters(record, random);
    for (const Rule* rule : AllRules()) {
      if (rule->evaluate_node == nullptr) continue;
      if (SaidOfNodes(*rule, before) == SaidOfNodes(*rule, records)) continue;
      EXPECT_TRUE(ReadsCounters(*rule)) << rule->id << " reads counters, its needs do not say so";
      moved.insert(rule->id);
    }
  }
  for (const Rule* rule : AllRules()) {
    if (!ReadsCounters(*rule)) continue;
    EXPECT_NE(rule->evaluate_node, nullptr) << rule->id << ": only rules of one node may";
    EXPECT_TRUE(moved.contains(rule->id)) << rule->id << " never said anything of counters";
  }
}

TEST(EngineProperty, ReportsOfCountersAloneSayWhatAllRulesSay) {
  std::set<std::string> failed;
  const profile::Profile profile = ForCounters();
  for (std::uint32_t seed = 1; seed <= 12 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Random random(seed);
    std::map<std::string, fleet::NodeRecord> records;
    Engine engine(profile);
    Said told;
    for (std::uint32_t number = 1; number <= 5; ++number) {
      v1::NodeSnapshot node = RandomNode(number, random);
      fleet::NodeRecord& record = records[node.node().name()];
      record.name = node.node().name();
      record.snapshot = std::move(node);
      record.version = number;
      engine.Put(record);
    }
    for (std::uint32_t report = 0; report < 30; ++report) {
      fleet::NodeRecord& record = records[Format("n{}", 1 + Below(random, 5))];
      MoveCounters(record, random);
      engine.Put(record);
      const Delta delta = engine.Take();
      for (const v1::Finding& finding : delta.found) told[finding.id()] = TextOf(finding);
      for (const std::string& id : delta.gone) told.erase(id);
      told["counts"] = delta.counts.ShortDebugString();
      Engine fresh(profile);
      for (const auto& [name, each] : records) fresh.Put(each);
      const Evaluation all = fresh.All();
      for (const v1::Finding& finding : all.findings) failed.insert(finding.rule());
      Expect(told, SaidBy(all));
    }
  }
  for (const Rule* rule : AllRules())
    if (ReadsCounters(*rule)) {
      EXPECT_TRUE(failed.contains(std::string(rule->id))) << rule->id;
    }
}

}  // namespace
}  // namespace fabric::rules
