#include "daemon/access/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <random>

#include "tests/testing/faulty_disk.h"
#include "tests/testing/temp_tree.h"

namespace fabric::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::AuditEntry Entry(const std::string& method) {
  v1::AuditEntry entry;
  entry.set_method(method);
  entry.set_identity("alice");
  return entry;
}

class AuditLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<AuditLog> Open(std::uint64_t entries_max = 100) {
    auto log = AuditLog::Open(path_, entries_max);
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? *std::move(log) : nullptr;
  }
  static void Add(AuditLog& log, int count) {
    for (int i = 0; i < count; ++i) {
      const Status status = log.Append(Entry("m" + std::to_string(i)));
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  static std::vector<std::uint64_t> Sequences(AuditLog& log, std::uint64_t before,
                                              std::uint32_t max) {
    std::vector<std::uint64_t> sequences;
    for (const v1::AuditEntry& entry : *log.Before(before, max))
      sequences.push_back(entry.sequence());
    return sequences;
  }
  // What someone who can write the file does to it.
  void Tamper(const std::string& sql) {
    sqlite3* file = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(file, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(file);
  }

  testing::TempTree tree_;
  const std::string path_ = tree_.path() + "/audit.db";
};

TEST_F(AuditLogTest, EntriesFormAChainAcrossRestarts) {
  {
    const auto log = Open();
    EXPECT_EQ(log->Verify()->entries(), 0u);
    Add(*log, 3);
    EXPECT_THAT(Sequences(*log, 0, 2), ElementsAre(3, 2));
    EXPECT_THAT(Sequences(*log, 2, 9), ElementsAre(1));
    EXPECT_THAT(Sequences(*log, 1, 9), IsEmpty());
  }
  const auto log = Open();
  Add(*log, 1);
  const auto entries = *log->Before(0, 9);
  ASSERT_EQ(entries.size(), 4u);
  for (std::size_t i = 0; i + 1 < entries.size(); ++i)
    EXPECT_EQ(entries[i].previous_hash(), entries[i + 1].hash());
  EXPECT_EQ(entries[3].previous_hash(), "");
  const auto result = *log->Verify();
  EXPECT_EQ(result.entries(), 4u);
  EXPECT_EQ(result.first_sequence(), 1u);
  EXPECT_EQ(result.last_sequence(), 4u);
  EXPECT_EQ(result.last_hash(), entries[0].hash());
  EXPECT_EQ(result.broken_sequence(), 0u) << result.broken_reason();
}

TEST_F(AuditLogTest, OldEntriesAreRemovedAndTheChainStartsAfterThem) {
  auto log = Open(10);
  Add(*log, 25);
  EXPECT_EQ(Sequences(*log, 0, 100).size(), 10u);
  log.reset();
  log = Open(10);
  const auto result = *log->Verify();
  EXPECT_EQ(result.first_sequence(), 16u);
  EXPECT_EQ(result.entries(), 10u);
  EXPECT_EQ(result.broken_sequence(), 0u) << result.broken_reason();
  log.reset();
  log = Open(4);  // A smaller setting
  Add(*log, 1);
  EXPECT_THAT(Sequences(*log, 0, 100), ElementsAre(26, 25, 24, 23));
  EXPECT_EQ(log->Verify()->broken_sequence(), 0u);
}

TEST_F(AuditLogTest, EachWayToTamperIsFoundAtItsEntry) {
  const struct {
    const char* what;
    const char* sql;
    std::uint64_t broken;
    const char* reason;
  } cases[] = {
      {"an entry is changed",
       "UPDATE entries SET entry = (SELECT replace(hex(entry), hex('alice'), hex('carol')) FROM "
       "entries WHERE sequence = 5) WHERE sequence = 5;",
       5, ""},
      {"an entry is removed", "DELETE FROM entries WHERE sequence = 5;", 6, "entries are missing"},
      {"an entry is replaced by another one",
       "UPDATE entries SET entry = (SELECT entry FROM entries WHERE sequence = 4) WHERE sequence = "
       "5;",
       5, "expected sequence 5, saw 4"},
      {"the first entries are removed", "DELETE FROM entries WHERE sequence < 3;", 3,
       "entries are missing"},
      {"the first entries are removed as if they were old",
       "DELETE FROM entries WHERE sequence < 3; UPDATE removed SET sequence = 2, hash = 'x';", 3,
       "expected previous_hash x"},
      {"an entry is not one", "UPDATE entries SET entry = x'ff' WHERE sequence = 7;", 7,
       "cannot be decoded"},
  };
  for (const auto& row : cases) {
    SCOPED_TRACE(row.what);
    std::filesystem::remove(path_);
    Add(*Open(), 10);
    Tamper(std::string("DROP TRIGGER entries_append_only;") + row.sql);
    const auto log = Open();
    const auto result = *log->Verify();
    EXPECT_EQ(result.broken_sequence(), row.broken) << result.broken_reason();
    EXPECT_THAT(result.broken_reason(), HasSubstr(row.reason));
  }
}

TEST_F(AuditLogTest, AChangedByteIsFound) {
  Add(*Open(), 3);
  // One letter of the name within the message, which stays decodable.
  Tamper(
      "DROP TRIGGER entries_append_only;"
      "UPDATE entries SET entry = CAST(replace(CAST(entry AS TEXT), 'alice', 'carol') AS BLOB) "
      "WHERE sequence = 2;");
  const auto log = Open();
  const auto result = *log->Verify();
  EXPECT_EQ(result.broken_sequence(), 2u);
  EXPECT_THAT(result.broken_reason(), HasSubstr("expected hash"));
}

TEST_F(AuditLogTest, TheFileRefusesChangesOfEntries) {
  Add(*Open(), 1);
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
  EXPECT_NE(sqlite3_exec(file, "UPDATE entries SET entry = x'00'", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(file);
}

TEST_F(AuditLogTest, OtherFilesAndSecondUsersAreRefused) {
  tree_.File("other.db", "this is a text and no database, it is long enough to be read as one....");
  const auto text = AuditLog::Open(tree_.path() + "/other.db", 10);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.status().message(), HasSubstr(tree_.path() + "/other.db"));
  const auto log = Open();
  const auto second = AuditLog::Open(path_, 10);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("locked by another process"));
}

TEST_F(AuditLogTest, WhatTheDiskRefusesIsWrittenLaterInOrder) {
  testing::FaultyDisk disk;
  std::vector<std::string> seen;
  auto opened = AuditLog::Open(
      path_, 100, [&](const v1::AuditEntry& entry) { seen.push_back(entry.method()); });
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto log = *std::move(opened);
  Add(*log, 1);
  disk.full = true;
  const Status status = log->Append(Entry("late"));
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("cannot write to the audit log: " + path_));
  EXPECT_EQ(log->Ready().code(), Code::kUnavailable);
  EXPECT_EQ(log->pending(), 1u);
  EXPECT_EQ(log->Before(0, 9)->size(), 1u) << "reads go on";
  for (std::size_t i = 0; i < AuditLog::kPendingMax + 5; ++i) (void)log->Append(Entry("more"));
  EXPECT_EQ(log->pending(), AuditLog::kPendingMax);
  EXPECT_EQ(log->dropped(), 6u);
  disk.full = false;
  EXPECT_TRUE(log->Ready().ok());
  EXPECT_EQ(log->pending(), 0u);
  EXPECT_EQ(seen.size(), 1 + AuditLog::kPendingMax);
  EXPECT_EQ(log->Verify()->broken_sequence(), 0u);
}

// Each entry of which Append() said OK is there after a power failure, and the chain is intact.
TEST(AuditLogDurability, SurvivesPowerFailures) {
  std::mt19937 random(7);
  for (std::uint64_t cut = 1; cut <= 60; ++cut) {
    testing::FaultyDisk disk;
    testing::TempTree tree;
    const std::string path = tree.path() + "/audit.db";
    std::uint64_t acknowledged = 0;
    {
      auto log = AuditLog::Open(path, 8);
      ASSERT_TRUE(log.ok()) << log.status().message();
      disk.CutPowerAfter(cut);
      while (!disk.off() && (*log)->Append(Entry("m")).ok()) ++acknowledged;
    }
    disk.PowerOn(random);
    const auto log = AuditLog::Open(path, 8);
    ASSERT_TRUE(log.ok()) << cut << ": " << log.status().message();
    const auto result = (*log)->Verify();
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->broken_sequence(), 0u) << cut << ": " << result->broken_reason();
    EXPECT_GE(result->last_sequence(), acknowledged) << "power failed at write " << cut;
  }
}

}  // namespace
}  // namespace fabric::access
