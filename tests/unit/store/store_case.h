// A store in a file of its own, for tests of what it keeps.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "daemon/store/store.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {

class StoreCase : public ::testing::Test {
 protected:
  StoreCase() { Open(); }

  // Again: as after a restart of the controller.
  void Open() {
    store_.reset();
    auto opened = OpenSqlite(path_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
  }

  testing::TempTree directory_;
  const std::string path_ = directory_.path() + "/state.db";
  std::unique_ptr<Store> store_;
};

inline google::protobuf::Timestamp At(std::int64_t seconds) {
  google::protobuf::Timestamp time;
  time.set_seconds(seconds);
  return time;
}

}  // namespace fabric::store
