// A state moves from SQLite to PostgreSQL and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/store/copy.h"
#include "daemon/store/postgres/postgres.h"
#include "daemon/store/schema.h"
#include "tests/unit/store/postgres_backend.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using ::testing::HasSubstr;

class CopyTest : public ::testing::Test {
 protected:
  CopyTest() { ClearBackend(""); }

  // A row in each table, and bytes and names that need care.
  static void Fill(Store& store) {
    v1::NodeSnapshot node;
    node.mutable_node()->set_name("n'1\u00e4");
    node.mutable_taken_at()->set_seconds(5);
    ASSERT_TRUE(store.PutNode(node, {}).ok());
    v1::Finding finding;
    finding.set_state(v1::FINDING_STATE_OPEN);
    for (const char* const id : {"f1", "f2"}) {
      finding.set_id(id);
      ASSERT_TRUE(store.PutFinding(finding, {}).ok());
    }
    v1::Silence silence;
    for (const char* const id : {"z", "a"}) {
      silence.set_id(id);
      ASSERT_TRUE(store.PutSilence(silence).ok());
    }
    v1::Campaign campaign;
    campaign.set_id("c1");
    ASSERT_TRUE(store.PutCampaign(campaign).ok());
    const CampaignResult result = {.campaign = "c1", .result = {}};
    ASSERT_TRUE(store.AddPairResults({&result, 1}).ok());
    v1::GetCertificateResponse certificate;
    certificate.mutable_certificate()->set_id("cert");
    ASSERT_TRUE(store.PutCertificate(certificate).ok());
    v1::ScheduleRecord schedule;
    schedule.mutable_schedule()->set_id("daily");
    ASSERT_TRUE(store.PutSchedule(schedule).ok());
    v1::NodeAction action;
    action.set_id("a1");
    ASSERT_TRUE(store.PutNodeAction(action).ok());
    v1::SetNodeLabelsRequest labels;
    labels.set_name("n1");
    (*labels.mutable_set())["pool"] = "h100";
    ASSERT_TRUE(store.PutNodeLabels(labels).ok());
    v1::SubnetHistory history;
    history.set_subnet("mlx5_0/1");
    ASSERT_TRUE(store.PutSubnetHistory(history).ok());
    v1::DiffNodeResponse change;
    *change.mutable_since() = At(7);
    ASSERT_TRUE(store.AddSettingChange("n1", change).ok());
    ASSERT_TRUE(store.AddCounterMark("n1", change).ok());
    change.add_differences()->set_path("mtu");
    ASSERT_TRUE(store.AddSettingChange("n1", change).ok());
    while (*store.Maintain(std::chrono::hours(49), {})) {
    }
  }

  // Every row, as text.
  static std::string Dump(SqlDatabase& database) {
    std::string text;
    const std::pair<const char*, const char*> columns[] = {
        {"nodes", "name, taken_at, snapshot"},
        {"findings", "id, open, changed_at, finding"},
        {"finding_history", "sequence, id, resolved, changed_at, finding, record"},
        {"silences", "rowid, id, until, silence"},
        {"campaigns", "sequence, id, campaign"},
        {"pair_results", "sequence, campaign, ended_at, result"},
        {"certificates", "sequence, id, certificate"},
        {"schedules", "id, schedule"},
        {"node_actions", "id, action"},
        {"node_labels", "node, labels"},
        {"subnet_histories", "subnet, history"},
        {"fact_logs", "node, since"},
        {"fact_changes", "sequence, node, at, change"},
        {"counter_marks", "sequence, node, at, counters"},
        {"days", "day, pair_results, finding_history, fact_changes, silences"}};
    for (const auto& [table, list] : columns) {
      auto query = *database.Make(Format("SELECT {0} FROM {1} ORDER BY {0}", list, table));
      while (*query->Step()) {
        text += table;
        for (int at = 0; at < static_cast<int>(Split(list, ',').size()); ++at)
          text += Format("|{}", ::testing::PrintToString(std::string(query->Bytes(at))).size() +
                                    static_cast<std::size_t>(query->Number(at)));
        text += "\n";
      }
    }
    return text;
  }

  testing::TempTree directory_;
  const std::string file_ = directory_.path() + "/state.db";
  const std::string back_ = directory_.path() + "/back.db";
  const std::string url_ = SharedServer().url();
};

TEST_F(CopyTest, ThereAndBack) {
  std::uint64_t epoch = 0;
  {
    auto store = OpenSqlite(file_);
    ASSERT_TRUE(store.ok());
    Fill(**store);
    epoch = (*store)->epoch();
  }
  const auto there = CopyState(file_, url_);
  ASSERT_TRUE(there.ok()) << there.status().message();
  {
    const Term term = TakeTerm("a");
    EXPECT_GT(term.epoch, epoch);
    epoch = term.epoch;
    auto store = OpenPostgres(SharedUrl(), term, std::chrono::seconds(30));
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->OpenFindings()->size(), 2U);
    EXPECT_EQ((*store)->SettingChanges("n1", At(0))->changes.size(), 1U);
    EXPECT_EQ((*store)->CounterMark("n1", At(9))->since().seconds(), 7);
    v1::Silence later;
    later.set_id("later");
    ASSERT_TRUE((*store)->PutSilence(later).ok()) << "its number is free";
    SharedServer().Sql("DELETE FROM fabricd.silences WHERE id = 'later'");
    SharedServer().Sql("UPDATE fabricd.lease SET expires = '-infinity'");
  }
  const auto back = CopyState(url_, back_);
  ASSERT_TRUE(back.ok()) << back.status().message();
  {
    Database first = *OpenDatabase(file_);
    Database second = *OpenDatabase(back_);
    const std::string dump = Dump(first);
    EXPECT_EQ(dump, Dump(second));
    EXPECT_GE(dump.size(), 300U);
  }
  EXPECT_GT((*OpenSqlite(back_))->epoch(), epoch);
}

TEST_F(CopyTest, RefusesATargetWithRowsALeaderAndTwoFiles) {
  {
    auto store = OpenSqlite(file_);
    Fill(**store);
  }
  ASSERT_TRUE(CopyState(file_, url_).ok());
  const auto twice = CopyState(file_, url_).status();
  EXPECT_EQ(twice.code(), Code::kFailedPrecondition);
  EXPECT_THAT(twice.message(), HasSubstr("expected an empty state"));
  (void)TakeTerm("leader");
  const auto led = CopyState(url_, back_).status();
  EXPECT_EQ(led.code(), Code::kFailedPrecondition);
  EXPECT_THAT(led.message(), HasSubstr("stop all controllers"));
  EXPECT_EQ(CopyState(file_, back_).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CopyState(directory_.path() + "/none", url_).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace fabric::store
