// Files of older versions are brought up to date, and keep what they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/input.h"
#include "base/text.h"
#include "daemon/store/database.h"
#include "daemon/store/schema.h"
#include "daemon/store/store.h"
#include "tests/testing/paths.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {
namespace {

using ::testing::ElementsAre;

// As fabricd wrote it before findings had a life of their own.
constexpr const char* kVersion1 = R"(
CREATE TABLE nodes (name TEXT PRIMARY KEY, taken_at INTEGER NOT NULL, snapshot BLOB NOT NULL);
CREATE TABLE findings (id TEXT PRIMARY KEY, open INTEGER NOT NULL, changed_at INTEGER NOT NULL,
  finding BLOB NOT NULL);
CREATE INDEX findings_open ON findings (id) WHERE open = 1;
CREATE TABLE finding_history (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL,
  resolved INTEGER NOT NULL, changed_at INTEGER NOT NULL, finding BLOB NOT NULL);
CREATE INDEX finding_history_resolved ON finding_history (sequence) WHERE resolved = 1;
CREATE TABLE campaigns (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  campaign BLOB NOT NULL);
CREATE TABLE pair_results (sequence INTEGER PRIMARY KEY, campaign TEXT NOT NULL,
  ended_at INTEGER NOT NULL, result BLOB NOT NULL);
CREATE INDEX pair_results_campaign ON pair_results (campaign);
PRAGMA application_id = 0x66616272;
PRAGMA user_version = 1;
)";

v1::Finding Finding(v1::FindingState state, const std::string& title, int at) {
  v1::Finding finding;
  finding.set_id("a");
  finding.set_state(state);
  finding.set_title(title);
  finding.mutable_changed_at()->set_seconds(at);
  if (state == v1::FINDING_STATE_RESOLVED) finding.mutable_resolved_at()->set_seconds(at + 1);
  return finding;
}

class MigrationTest : public ::testing::Test {
 protected:
  MigrationTest() {
    auto database = Database::Open(path_);
    EXPECT_TRUE(database.ok());
    Status status = database->Execute(kVersion1);
    EXPECT_TRUE(status.ok()) << status.message();
    auto finding = database->Prepare("INSERT INTO findings VALUES ('a', 1, 5, ?)");
    auto history = database->Prepare(
        "INSERT INTO finding_history (id, resolved, changed_at, finding) VALUES ('a', ?, 5, ?)");
    EXPECT_TRUE(finding.ok() && history.ok());
    const auto add = [&](const v1::Finding& then) {
      const bool resolved = then.state() == v1::FINDING_STATE_RESOLVED;
      EXPECT_TRUE(history->Bind(0, resolved).Blob(1, then.SerializeAsString()).Run().ok());
    };
    add(Finding(v1::FINDING_STATE_OPEN, "MTU 1500", 5));
    add(Finding(v1::FINDING_STATE_OPEN, "MTU 1600", 6));
    add(Finding(v1::FINDING_STATE_RESOLVED, "MTU 1600", 6));
    const v1::Finding now = Finding(v1::FINDING_STATE_OPEN, "MTU 1700", 9);
    add(now);
    EXPECT_TRUE(finding->Blob(0, now.SerializeAsString()).Run().ok());
  }

  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/state.db";
};

TEST_F(MigrationTest, FindingsAndTheirHistoryAreKept) {
  const auto store = OpenSqlite(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->OpenFindings()->front().title(), "MTU 1700");
  v1::FindingRecord record;
  record.set_action(v1::FINDING_ACTION_ACKNOWLEDGED);
  record.mutable_at()->set_seconds(12);
  record.set_title("MTU 1700");
  ASSERT_TRUE((*store)->PutFinding(Finding(v1::FINDING_STATE_OPEN, "MTU 1700", 9), record).ok());
  const auto history = (*store)->FindingHistory("a");
  ASSERT_TRUE(history.ok()) << history.status().message();
  std::vector<std::string> lines;
  for (const v1::FindingRecord& line : *history)
    lines.push_back(Format("{} {} {}", line.at().seconds(),
                           v1::FindingAction_Name(line.action()).substr(15), line.title()));
  EXPECT_THAT(lines, ElementsAre("5 OPENED MTU 1500", "6 CHANGED MTU 1600", "7 RESOLVED MTU 1600",
                                 "9 OPENED MTU 1700", "12 ACKNOWLEDGED MTU 1700"));
}

TEST_F(MigrationTest, IsDoneOnce) {
  for (int i = 0; i < 2; ++i) {
    auto store = OpenSqlite(path_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    v1::Silence silence;
    silence.set_id(Format("s{}", i));
    ASSERT_TRUE((*store)->PutSilence(silence).ok());
  }
  auto database = Database::Open(path_);
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(*database->Number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(*database->Number("SELECT count(*) FROM silences"), 2);
}

TEST_F(MigrationTest, AllOrNothing) {
  {
    auto database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    // Somebody else's table stands in the way of the last step.
    ASSERT_TRUE(database->Execute("CREATE TABLE silences (name TEXT);").ok());
  }
  EXPECT_FALSE(OpenSqlite(path_).ok());
  auto database = Database::Open(path_);
  ASSERT_TRUE(database.ok());
  EXPECT_EQ(*database->Number("PRAGMA user_version"), 1);
  EXPECT_EQ(*database->Number("SELECT count(*) FROM pragma_table_info('finding_history')"), 5);
}

// One file of each released version: tests/fixtures/state.
class ReleasedVersion : public ::testing::TestWithParam<int> {};

TEST_P(ReleasedVersion, IsMigratedWithAllThatItHas) {
  testing::TempTree directory;
  const std::string path = directory.path() + "/state.db";
  const int version = GetParam();
  const auto sql =
      ReadFile(Format("{}/tests/fixtures/state/v{}.sql", testing::kSourceDir, version), 1 << 20);
  ASSERT_TRUE(sql.ok()) << sql.status().message();
  ASSERT_TRUE(Database::Open(path)->Execute(*sql).ok());

  const auto opened = OpenSqlite(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store& store = **opened;
  EXPECT_EQ(store.Nodes()->front().snapshot.node().kernel_release(), "6.1");
  const auto findings = store.OpenFindings();
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->front().acknowledged().author(), version >= 2 ? "ada" : "");
  EXPECT_EQ(store.FindingHistory("f1")->size(), version >= 2 ? 2u : 1u);
  EXPECT_EQ(store.Silences()->size(), version >= 2 ? 1u : 0u);
  EXPECT_EQ(store.Results("c3", 0, 9)->size(), 1u);
  EXPECT_EQ(store.SettingChanges("n1", {})->changes.size(), version >= 3 ? 1u : 0u);
  EXPECT_EQ(store.CounterMark("n1", {})->differences_size(), version >= 4 ? 1 : 0);
  EXPECT_EQ(store.Certificates(9)->size(), version >= 5 ? 1u : 0u);
  EXPECT_EQ(store.Schedules()->size(), version >= 6 ? 1u : 0u);
  EXPECT_EQ(store.Nodes()->front().memory.rails_size(), 0);
  EXPECT_EQ(store.SubnetHistories()->size(), version >= 8 ? 1u : 0u);
  EXPECT_EQ(store.NodeActions()->size(), version >= 9 ? 1u : 0u);
  EXPECT_EQ(store.NodeLabels()->size(), version >= 10 ? 1u : 0u);
  EXPECT_EQ(store.damage().rows, 0u);

  v1::GetCertificateResponse certificate;
  certificate.mutable_certificate()->set_id("cert-1-1");
  EXPECT_TRUE(store.PutCertificate(certificate).ok());
  EXPECT_TRUE(store.Maintain(std::chrono::hours(24), {}).ok());
}

INSTANTIATE_TEST_SUITE_P(All, ReleasedVersion, ::testing::Range(1, kSchemaVersion));

}  // namespace
}  // namespace fabric::store
