#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::NodeSnapshot Node(const std::string& name, const std::string& kernel) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name(name);
  snapshot.mutable_node()->set_kernel_release(kernel);
  snapshot.mutable_taken_at()->set_seconds(1000);
  return snapshot;
}

v1::Finding Finding(const std::string& id, v1::FindingState state, const std::string& title,
                    int at) {
  v1::Finding finding;
  finding.set_id(id);
  finding.set_state(state);
  finding.set_title(title);
  finding.mutable_changed_at()->set_seconds(at);
  if (state == v1::FINDING_STATE_RESOLVED) finding.mutable_resolved_at()->set_seconds(at);
  return finding;
}

// What PutFinding is given beside the finding.
v1::FindingRecord Record(v1::FindingAction action, int at, const std::string& author = "") {
  v1::FindingRecord record;
  record.set_action(action);
  record.mutable_at()->set_seconds(at);
  record.set_author(author);
  return record;
}

v1::Silence Silence(const std::string& id, int until) {
  v1::Silence silence;
  silence.set_id(id);
  silence.mutable_until()->set_seconds(until);
  return silence;
}

v1::Campaign Campaign(const std::string& id, v1::CampaignState state) {
  v1::Campaign campaign;
  campaign.set_id(id);
  campaign.set_state(state);
  return campaign;
}

v1::PairResult PairOf(const std::string& from, const std::string& to) {
  v1::PairResult result;
  result.mutable_from()->set_node(from);
  result.mutable_to()->set_node(to);
  result.mutable_ended_at()->set_seconds(2000);
  return result;
}

template <class Messages>
std::vector<std::string> Ids(const Messages& messages) {
  std::vector<std::string> ids;
  for (const auto& message : messages) ids.push_back(message.id());
  return ids;
}

class StoreTest : public StoreCase {
 protected:
  Status Put(const v1::Finding& finding) {
    return store_->PutFinding(finding, Record(v1::FINDING_ACTION_OPENED, 1));
  }

  Status Add(const std::vector<CampaignResult>& results) { return store_->AddPairResults(results); }
};

TEST_F(StoreTest, StartsEmpty) {
  EXPECT_THAT(*store_->Nodes(), IsEmpty());
  EXPECT_THAT(*store_->OpenFindings(), IsEmpty());
  EXPECT_THAT(*store_->ResolvedFindings(10), IsEmpty());
  EXPECT_THAT(*store_->Campaigns(10), IsEmpty());
}

TEST_F(StoreTest, KeepsTheMemoryOfANode) {
  v1::NodeMemory memory;
  memory.add_switches()->set_name("leaf-7");
  ASSERT_TRUE(store_->PutNode(Node("n1", "6.1"), memory).ok());
  Open();
  EXPECT_EQ(store_->Nodes()->front().memory.switches(0).name(), "leaf-7");
}

TEST_F(StoreTest, AMemoryThatCannotBeDecodedCostsNoSnapshot) {
  ASSERT_TRUE(store_->PutNode(Node("n1", "6.1"), {}).ok());
  store_.reset();
  {
    const auto tables = OpenTables(path_);
    ASSERT_TRUE(tables.ok()) << tables.status().message();
    const auto spoil = (*tables)->Make("UPDATE nodes SET memory = $1");
    ASSERT_TRUE((*spoil)->Blob(0, "\xff").Run().ok());
  }
  Open();
  EXPECT_EQ(store_->Nodes()->front().snapshot.node().kernel_release(), "6.1");
  EXPECT_EQ(store_->damage().rows, 1u);
}

TEST_F(StoreTest, KeepsTheLabelsOfANodeUntilItsRemoval) {
  v1::SetNodeLabelsRequest labels;
  for (const char* const node : {"n2", "n1"}) {
    ASSERT_TRUE(store_->PutNode(Node(node, "6.1"), {}).ok());
    labels.set_name(node);
    (*labels.mutable_set())["pool"] = "h100";
    ASSERT_TRUE(store_->PutNodeLabels(labels).ok());
  }
  (*labels.mutable_set())["pool"] = "h200";
  ASSERT_TRUE(store_->PutNodeLabels(labels).ok());
  Open();
  const auto both = store_->NodeLabels();
  ASSERT_EQ(both->size(), 2u);
  EXPECT_EQ((*both)[0].name(), "n1");
  EXPECT_EQ((*both)[0].set().at("pool"), "h200");
  EXPECT_EQ((*both)[1].set().at("pool"), "h100");
  ASSERT_TRUE(store_->DeleteNode("n1").ok());
  labels.set_name("n2");
  labels.clear_set();
  ASSERT_TRUE(store_->PutNodeLabels(labels).ok());
  Open();
  EXPECT_THAT(*store_->NodeLabels(), IsEmpty());
  EXPECT_EQ(store_->Nodes()->size(), 1u);
}

TEST_F(StoreTest, KeepsTheNewestSnapshotOfANode) {
  ASSERT_TRUE(store_->PutNode(Node("n2", "6.1"), {}).ok());
  ASSERT_TRUE(store_->PutNode(Node("n1", "6.1"), {}).ok());
  ASSERT_TRUE(store_->PutNode(Node("n2", "6.9"), {}).ok());
  Open();
  const auto nodes = store_->Nodes();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].snapshot.node().name(), "n1");
  EXPECT_EQ((*nodes)[1].snapshot.node().kernel_release(), "6.9");
  EXPECT_EQ((*nodes)[1].snapshot.taken_at().seconds(), 1000);
}

TEST_F(StoreTest, KeepsOpenFindingsAcrossARestart) {
  ASSERT_TRUE(Put(Finding("a", v1::FINDING_STATE_OPEN, "first", 1)).ok());
  ASSERT_TRUE(Put(Finding("b", v1::FINDING_STATE_OPEN, "first", 2)).ok());
  ASSERT_TRUE(Put(Finding("a", v1::FINDING_STATE_OPEN, "second", 3)).ok());
  ASSERT_TRUE(Put(Finding("b", v1::FINDING_STATE_RESOLVED, "first", 4)).ok());
  Open();
  const auto open = store_->OpenFindings();
  ASSERT_THAT(Ids(*open), ElementsAre("a"));
  EXPECT_EQ(open->front().title(), "second");
  EXPECT_THAT(Ids(*store_->ResolvedFindings(10)), ElementsAre("b"));
}

TEST_F(StoreTest, RemembersEveryResolutionNewestFirst) {
  for (const char* id : {"a", "b", "a"}) {
    ASSERT_TRUE(Put(Finding(id, v1::FINDING_STATE_OPEN, "", 1)).ok());
    ASSERT_TRUE(Put(Finding(id, v1::FINDING_STATE_RESOLVED, "", 2)).ok());
  }
  EXPECT_THAT(Ids(*store_->ResolvedFindings(10)), ElementsAre("a", "b", "a"));
  EXPECT_THAT(Ids(*store_->ResolvedFindings(2)), ElementsAre("a", "b"));
  EXPECT_THAT(*store_->OpenFindings(), IsEmpty());
}

TEST_F(StoreTest, KeepsWhatWasDoneToAFinding) {
  v1::Finding finding = Finding("a", v1::FINDING_STATE_OPEN, "MTU 1500", 1);
  ASSERT_TRUE(store_->PutFinding(finding, Record(v1::FINDING_ACTION_OPENED, 1)).ok());
  ASSERT_TRUE(store_->PutFinding(finding, Record(v1::FINDING_ACTION_SILENCED, 2, "ada")).ok());
  finding.set_id("b");
  ASSERT_TRUE(store_->PutFinding(finding, Record(v1::FINDING_ACTION_OPENED, 3)).ok());
  Open();
  const auto history = store_->FindingHistory("a");
  ASSERT_TRUE(history.ok()) << history.status().message();
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ((*history)[0].action(), v1::FINDING_ACTION_OPENED);
  EXPECT_EQ((*history)[1].author(), "ada");
  EXPECT_EQ((*history)[1].at().seconds(), 2);
  EXPECT_THAT(*store_->FindingHistory("c"), IsEmpty());
}

TEST_F(StoreTest, FindsFindingsByTheBeginningOfTheirIds) {
  for (const char* id : {"ab1", "ab2", "ac1", "a%"})
    ASSERT_TRUE(Put(Finding(id, v1::FINDING_STATE_OPEN, "", 1)).ok());
  ASSERT_TRUE(Put(Finding("ab2", v1::FINDING_STATE_RESOLVED, "", 2)).ok());
  EXPECT_THAT(Ids(*store_->FindingsFrom("ab", 10)), ElementsAre("ab1", "ab2"));
  EXPECT_THAT(Ids(*store_->FindingsFrom("ab", 1)), ElementsAre("ab1"));
  EXPECT_THAT(Ids(*store_->FindingsFrom("ac1", 10)), ElementsAre("ac1"));
  EXPECT_THAT(Ids(*store_->FindingsFrom("a%", 10)), ElementsAre("a%"));
  EXPECT_THAT(*store_->FindingsFrom("ab12", 10), IsEmpty());
}

TEST_F(StoreTest, KeepsSilences) {
  ASSERT_TRUE(store_->PutSilence(Silence("s1", 100)).ok());
  ASSERT_TRUE(store_->PutSilence(Silence("s2", 100)).ok());
  ASSERT_TRUE(store_->PutSilence(Silence("s1", 50)).ok());
  Open();
  const auto silences = store_->Silences();
  ASSERT_THAT(Ids(*silences), ElementsAre("s1", "s2"));
  EXPECT_EQ(silences->front().until().seconds(), 50);
}

TEST_F(StoreTest, ListsCampaignsNewestFirstAndBare) {
  ASSERT_TRUE(store_->PutCampaign(Campaign("c1", v1::CAMPAIGN_STATE_RUNNING)).ok());
  ASSERT_TRUE(Add({{"c1", PairOf("n1", "n2")}}).ok());
  ASSERT_TRUE(store_->PutCampaign(Campaign("c2", v1::CAMPAIGN_STATE_RUNNING)).ok());
  v1::Campaign done = Campaign("c1", v1::CAMPAIGN_STATE_DONE);
  *done.add_results() = PairOf("n8", "n9");
  ASSERT_TRUE(store_->PutCampaign(done).ok());
  Open();
  const auto campaigns = store_->Campaigns(10);
  ASSERT_THAT(Ids(*campaigns), ElementsAre("c2", "c1"));
  EXPECT_EQ((*campaigns)[1].state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ((*campaigns)[1].results_size(), 0);
  EXPECT_THAT(Ids(*store_->Campaigns(1)), ElementsAre("c2"));
}

TEST_F(StoreTest, GivesTheResultsOfOneCampaignInPagesInTheOrderOfTheirEnd) {
  ASSERT_TRUE(store_->PutCampaign(Campaign("c1", v1::CAMPAIGN_STATE_RUNNING)).ok());
  ASSERT_TRUE(Add({{"c1", PairOf("n1", "n2")}, {"c2", PairOf("n5", "n6")}}).ok());
  ASSERT_TRUE(Add({{"c1", PairOf("n3", "n1")}, {"c1", PairOf("n4", "n1")}}).ok());
  Open();
  const auto first = store_->Results("c1", 0, 2);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].result.from().node(), "n1");
  EXPECT_EQ((*first)[1].result.from().node(), "n3");
  const auto second = store_->Results("c1", (*first)[1].sequence, 2);
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ((*second)[0].result.from().node(), "n4");
  EXPECT_TRUE(store_->Results("c1", (*second)[0].sequence, 2)->empty());
  EXPECT_TRUE(store_->Results("c7", 0, 2)->empty());
}

TEST_F(StoreTest, TakesNamesAsTheyAre) {
  const std::string name = "n1'; DROP TABLE nodes; --";
  ASSERT_TRUE(store_->PutNode(Node(name, ""), {}).ok());
  ASSERT_EQ(store_->Nodes()->size(), 1u);
  EXPECT_EQ(store_->Nodes()->front().snapshot.node().name(), name);
}

}  // namespace
}  // namespace fabric::store
