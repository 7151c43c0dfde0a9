// A store of its own for each test, on the backend that the test program is linked with:
// sqlite_backend.cc or postgres_backend.cc.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/store/sql.h"
#include "daemon/store/store.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {

// Removes what earlier tests left at this place. `path`: of a file, if the backend has files.
void ClearBackend(const std::string& path);
// As after a restart of the controller.
Result<std::unique_ptr<Store>> OpenBackend(const std::string& path);
// The database alone, with its tables. No store may be open.
Result<std::unique_ptr<SqlDatabase>> OpenTables(const std::string& path);

class StoreCase : public ::testing::Test {
 protected:
  StoreCase() {
    ClearBackend(path_);
    Open();
  }

  // Again: as after a restart of the controller.
  void Open() {
    store_.reset();
    auto opened = OpenBackend(path_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
  }

  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/state.db";
  std::unique_ptr<Store> store_;
};

// The tables alone, for tests of rows.
class TablesCase : public ::testing::Test {
 protected:
  TablesCase() {
    ClearBackend(path_);
    auto opened = OpenTables(path_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }

  void Run(const std::string& sql) {
    Status status = database_->Begin(false);
    if (status.ok()) status = database_->Execute(sql);
    if (status.ok()) status = database_->Commit();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::int64_t Number(const std::string& sql) {
    const auto number = database_->Number(sql);
    EXPECT_TRUE(number.ok()) << number.status().message();
    return number.ok() ? *number : -1;
  }
  std::int64_t Count(const std::string& table) { return Number("SELECT count(*) FROM " + table); }

  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/state.db";
  std::unique_ptr<SqlDatabase> database_;
};

inline google::protobuf::Timestamp At(std::int64_t seconds) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  return time;
}

}  // namespace fabric::store
