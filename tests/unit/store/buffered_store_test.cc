// Service over a disk that fails: full, with I/O errors, read-only for a while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/text.h"
#include "daemon/store/buffered_store.h"
#include "tests/testing/faulty_disk.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

v1::Finding FindingOf(const std::string& id, v1::FindingState state = v1::FINDING_STATE_OPEN) {
  v1::Finding finding;
  finding.set_id(id);
  finding.set_state(state);
  return finding;
}

v1::Silence SilenceOf(const std::string& id) {
  v1::Silence silence;
  silence.set_id(id);
  silence.mutable_until()->set_seconds(1000);
  return silence;
}

v1::NodeSnapshot NodeOf(const std::string& name, std::size_t bytes = 10) {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name(name);
  snapshot.mutable_node()->set_kernel_release(std::string(bytes, 'k'));
  return snapshot;
}

class OnFaultyDisk {
 protected:
  testing::FaultyDisk disk_;  // Before the store is opened
};

class BufferedStoreTest : private OnFaultyDisk, public StoreCase {
 protected:
  using OnFaultyDisk::disk_;

  // With a change for each table.
  void WriteAll() {
    buffered_.PutNode(NodeOf("n1"), {});
    buffered_.PutFinding(FindingOf("f1"), {});
    buffered_.PutFinding(FindingOf("f1", v1::FINDING_STATE_RESOLVED), {});
    v1::Campaign campaign;
    campaign.set_id("c1");
    buffered_.PutCampaign(campaign);
    const CampaignResult result = {.campaign = "c1", .result = {}};
    buffered_.AddPairResults({&result, 1});
    v1::DiffNodeResponse change;
    *change.mutable_since() = At(5);
    buffered_.AddSettingChange("n1", change);
    buffered_.AddCounterMark("n1", change);
    change.add_differences()->set_path("mtu");
    buffered_.AddSettingChange("n1", change);
    v1::GetCertificateResponse certificate;
    certificate.mutable_certificate()->set_id("cert-1-1");
    buffered_.PutCertificate(certificate);
  }
  // As far as the reads of both have the same form.
  template <class Reader>
  void ExpectAll(Reader& store) {
    EXPECT_EQ(store.FindingHistory("f1")->size(), 2u);
    EXPECT_EQ(store.ResolvedFindings(10)->size(), 1u);
    EXPECT_EQ(store.FindingsFrom("f", 10)->size(), 1u);
    EXPECT_EQ(store.Results("c1", 0, 9)->size(), 1u);
    EXPECT_EQ(store.SettingChanges("n1", At(1))->changes.size(), 1u);
    EXPECT_EQ(store.SettingChanges("n1", At(1))->since.seconds(), 5);
    EXPECT_EQ(store.CounterMark("n1", At(9))->since().seconds(), 5);
  }
  void Advance(Duration time) {
    for (; time > Duration(); time -= 100ms) {
      now_.steady += 100ms;
      now_.wall += 100ms;
      buffered_.Tick(now_);
    }
  }
  Status PutSilence(const std::string& id) {
    return buffered_.Durably([&](Store& store) { return store.PutSilence(SilenceOf(id)); });
  }

  BufferedStore buffered_{*store_, 1 << 20};
  Moment now_ = {.steady = SteadyTime(1h), .wall = WallTime(1h)};
};

TEST_F(BufferedStoreTest, WritesThroughToAWorkingDisk) {
  WriteAll();
  EXPECT_EQ(buffered_.condition().pending, 0u);
  ExpectAll(*store_);
  ExpectAll(buffered_);
}

TEST_F(BufferedStoreTest, ABatchIsWrittenAtItsEnd) {
  buffered_.BeginBatch();
  WriteAll();
  EXPECT_EQ(store_->FindingHistory("f1")->size(), 0u);
  ExpectAll(buffered_);
  buffered_.EndBatch();
  EXPECT_EQ(buffered_.condition().pending, 0u);
  ExpectAll(*store_);
}

TEST_F(BufferedStoreTest, ABatchIsOneTransaction) {
  constexpr int kFindings = 100;
  std::uint64_t before = disk_.writes;
  for (int n = 0; n < kFindings; ++n) buffered_.PutFinding(FindingOf(Format("a{}", n)), {});
  const std::uint64_t writes = disk_.writes - before;
  buffered_.BeginBatch();
  for (int n = 0; n < kFindings; ++n) buffered_.PutFinding(FindingOf(Format("b{}", n)), {});
  before = disk_.writes;
  buffered_.EndBatch();
  EXPECT_LT((disk_.writes - before) * 5, writes);
  EXPECT_EQ(store_->OpenFindings()->size(), 2u * kFindings);
}

class OnRealDisk : public StoreCase {};

TEST_F(OnRealDisk, ARowThatIsRefusedForGoodTakesNoOtherOfItsBatchWithIt) {
  store_.reset();
  const Status made = Database::Open(path_)->Execute(
      "CREATE TRIGGER refuse BEFORE INSERT ON findings WHEN new.id = "
      "'f2' BEGIN SELECT RAISE(ABORT, 'refused'); END;");
  ASSERT_TRUE(made.ok()) << made.message();
  Open();
  BufferedStore buffered(*store_);
  buffered.BeginBatch();
  for (const char* const id : {"f1", "f2", "f3"}) buffered.PutFinding(FindingOf(id), {});
  buffered.EndBatch();
  EXPECT_EQ(store_->OpenFindings()->size(), 2u);
  EXPECT_EQ(buffered.condition().dropped, 1u);
  EXPECT_THAT(buffered.condition().failure.message(), HasSubstr("refused"));
}

class BufferedStoreFault : public BufferedStoreTest,
                           public ::testing::WithParamInterface<bool testing::FaultyDisk::*> {};

TEST_P(BufferedStoreFault, KeepsAndAnswersWhatTheDiskRefuses) {
  Advance(200ms);
  disk_.*GetParam() = true;
  WriteAll();
  const Condition condition = buffered_.condition();
  EXPECT_EQ(condition.failure.code(), Code::kUnavailable) << condition.failure.message();
  EXPECT_EQ(condition.pending, 9u);
  EXPECT_EQ(*condition.since, now_.wall);
  ExpectAll(buffered_);
  Advance(5s);
  EXPECT_EQ(buffered_.condition().pending, 9u);
  EXPECT_EQ(*buffered_.condition().since, *condition.since);
  disk_.*GetParam() = false;
  Advance(2s);
  EXPECT_EQ(buffered_.condition().pending, 0u);
  EXPECT_TRUE(buffered_.condition().failure.ok());
  EXPECT_EQ(buffered_.condition().dropped, 0u);
  Open();
  ExpectAll(*store_);
}

TEST_P(BufferedStoreFault, KeepsABatchThatTheDiskRefuses) {
  Advance(200ms);
  buffered_.BeginBatch();
  WriteAll();
  disk_.*GetParam() = true;
  buffered_.EndBatch();
  EXPECT_EQ(buffered_.condition().failed, 1u);
  ExpectAll(buffered_);
  buffered_.BeginBatch();
  buffered_.PutFinding(FindingOf("g1"), {});
  buffered_.EndBatch();
  EXPECT_EQ(buffered_.condition().failed, 1u) << "Tick repeats";
  disk_.*GetParam() = false;
  Advance(2s);
  EXPECT_EQ(buffered_.condition().pending, 0u);
  ExpectAll(*store_);
  EXPECT_EQ(store_->OpenFindings()->size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, BufferedStoreFault,
                         ::testing::Values(&testing::FaultyDisk::full,
                                           &testing::FaultyDisk::write_fails));

TEST_F(BufferedStoreTest, WhatAPersonOrdersIsOnTheDiskOrFails) {
  disk_.full = true;
  const Status refused = PutSilence("s1");
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("the disk is full"));
  EXPECT_TRUE(store_->Silences()->empty());
  disk_.full = false;
  const std::uint64_t syncs = disk_.syncs;
  EXPECT_TRUE(PutSilence("s2").ok());
  EXPECT_GT(disk_.syncs, syncs) << "survives a power failure";
  EXPECT_TRUE(buffered_.condition().failure.ok());
  disk_.sync_fails = true;
  EXPECT_EQ(PutSilence("s3").code(), Code::kUnavailable);
  disk_.sync_fails = false;
  EXPECT_EQ(store_->Silences()->size(), 1u);
}

// An older state of the same finding must not be written later.
TEST_F(BufferedStoreTest, EarlierWritesComeBeforeWhatAPersonOrders) {
  disk_.full = true;
  buffered_.PutFinding(FindingOf("f1"), {});
  v1::Finding acknowledged = FindingOf("f1");
  acknowledged.mutable_acknowledged()->set_author("ada");
  const auto order = [&](Store& store) { return store.PutFinding(acknowledged, {}); };
  EXPECT_EQ(buffered_.Durably(order).code(), Code::kUnavailable);
  disk_.full = false;
  EXPECT_TRUE(buffered_.Durably(order).ok());
  Advance(2s);
  EXPECT_EQ(store_->OpenFindings()->front().acknowledged().author(), "ada");
  EXPECT_EQ(store_->FindingHistory("f1")->size(), 2u);
}

TEST_F(BufferedStoreTest, ALaterSnapshotReplacesAnEarlierOne) {
  disk_.full = true;
  for (int n = 0; n < 1'000; ++n) buffered_.PutNode(NodeOf("n1", 1'000), {});
  EXPECT_EQ(buffered_.condition().pending, 1u);
  EXPECT_EQ(buffered_.condition().dropped, 0u);
}

TEST_F(BufferedStoreTest, BeyondTheLimitTransitionsOfFindingsStayLongest) {
  disk_.full = true;
  for (int n = 0; n < 100; ++n) buffered_.PutFinding(FindingOf(Format("f{}", n)), {});
  for (int n = 0; n < 300; ++n) buffered_.PutNode(NodeOf(Format("n{}", n), 10'000), {});
  const Condition condition = buffered_.condition();
  EXPECT_GT(condition.dropped, 150u);
  EXPECT_EQ(condition.pending + condition.dropped, 400u);
  disk_.full = false;
  Advance(2s);
  EXPECT_EQ(store_->OpenFindings()->size(), 100u);
  EXPECT_EQ(store_->Nodes()->back().snapshot.node().name(), "n299") << "the newest";
  EXPECT_EQ(store_->Nodes()->size() + condition.dropped, 300u);
}

TEST_F(BufferedStoreTest, AFailureWithoutPendingWritesEndsByItself) {
  disk_.full = true;
  EXPECT_FALSE(PutSilence("s1").ok());
  Advance(3s);
  EXPECT_FALSE(buffered_.condition().failure.ok());
  disk_.full = false;
  Advance(2s);
  EXPECT_TRUE(buffered_.condition().failure.ok());
}

TEST_F(BufferedStoreTest, StartsOnAFullDisk) {
  WriteAll();
  disk_.full = true;
  Open();
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(store_->Nodes()->size(), 1u);
}

// Wall clock: a year ahead and back again. All rows and ids stay.
TEST_F(BufferedStoreTest, AJumpOfTheClockLosesNothing) {
  constexpr auto kYear = 24h * 365;
  for (const Duration jump :
       {Duration(kYear), Duration(-kYear), Duration(-kYear), Duration(kYear)}) {
    WriteAll();
    ASSERT_TRUE(PutSilence(Format("s{}", now_.wall.time_since_epoch().count())).ok());
    now_.wall += jump;
    Advance(1h);
  }
  EXPECT_EQ(store_->FindingHistory("f1")->size(), 8u);
  EXPECT_EQ(store_->Results("c1", 0, 9)->size(), 4u);
  EXPECT_EQ(store_->Silences()->size(), 4u);
  EXPECT_EQ(store_->SettingChanges("n1", At(1))->changes.size(), 4u);
  const std::uint64_t epoch = store_->epoch();
  Open();
  EXPECT_GT(store_->epoch(), epoch);
}

}  // namespace
}  // namespace fabric::store
