// Restoring a backup.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/store/recovery.h"
#include "daemon/store/store.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr WallTime kRestoredAt{std::chrono::seconds(1'800'000'000)};

class RestoreTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& node) {
    const auto store = OpenSqlite(path);
    v1::NodeSnapshot snapshot;
    snapshot.mutable_node()->set_name(node);
    ASSERT_TRUE((*store)->PutNode(snapshot, {}).ok());
  }
  std::vector<std::string> NodesOf(const std::string& path) {
    std::vector<std::string> names;
    const auto store = OpenSqlite(path);
    if (!store.ok()) return {store.status().message()};
    for (const StoredNode& node : *(*store)->Nodes()) names.push_back(node.snapshot.node().name());
    return names;
  }
  void Backup(const std::string& path) {
    const auto store = OpenSqlite(path);
    ASSERT_TRUE((*store)->Backup(backup_).ok());
  }

  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/state.db";
  const std::string backup_ = directory_.path() + "/copy.db";
};

TEST_F(RestoreTest, ThePreviousFileIsMovedAside) {
  Put(path_, "old");
  Backup(path_);
  Put(path_, "new");
  const auto previous = Restore(backup_, path_, kRestoredAt);
  ASSERT_TRUE(previous.ok()) << previous.status().message();
  EXPECT_EQ(*previous, path_ + ".replaced-20270115T080000Z");
  EXPECT_THAT(NodesOf(path_), ElementsAre("old"));
  EXPECT_THAT(NodesOf(*previous), ElementsAre("new", "old"));
  EXPECT_TRUE(std::filesystem::exists(backup_));
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0600));
}

TEST_F(RestoreTest, WithoutAPreviousFile) {
  Put(path_, "n1");
  Backup(path_);
  std::filesystem::remove(path_);
  EXPECT_EQ(*Restore(backup_, path_, kRestoredAt), "");
  EXPECT_THAT(NodesOf(path_), ElementsAre("n1"));
}

TEST_F(RestoreTest, ADamagedPreviousFileIsReplaced) {
  Put(path_, "n1");
  Backup(path_);
  std::ofstream(path_, std::ios::binary) << std::string(9000, 'x');
  ASSERT_TRUE(Restore(backup_, path_, kRestoredAt).ok());
  EXPECT_THAT(NodesOf(path_), ElementsAre("n1"));
}

TEST_F(RestoreTest, AFileInUseIsNotReplaced) {
  Put(path_, "n1");
  Backup(path_);
  const auto running = OpenSqlite(path_);
  const auto restored = Restore(backup_, path_, kRestoredAt);
  EXPECT_EQ(restored.status().code(), Code::kUnavailable);
  EXPECT_THAT(restored.status().message(), HasSubstr("locked by another process"));
  EXPECT_EQ((*running)->Nodes()->size(), 1u);
}

TEST_F(RestoreTest, WhatIsNoBackupIsRefusedAndNothingChanges) {
  Put(path_, "n1");
  const auto refused = [&](const std::string& backup) {
    const auto restored = Restore(backup, path_, kRestoredAt);
    EXPECT_FALSE(restored.ok());
    EXPECT_THAT(NodesOf(path_), ElementsAre("n1"));
    return restored.status().message();
  };
  EXPECT_EQ(refused(backup_), backup_ + ": no such file");
  std::ofstream(backup_) << "not a database, but long enough to be looked at as one, and longer";
  EXPECT_THAT(refused(backup_), HasSubstr("expected a backup of fabricd's state file"));
  EXPECT_THAT(refused(path_), HasSubstr("is the state file itself"));
  std::filesystem::remove(backup_);
  Backup(path_);
  std::filesystem::resize_file(backup_, std::filesystem::file_size(backup_) / 2);
  EXPECT_THAT(refused(backup_), HasSubstr("the database is damaged"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".recovered"));
}

}  // namespace
}  // namespace fabric::store
