// What OpenSqlite says to files that are not right, and the store to a disk that is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST_F(BrokenFile, DamagedPagesAreReportedAndNeverFatal) {
  {
    auto store = OpenSqlite(path_);
    ASSERT_TRUE(store.ok());
    for (int n = 0; n < 50; ++n)
      ASSERT_TRUE((*store)->PutNode(Node("n" + std::to_string(n), 3000)).ok());
  }
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff page = 4096; page < size; page += 4096)
    file.seekp(page).write("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  file.close();

  const auto store = OpenSqlite(path_);
  const Status status = store.ok() ? (*store)->Nodes().status() : store.status();
  EXPECT_EQ(status.code(), Code::kDataLoss) << status.message();
  EXPECT_THAT(status.message(), StartsWith(path_ + ": the database is damaged"));
}

TEST_F(BrokenFile, AMessageThatCannotBeDecodedIsNamed) {
  ASSERT_TRUE(OpenSqlite(path_).ok());
  Pragma("INSERT INTO nodes VALUES ('n7', 0, x'ffffff');");
  const auto store = OpenSqlite(path_);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(
      (*store)->Nodes().status(),
      Status(Code::kDataLoss, path_ + ": the database is damaged: node 'n7' cannot be decoded"));
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
  auto insert = database->Prepare("INSERT INTO nodes VALUES (?, 0, ?)");
  ASSERT_TRUE(insert.ok());
  const Status status = insert->Text(0, "n1").Blob(1, std::string(1 << 20, 'x')).Run();
  EXPECT_EQ(status, Status(Code::kUnavailable, path_ + ": the disk is full"));
  EXPECT_TRUE(insert->Text(0, "n1").Blob(1, "small").Run().ok()) << "goes on when there is room";
}

}  // namespace
}  // namespace fabric::store
