// Power failures at random writes: nothing that was confirmed to a person is lost, and the file
// stays sound.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "base/text.h"
#include "daemon/store/buffered_store.h"
#include "tests/testing/faulty_disk.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {
namespace {

constexpr std::uint32_t kSeeds = 100;

v1::NodeSnapshot Report(std::mt19937& random) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name(Format("n{}", random() % 20));
  snapshot.mutable_node()->set_kernel_release(std::string(random() % 9'000, 'k'));
  return snapshot;
}

// Writes until the power fails, or to the end. Adds the ids of confirmed silences.
void Live(BufferedStore& store, std::mt19937& random, int& next, std::set<std::string>& confirmed) {
  for (int step = 0; step < 60; ++step) {
    if (random() % 3 != 0) {
      store.PutNode(Report(random), {});
      continue;
    }
    v1::Silence silence;
    silence.set_id(Format("s{}", next++));
    silence.set_reason(std::string(random() % 2'000, 'r'));
    silence.mutable_until()->set_seconds(1 << 30);
    if (store.Durably([&](Store& file) { return file.PutSilence(silence); }).ok())
      confirmed.insert(silence.id());
  }
}

TEST(PowerFailure, LosesNothingThatWasConfirmed) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    testing::TempTree directory;
    const std::string path = directory.path() + "/state.db";
    testing::FaultyDisk disk;
    std::set<std::string> confirmed;
    int next = 1;
    for (int life = 0; life < 3; ++life) {
      disk.CutPowerAfter(random() % 300);
      {
        auto store = OpenSqlite(path);
        ASSERT_TRUE(store.ok() || disk.off()) << store.status().message();
        if (store.ok()) {
          ASSERT_EQ((*store)->damage().file, "");
          BufferedStore buffered(**store);
          Live(buffered, random, next, confirmed);
        }
      }
      disk.PowerOn(random);
      auto store = OpenSqlite(path);
      ASSERT_TRUE(store.ok()) << store.status().message();
      ASSERT_EQ((*store)->damage().file, "") << "the file is sound";
      std::set<std::string> kept;
      for (const v1::Silence& silence : *(*store)->Silences()) kept.insert(silence.id());
      for (const std::string& id : confirmed) ASSERT_TRUE(kept.contains(id)) << id;
      ASSERT_TRUE((*store)->Nodes().ok());
    }
  }
}

// The test of the test: without a sync, a power failure loses writes.
TEST(PowerFailure, LosesWritesThatWereNotSynchronized) {
  int lost = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    testing::TempTree directory;
    testing::FaultyDisk disk;
    const std::string path = directory.path() + "/state.db";
    {
      auto store = OpenSqlite(path);
      ASSERT_TRUE(store.ok());
      ASSERT_TRUE((*store)->PutNode(Report(random), {}).ok());
      disk.CutPower();
    }
    disk.PowerOn(random);
    auto store = OpenSqlite(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    lost += (*store)->Nodes()->empty() ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace fabric::store
