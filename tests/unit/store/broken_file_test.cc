// What OpenSqlite says to files that are not right, and the store to a disk that is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/store/database.h"
#include "daemon/store/schema.h"
#include "daemon/store/store.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::NodeSnapshot Node(const std::string& name, std::size_t bytes) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name(name);
  snapshot.mutable_node()->set_kernel_release(std::string(bytes, 'k'));
  return snapshot;
}

class BrokenFile : public ::testing::Test {
 protected:
  void ExpectRefused(Code code, const std::string& why) {
    const auto opened = OpenSqlite(path_);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), code) << opened.status().message();
    EXPECT_THAT(opened.status().message(), StartsWith(path_ + ": "));
    EXPECT_THAT(opened.status().message(), HasSubstr(why));
  }
  void Pragma(const std::string& sql) {
    auto database = Database::Open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute(sql).ok());
  }

  testing::TempTree directory_;
  std::string path_ = directory_.path() + "/state.db";
};

TEST_F(BrokenFile, TextIsNotADatabase) {
  directory_.File("state.db", "nodes: [n1, n2]\n# long enough to be looked at as a database\n");
  ExpectRefused(Code::kFailedPrecondition, "not an SQLite database");
}

TEST_F(BrokenFile, AnEmptyFileBecomesOurs) {
  directory_.File("state.db", "");
  EXPECT_TRUE(OpenSqlite(path_).ok());
  EXPECT_TRUE(OpenSqlite(path_).ok());
}

TEST_F(BrokenFile, ADatabaseOfAnotherProgramIsLeftAlone) {
  Pragma("CREATE TABLE songs (name TEXT); PRAGMA application_id = 0x1234;");
  ExpectRefused(Code::kFailedPrecondition, "expected application id 0x66616272, saw 0x1234");
  Pragma("PRAGMA application_id = 0;");
  ExpectRefused(Code::kFailedPrecondition, "saw 0x0");
  Pragma("INSERT INTO songs VALUES ('still there');");
}

TEST_F(BrokenFile, ANewerVersionIsLeftAlone) {
  ASSERT_TRUE(OpenSqlite(path_).ok());
  Pragma("PRAGMA user_version = 99;");
  ExpectRefused(Code::kFailedPrecondition,
                Format("expected schema version {} or older, saw 99", kSchemaVersion));
}

TEST_F(BrokenFile, AVersionThatNeverWasIsLeftAlone) {
  ASSERT_TRUE(OpenSqlite(path_).ok());
  Pragma("PRAGMA user_version = 0;");
  ExpectRefused(Code::kFailedPrecondition,
                Format("expected schema version 1 to {}, saw 0", kSchemaVersion));
}

TEST_F(BrokenFile, ADirectoryThatIsNotThere) {
  path_ = directory_.path() + "/missing/state.db";
  ExpectRefused(Code::kNotFound, "No such file or directory");
}

TEST_F(BrokenFile, ADirectoryInPlaceOfTheFile) {
  directory_.Directory("state.db");
  ExpectRefused(Code::kInternal, "cannot be opened: Is a directory");
}

TEST_F(BrokenFile, ADirectoryThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  directory_.Directory("locked");
  std::filesystem::permissions(directory_.path() + "/locked", std::filesystem::perms(0500));
  path_ = directory_.path() + "/locked/state.db";
  ExpectRefused(Code::kPermissionDenied, "Permission denied");
}

TEST_F(BrokenFile, AFileThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_TRUE(OpenSqlite(path_).ok());
  std::filesystem::permissions(path_, std::filesystem::perms(0400));
  ExpectRefused(Code::kPermissionDenied, "cannot be written");
}

TEST_F(BrokenFile, ASecondControllerIsKeptOut) {
  const auto first = OpenSqlite(path_);
  ASSERT_TRUE(first.ok());
  ExpectRefused(Code::kUnavailable, "locked by another process");
}

// Overwrites the beginning of pages.
void Overwrite(const std::string& path, std::streamoff first, std::streamoff step) {
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff page = first * 4096; page < size; page += step * 4096)
    file.seekp(page).write("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
}

// What people said, and more nodes than fit on a page.
void Fill(Store& store) {
  for (int n = 0; n < 50; ++n) ASSERT_TRUE(store.PutNode(Node(Format("n{}", n), 3000), {}).ok());
  v1::Silence silence;
  silence.set_id("s1");
  silence.mutable_until()->set_seconds(1000);
  ASSERT_TRUE(store.PutSilence(silence).ok());
  v1::Finding finding;
  finding.set_id("f1");
  finding.set_state(v1::FINDING_STATE_OPEN);
  finding.mutable_acknowledged()->set_author("ada");
  *finding.mutable_silenced() = silence;
  ASSERT_TRUE(store.PutFinding(finding, {}).ok());
}

void ExpectSaid(Store& store) {
  const auto silences = store.Silences();
  ASSERT_EQ(silences->size(), 1u);
  EXPECT_EQ(silences->front().until().seconds(), 1000);
  const auto findings = store.OpenFindings();
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_EQ(findings->front().acknowledged().author(), "ada");
}

constexpr WallTime kDamagedAt{std::chrono::seconds(1'800'000'000)};

TEST_F(BrokenFile, ADamagedFileIsMovedAsideAndWhatCanBeReadIsKept) {
  Fill(**OpenSqlite(path_));
  auto root = *Database::Open(path_);
  const std::int64_t nodes =
      *root.Number("SELECT rootpage FROM sqlite_schema WHERE name = 'nodes'");
  root = *Database::Open(directory_.path() + "/other.db");
  Overwrite(path_, nodes - 1, 1'000'000);

  auto store = OpenSqlite(path_, kDamagedAt);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->damage().file, path_ + ".damaged-20270115T080000Z");
  EXPECT_TRUE(std::filesystem::exists((*store)->damage().file));
  EXPECT_GT((*store)->damage().recovered, 0u);
  ExpectSaid(**store);
  EXPECT_TRUE((*store)->PutNode(Node("n7", 10), {}).ok());
  store->reset();
  store = OpenSqlite(path_, kDamagedAt);
  EXPECT_EQ((*store)->damage().file, "") << "once";
  ExpectSaid(**store);
}

// Acknowledgements and silences are in two tables each.
TEST_F(BrokenFile, AnyDamagedPageIsSurvived) {
  Fill(**OpenSqlite(path_));
  const auto pages = static_cast<std::streamoff>(std::filesystem::file_size(path_)) / 4096;
  const std::string whole = directory_.path() + "/whole.db";
  std::filesystem::copy_file(path_, whole);
  int poor = 0;
  for (std::streamoff page = 1; page < pages; ++page) {
    SCOPED_TRACE(page + 1);
    std::filesystem::copy_file(whole, path_, std::filesystem::copy_options::overwrite_existing);
    Overwrite(path_, page, 1'000'000);
    const auto store = OpenSqlite(path_, kDamagedAt);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->damage().file.empty(), false);
    poor += (*store)->Nodes()->size() < 40 ? 1 : 0;
    ExpectSaid(**store);
  }
  EXPECT_LE(poor, 1) << "only the root of the table loses most nodes";
}

TEST_F(BrokenFile, ATruncatedFileIsSurvived) {
  Fill(**OpenSqlite(path_));
  for (const std::uintmax_t bytes : {4096 * 30, 4096 * 2, 4096, 100}) {
    std::filesystem::resize_file(path_, bytes);
    const auto store = OpenSqlite(path_, kDamagedAt);
    ASSERT_TRUE(store.ok()) << bytes << ": " << store.status().message();
    EXPECT_TRUE((*store)->PutNode(Node("n1", 10), {}).ok());
  }
}

TEST_F(BrokenFile, AHeaderOfZerosIsSurvived) {
  Fill(**OpenSqlite(path_));
  std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out)
      .write(std::string(4096, '\0').data(), 4096);
  const auto store = OpenSqlite(path_, kDamagedAt);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_NE((*store)->damage().file, "");
}

TEST_F(BrokenFile, AMessageThatCannotBeDecodedIsSkippedAndCounted) {
  Fill(**OpenSqlite(path_));
  Pragma(
      "INSERT INTO nodes (name, taken_at, snapshot) VALUES ('n77', 0, x'ffffff'); UPDATE silences "
      "SET silence = x'ff';"
      "INSERT INTO campaigns (id, campaign) VALUES ('c1', x'ff');"
      "UPDATE finding_history SET record = x'ff';");
  const auto store = OpenSqlite(path_);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->Nodes()->size(), 50u);
  EXPECT_TRUE((*store)->Silences()->empty());
  EXPECT_TRUE((*store)->Campaigns(10)->empty());
  EXPECT_TRUE((*store)->FindingHistory("f1")->empty());
  EXPECT_EQ((*store)->damage().rows, 4u);
}

TEST_F(BrokenFile, OnlyTheOwnerCanReadIt) {
  const auto store = OpenSqlite(path_);
  ASSERT_TRUE((*store)->PutNode(Node("n1", 10), {}).ok());
  std::filesystem::permissions(path_, std::filesystem::perms(0644));
  ASSERT_TRUE((*store)->Backup(path_ + ".copy").ok());
  for (const std::string& file : {path_ + "-wal", path_ + ".copy"})
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600)) << file;
}

TEST_F(BrokenFile, ABackupIsAStateFile) {
  const std::string copy = path_ + ".copy";
  {
    const auto store = OpenSqlite(path_);
    Fill(**store);
    ASSERT_TRUE((*store)->Backup(copy).ok());
    EXPECT_EQ((*store)->Backup(copy).code(), Code::kAlreadyExists);
    ASSERT_TRUE((*store)->PutNode(Node("later", 10), {}).ok()) << "goes on";
  }
  const auto store = OpenSqlite(copy);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->Nodes()->size(), 50u);
  ExpectSaid(**store);
}

TEST_F(BrokenFile, ABackupInStepsHasWhatIsWrittenMeanwhile) {
  const std::string copy = path_ + ".copy";
  {
    const auto store = OpenSqlite(path_);
    Fill(**store);
    for (int n = 0; n < 300; ++n)
      ASSERT_TRUE((*store)->PutNode(Node(Format("large{}", n), 20'000), {}).ok());
    auto steps = (*store)->BeginBackup(copy);
    ASSERT_TRUE(steps.ok()) << steps.status().message();
    int count = 0;
    for (bool done = false; !done; ++count) {
      const Result<bool> step = (*steps)->Step();
      ASSERT_TRUE(step.ok()) << step.status().message();
      done = *step;
      (*steps)->Flush();
      if (count == 2) {
        ASSERT_TRUE((*store)->PutNode(Node("meanwhile", 10), {}).ok());
      }
      if (count == 3) {
        ASSERT_TRUE((*store)->DeleteNode("large7").ok());
      }
    }
    EXPECT_GT(count, 4);
  }
  const auto store = OpenSqlite(copy);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->Nodes()->size(), 350u);
  ExpectSaid(**store);
}

TEST_F(BrokenFile, ABackupThatDoesNotEndLeavesNoFile) {
  const std::string copy = path_ + ".copy";
  const auto store = OpenSqlite(path_);
  for (int n = 0; n < 300; ++n)
    ASSERT_TRUE((*store)->PutNode(Node(Format("large{}", n), 20'000), {}).ok());
  {
    const auto steps = (*store)->BeginBackup(copy);
    EXPECT_FALSE(*(*steps)->Step());
    EXPECT_FALSE(*(*steps)->Step());
  }
  EXPECT_FALSE(std::filesystem::exists(copy));
}

// Also when the clock is set back, and for a copy of an older file.
TEST_F(BrokenFile, EachOpeningHasALargerEpoch) {
  const WallTime now(std::chrono::seconds(1'700'000'000));
  const auto epoch = [&](WallTime at) { return (*OpenSqlite(path_, at))->epoch(); };
  EXPECT_EQ(epoch(now), 1'700'000'000u);
  EXPECT_EQ(epoch(now - std::chrono::hours(24 * 365)), 1'700'000'001u);
  EXPECT_EQ(epoch({}), 1'700'000'002u);
  EXPECT_EQ(epoch(now + std::chrono::seconds(60)), 1'700'000'060u);
}

TEST_F(BrokenFile, ResultsAreAddedAllOrNone) {
  ASSERT_TRUE(OpenSqlite(path_).ok());
  // Stands for a disk that is full after some rows.
  Pragma(
      "CREATE TRIGGER full BEFORE INSERT ON pair_results WHEN NEW.campaign = 'c2' "
      "BEGIN SELECT RAISE(ABORT, 'no room'); END;");
  const auto store = OpenSqlite(path_);
  ASSERT_TRUE(store.ok());
  v1::Campaign campaign;
  campaign.set_id("c1");
  ASSERT_TRUE((*store)->PutCampaign(campaign).ok());
  const std::vector<CampaignResult> results = {{"c1", {}}, {"c2", {}}};
  EXPECT_FALSE((*store)->AddPairResults(results).ok());
  EXPECT_EQ((*store)->Results("c1", 0, 9)->size(), 0u);
  EXPECT_TRUE((*store)->AddPairResults(std::span(results).first(1)).ok()) << "goes on";
  EXPECT_EQ((*store)->Results("c1", 0, 9)->size(), 1u);
}

TEST_F(BrokenFile, AFullDiskIsUnavailable) {
  auto database = OpenDatabase(path_);
  ASSERT_TRUE(database.ok());
  // SQLite takes its own limit for what a full disk says.
  ASSERT_TRUE(database->Execute("PRAGMA max_page_count = 12;").ok());
  auto insert = database->Prepare("INSERT INTO nodes (name, taken_at, snapshot) VALUES (?, 0, ?)");
  ASSERT_TRUE(insert.ok());
  const Status status = insert->Text(0, "n1").Blob(1, std::string(1 << 20, 'x')).Run();
  EXPECT_EQ(status, Status(Code::kUnavailable, path_ + ": the disk is full"));
  EXPECT_TRUE(insert->Text(0, "n1").Blob(1, "small").Run().ok()) << "goes on when there is room";
}

}  // namespace
}  // namespace fabric::store
