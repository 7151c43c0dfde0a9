// Causes between findings of different rules: the table, chains, and independence of order.
#include "daemon/rules/causes/cause_graph.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>

#include "base/text.h"
#include "daemon/rules/causes/finding_aggregator.h"
#include "daemon/rules/rule.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kNodes = 6;
constexpr std::uint32_t kRails = 2;

const Rule* Find(std::string_view id) {
  for (const Rule* rule : AllRules())
    if (rule->id == id) return rule;
  return nullptr;
}

// A failure as its rule would report it; of port 1 of the device of a rail.
v1::Finding Failure(const std::string& rule, const std::string& node, std::uint32_t rail,
                    const std::string& counter = "", v1::Scope scope = v1::SCOPE_PORT) {
  v1::Finding finding;
  finding.set_id(Format("{} {}/{}", rule, node, rail));
  finding.set_rule(rule);
  finding.set_verdict(v1::VERDICT_FAIL);
  finding.set_severity(Find(rule)->severity);
  finding.set_title(rule + " fails");
  v1::Subject& subject = *finding.mutable_subject();
  subject.set_scope(scope);
  subject.set_node(node);
  if (scope != v1::SCOPE_NODE) subject.set_device(Format("mlx5_{}", rail));
  if (scope == v1::SCOPE_PORT) subject.set_port(1);
  v1::Evidence& evidence = *finding.add_evidence();
  evidence.set_what(counter);
  evidence.set_expected("less");
  evidence.set_seen(Format("as much as only {} {} has", node, rail));
  return finding;
}

class CauseGraphTest : public ::testing::Test {
 protected:
  CauseGraphTest() {
    Wire([](std::uint32_t, std::uint32_t) { return "leaf1"; });
  }

  // Plugs rail r of each node (from 0) into a switch; "": nobody is heard.
  void Wire(const std::function<std::string(std::uint32_t, std::uint32_t)>& leaf) {
    snapshots = testing::Nodes(kNodes, testing::RoceNode, {.rails = kRails});
    for (std::uint32_t node = 0; node < kNodes; ++node)
      for (std::uint32_t rail = 0; rail < kRails; ++rail)
        if (const std::string name = leaf(node, rail); !name.empty())
          testing::Hear(snapshots[node], rail, name, Format("swp{}{}", node, rail));
    records.clear();
    for (const v1::NodeSnapshot& snapshot : snapshots)
      records.push_back({.name = snapshot.node().name(), .snapshot = snapshot});
    for (const fleet::NodeRecord& record : records)
      grouping.Put(ViewOf(record, profile, expectations));
  }
  void Take(std::vector<v1::Finding> found, std::vector<std::string> gone = {}) {
    grouping.Take({.counts = {}, .found = std::move(found), .gone = std::move(gone)});
  }
  v1::Finding Known(const std::string& id) {
    for (const v1::Finding& finding : grouping.All().findings)
      if (finding.id() == id) return finding;
    return {};
  }
  std::string CauseOf(const std::string& id) { return Known(id).explained_by(); }

  profile::Profile profile;
  fleet::ExpectationTable expectations;
  std::vector<v1::NodeSnapshot> snapshots;
  std::vector<fleet::NodeRecord> records;
  FindingAggregator grouping;
};

TEST(CauseRules, NameRulesThatExist) {
  for (const CauseRule& row : CauseRules()) {
    SCOPED_TRACE(row.why);
    EXPECT_FALSE(row.causes.empty());
    EXPECT_FALSE(row.effects.empty());
    for (const auto rules : {row.causes, row.effects})
      for (const std::string_view rule : rules) EXPECT_NE(Find(rule), nullptr) << rule;
  }
}

TEST(CauseRules, HaveNoCircles) {
  std::map<std::string_view, std::set<std::string_view>> effects;
  for (const CauseRule& row : CauseRules())
    for (const std::string_view cause : row.causes)
      effects[cause].insert(row.effects.begin(), row.effects.end());
  const std::function<bool(std::string_view, std::string_view)> leads = [&](std::string_view from,
                                                                            std::string_view to) {
    return std::ranges::any_of(
        effects[from], [&](std::string_view next) { return next == to || leads(next, to); });
  };
  for (const auto& [cause, of_it] : std::map(effects)) EXPECT_FALSE(leads(cause, cause)) << cause;
}

TEST_F(CauseGraphTest, EachRowExplainsWhereItSays) {
  for (const CauseRule& row : CauseRules())
    for (const std::string_view cause_rule : row.causes)
      for (const std::string_view effect_rule : row.effects) {
        SCOPED_TRACE(Format("{}: {} of {}", row.why, cause_rule, effect_rule));
        const bool of_node = row.where == Where::kNode;
        const v1::Scope scope = of_node                     ? v1::SCOPE_NODE
                                : row.where == Where::kCard ? v1::SCOPE_DEVICE
                                                            : v1::SCOPE_PORT;
        const std::string cause_node = row.where == Where::kPeer ? "n2" : "n1";
        const v1::Finding cause =
            Failure(std::string(cause_rule), cause_node, 0, std::string(row.cause_counter), scope);
        const std::string counter(row.counter);
        const std::string rule(effect_rule);
        const v1::Finding here = Failure(rule, "n1", 0, counter);
        const v1::Finding next = Failure(rule, "n1", 1, counter);
        const v1::Finding other = Failure(rule, row.where == Where::kPeer ? "" : "n3", 0, counter);
        Take({other, next, here, cause});
        EXPECT_EQ(CauseOf(here.id()), cause.id());
        const bool reaches = of_node || row.where == Where::kPeer;
        EXPECT_EQ(CauseOf(next.id()), reaches ? cause.id() : "") << "another card";
        EXPECT_EQ(CauseOf(other.id()), "") << "elsewhere";
        EXPECT_EQ(CauseOf(cause.id()), "");
        if (!counter.empty()) {
          Take({Failure(rule, "n1", 0, "something else")});
          EXPECT_EQ(CauseOf(here.id()), "") << "of another counter";
        }
        Take({}, {cause.id()});
        EXPECT_EQ(CauseOf(here.id()), "") << "the cause is mended";
        Take({}, {here.id(), next.id(), other.id()});
        EXPECT_THAT(grouping.All().findings, IsEmpty());
      }
}

TEST_F(CauseGraphTest, TheOneThatPausesTheSwitchExplainsItsPeers) {
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_received_within_limit", "n2", 1),
        Failure("pause_sent_within_limit", "n4", 0)});
  const v1::Finding cause = Known("pause_sent_within_limit n4/0");
  EXPECT_THAT(cause.explains(),
              ElementsAre("pause_received_within_limit n1/0", "pause_received_within_limit n2/1"));
  EXPECT_EQ(cause.explained_by(), "");
  for (const std::string& id : cause.explains()) EXPECT_EQ(CauseOf(id), cause.id());
}

TEST_F(CauseGraphTest, OfTwoThatPauseTheSwitchTheOneOnTheRailExplains) {
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_received_within_limit", "n1", 1),
        Failure("pause_sent_within_limit", "n4", 0), Failure("no_pause_storm", "n5", 1)});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "pause_sent_within_limit n4/0");
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/1"), "no_pause_storm n5/1");
}

TEST_F(CauseGraphTest, WhoeverItIsOfTwoOnOneRailNobodyIsTheCause) {
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_sent_within_limit", "n4", 0), Failure("pause_sent_within_limit", "n5", 0)});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "");
  Take({}, {"pause_sent_within_limit n4/0"});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "pause_sent_within_limit n5/0");
}

TEST_F(CauseGraphTest, ASwitchHasNothingToDoWithPeersOfAnother) {
  Wire([](std::uint32_t node, std::uint32_t) { return node < 3 ? "leaf1" : "leaf2"; });
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_received_within_limit", "n6", 0),
        Failure("pause_sent_within_limit", "n4", 0)});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "");
  EXPECT_EQ(CauseOf("pause_received_within_limit n6/0"), "pause_sent_within_limit n4/0");
}

TEST_F(CauseGraphTest, WhereNoSwitchIsKnownTheRailCounts) {
  Wire([](std::uint32_t, std::uint32_t) { return ""; });
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_received_within_limit", "n1", 1),
        Failure("pause_sent_within_limit", "n4", 0)});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "pause_sent_within_limit n4/0");
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/1"), "");
}

TEST_F(CauseGraphTest, ARailOfMoreThanOneSwitchIsNotPausedByOne) {
  std::vector<v1::NodeSnapshot> many = testing::Nodes(258, testing::RoceNode, {.rails = 1});
  std::vector<fleet::NodeRecord> of_many;
  for (const v1::NodeSnapshot& snapshot : many)
    of_many.push_back({.name = snapshot.node().name(), .snapshot = snapshot});
  grouping = FindingAggregator();
  for (const fleet::NodeRecord& record : of_many)
    grouping.Put(ViewOf(record, profile, expectations));
  std::vector<v1::Finding> found = {Failure("pause_sent_within_limit", "n1", 0)};
  for (int node = 2; node <= 257; ++node)
    found.push_back(Failure("pause_received_within_limit", Format("n{}", node), 0));
  Take(std::move(found));
  EXPECT_EQ(CauseOf("pause_received_within_limit n7/0"), "pause_sent_within_limit n1/0");
  Take({Failure("pause_received_within_limit", "n258", 0)});
  EXPECT_EQ(CauseOf("pause_received_within_limit n7/0"), "");
  Take({}, {"pause_received_within_limit n258/0"});
  EXPECT_EQ(CauseOf("pause_received_within_limit n7/0"), "pause_sent_within_limit n1/0");
}

TEST_F(CauseGraphTest, APortThatIsPluggedElsewhereIsLookedAtAgain) {
  Take({Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_sent_within_limit", "n4", 0)});
  grouping.News();
  Wire([](std::uint32_t node, std::uint32_t) { return node == 3 ? "leaf2" : "leaf1"; });
  Take({});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "");
  EXPECT_THAT(grouping.News().found, SizeIs(2));
}

TEST_F(CauseGraphTest, AChainIsExplainedByItsBeginning) {
  Take({Failure("pcie_link_width_as_capable", "n4", 0, "", v1::SCOPE_DEVICE),
        Failure("pause_received_within_limit", "n1", 0),
        Failure("pause_sent_within_limit", "n4", 0)});
  const std::string pcie = "pcie_link_width_as_capable n4/0";
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), pcie);
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), pcie);
  EXPECT_THAT(Known(pcie).explains(), SizeIs(2));
  EXPECT_THAT(Known("pause_sent_within_limit n4/0").explains(), IsEmpty());
  grouping.News();

  Take({}, {pcie});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "");
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "pause_sent_within_limit n4/0");
  EXPECT_THAT(grouping.News().found, SizeIs(2));

  Take({}, {"pause_sent_within_limit n4/0"});
  EXPECT_EQ(CauseOf("pause_received_within_limit n1/0"), "") << "a fault of its own again";
}

TEST_F(CauseGraphTest, TheNarrowLinkOfAGpuExplainsNothingOfNics) {
  Take({Failure("pcie_link_width_as_capable", "n4", 0, "", v1::SCOPE_NODE),
        Failure("pause_sent_within_limit", "n4", 0)});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "");
}

TEST_F(CauseGraphTest, AWarningThatExplainsAnErrorIsOne) {
  Take({Failure("iommu_passes_through", "n4", 0, "", v1::SCOPE_NODE)});
  EXPECT_EQ(Known("iommu_passes_through n4/0").severity(), v1::SEVERITY_WARNING);
  grouping.News();
  Take({Failure("pause_sent_within_limit", "n4", 0)});
  EXPECT_EQ(Known("iommu_passes_through n4/0").severity(), v1::SEVERITY_ERROR);
  EXPECT_THAT(grouping.News().found, SizeIs(2));
  Take({}, {"pause_sent_within_limit n4/0"});
  EXPECT_EQ(Known("iommu_passes_through n4/0").severity(), v1::SEVERITY_WARNING);
  EXPECT_THAT(grouping.News().found, SizeIs(1));
}

// Others have it too, and do not pause: it is not enough.
TEST_F(CauseGraphTest, WhatAnotherNodeHasTooIsNotTheCause) {
  Take({Failure("iommu_passes_through", "n4", 0, "", v1::SCOPE_NODE),
        Failure("pause_sent_within_limit", "n4", 0)});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "iommu_passes_through n4/0");
  Take({Failure("iommu_passes_through", "n5", 0, "", v1::SCOPE_NODE)});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "");
  Take({Failure("iommu_passes_through", "n6", 0, "", v1::SCOPE_NODE)},
       {"iommu_passes_through n5/0"});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "");
  Take({}, {"iommu_passes_through n6/0"});
  EXPECT_EQ(CauseOf("pause_sent_within_limit n4/0"), "iommu_passes_through n4/0");
}

// The ports of n4 have lost PFC alike.
std::vector<v1::Finding> PfcLost() {
  std::vector<v1::Finding> found;
  for (const std::uint32_t rail : {0U, 1U}) {
    found.push_back(Failure("pfc_equal_on_rail", "n4", rail));
    found.back().mutable_evidence(0)->set_seen("none");
  }
  return found;
}

TEST_F(CauseGraphTest, WhatStandsForTheCauseExplains) {
  std::vector<v1::Finding> found = PfcLost();
  found.push_back(Failure("packets_in_sequence", "n4", 1));
  Take(std::move(found));
  const std::string whole = CauseOf("pfc_equal_on_rail n4/0");
  ASSERT_NE(whole, "");
  EXPECT_EQ(CauseOf("packets_in_sequence n4/1"), whole);
  EXPECT_THAT(Known(whole).explains(),
              UnorderedElementsAre("pfc_equal_on_rail n4/0", "pfc_equal_on_rail n4/1",
                                   "packets_in_sequence n4/1"));
  Take({}, {"pfc_equal_on_rail n4/0"});
  EXPECT_EQ(CauseOf("packets_in_sequence n4/1"), "pfc_equal_on_rail n4/1");
  Take({}, {"pfc_equal_on_rail n4/1"});
  EXPECT_EQ(CauseOf("packets_in_sequence n4/1"), "");
}

TEST_F(CauseGraphTest, WhatHasACauseIsNoPartOfAnother) {
  std::vector<v1::Finding> found = PfcLost();
  for (const std::uint32_t rail : {0U, 1U}) {
    found.push_back(Failure("packets_in_sequence", "n4", rail));
    found.back().mutable_evidence(0)->set_seen("alike");
  }
  Take(std::move(found));
  const std::string whole = CauseOf("pfc_equal_on_rail n4/0");
  for (const char* const id : {"packets_in_sequence n4/0", "packets_in_sequence n4/1"})
    EXPECT_EQ(CauseOf(id), whole);
  EXPECT_THAT(grouping.All().findings, SizeIs(5)) << "one represents all four";
  Take({}, {"pfc_equal_on_rail n4/0", "pfc_equal_on_rail n4/1"});
  const std::string lost = CauseOf("packets_in_sequence n4/0");
  EXPECT_NE(lost, "");
  EXPECT_EQ(CauseOf("packets_in_sequence n4/1"), lost);
}

std::string Text(const Evaluation& evaluation) {
  std::string text;
  for (const v1::Finding& finding : evaluation.findings) text += finding.ShortDebugString() + "\n";
  return text;
}

// All that can be found, some of it alike on both ports of a node.
std::vector<v1::Finding> AllFailures() {
  std::vector<v1::Finding> all;
  for (std::uint32_t number = 1; number <= kNodes; ++number) {
    const std::string node = Format("n{}", number);
    for (const char* const rule : {"iommu_passes_through", "acs_off_between_gpu_and_nic"})
      all.push_back(Failure(rule, node, 0, "", v1::SCOPE_NODE));
    for (std::uint32_t rail = 0; rail < kRails; ++rail) {
      all.push_back(Failure("pcie_link_width_as_capable", node, rail, "", v1::SCOPE_DEVICE));
      for (const char* const rule :
           {"pause_sent_within_limit", "no_pause_storm", "pause_received_within_limit",
            "pfc_equal_on_rail", "packets_in_sequence", "rdma_on_lossless_priority"}) {
        all.push_back(Failure(rule, node, rail));
        if (rail + number % 2 < 2) all.back().mutable_evidence(0)->set_seen("alike");
      }
      for (const char* const counter : {"rx_discards", "tx_discards"}) {
        all.push_back(Failure("discards_like_equals", node, rail, counter));
        all.back().set_id(Format("{} {}", all.back().id(), counter));
      }
    }
  }
  return all;
}

// A life of comings, goings and changes against a grouping that is told of the end alone; what the
// news say adds up to the same.
TEST_F(CauseGraphTest, TheOrderOfWhatIsFoundMeansNothing) {
  const std::vector<v1::Finding> all = AllFailures();
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    std::map<std::string, v1::Finding> now;
    std::map<std::string, v1::Finding> told;
    grouping = FindingAggregator();
    Wire([&](std::uint32_t, std::uint32_t) { return random() % 4 == 0 ? "" : "leaf1"; });
    for (int step = 0; step < 40; ++step) {
      if (step == 20)
        Wire([&](std::uint32_t node, std::uint32_t) { return node < 3 ? "leaf1" : "leaf2"; });
      Delta delta;
      for (std::uint32_t i = 0; i < 1 + random() % 6; ++i) {
        v1::Finding finding = all[random() % all.size()];
        if (now.erase(finding.id()) > 0 && random() % 3 > 0) {
          delta.gone.push_back(finding.id());
          continue;
        }
        if (random() % 4 == 0) finding.mutable_evidence(0)->set_seen("alike");
        now[finding.id()] = finding;
      }
      std::erase_if(delta.gone, [&](const std::string& id) { return now.contains(id); });
      for (const auto& [id, finding] : now)
        if (const auto before = told.find(id);
            before == told.end() || before->second.evidence(0).seen() != finding.evidence(0).seen())
          delta.found.push_back(finding);
      grouping.Take(std::move(delta));
      const Delta news = grouping.News();
      for (const std::string& id : news.gone) told.erase(id);
      for (const v1::Finding& finding : news.found) told[finding.id()] = finding;
      if (step % 4 != 3) continue;
      FindingAggregator fresh;
      for (const fleet::NodeRecord& record : records)
        fresh.Put(ViewOf(record, profile, expectations));
      Delta at_once;
      for (const auto& [id, finding] : now) at_once.found.push_back(finding);
      std::shuffle(at_once.found.begin(), at_once.found.end(), random);
      fresh.Take(std::move(at_once));
      Evaluation heard;
      for (const auto& [id, finding] : told) heard.findings.push_back(finding);
      ASSERT_EQ(Text(grouping.All()), Text(fresh.All())) << "seed " << seed << " step " << step;
      ASSERT_EQ(Text(heard), Text(grouping.All())) << "seed " << seed << " step " << step;
    }
  }
}

// From counters to one finding: a card that fell to eight lanes, its host that pauses, and all
// that send to it.
TEST(OneFault, IsOneFindingWhateverItEntails) {
  testing::Pair pair = testing::PairOf(testing::Nodes(4, testing::RoceNode, {.rails = 2}));
  for (auto* const nodes : {&pair.before, &pair.after}) {
    testing::WireByRail(*nodes);
    for (v1::PciFunction& function : *(*nodes)[1].mutable_pci_functions())
      if (function.address() == testing::DeviceOf((*nodes)[1], 0).pci_address())
        function.mutable_link()->set_width(8);
  }
  testing::Count(pair, 1, 0, "pfc_tx_duration_us_prio3", 12'000'000);
  for (const std::size_t peer : {0U, 2U, 3U})
    testing::Count(pair, peer, 0, "pfc_rx_duration_us_prio3", 9'000'000);
  std::vector<fleet::NodeRecord> records;
  for (std::size_t i = 0; i < pair.after.size(); ++i)
    records.push_back({.name = pair.after[i].node().name(),
                       .snapshot = pair.after[i],
                       .rates = fleet::CounterRates::Between(pair.before[i], pair.after[i])});
  const Evaluation judged = Evaluate(fleet::FleetView(records));
  std::vector<std::string> causes;
  for (const v1::Finding& finding : judged.findings)
    if (finding.explained_by().empty()) causes.push_back(finding.rule());
  EXPECT_THAT(causes, ElementsAre("pcie_link_width_as_capable"));
  EXPECT_THAT(judged.findings, SizeIs(5)) << "the others are there to be seen";
}

}  // namespace
}  // namespace fabric::rules
