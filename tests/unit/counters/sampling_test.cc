// Sampling of machines with drivers that do not answer.
#include "agents/counters/sampling.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

namespace fabric::counters {
namespace {

// Stands still until something hangs; then it runs for as long as that takes to be noticed.
class StillClock final : public Clock {
 public:
  Moment Now() const override {
    if (seconds_left_ > 0) {
      --seconds_left_;
      ++seconds_;
    }
    return {.steady = SteadyTime(std::chrono::seconds(seconds_)), .wall = {}};
  }
  void SomethingHangs() { seconds_left_ += 4; }

 private:
  mutable std::atomic<int> seconds_left_ = 0;
  mutable std::atomic<int> seconds_ = 0;
};

// Ethtool of eth0 and eth1, of which eth1 may hang. Used by all machines of a test.
class TwoNetdevs {
 public:
  explicit TwoNetdevs(StillClock& clock) : clock_(clock) {}

  void Hang() {
    MutexLock lock(mutex_);
    hangs_ = true;
  }
  // From then on, no thread uses the clock.
  void Answer() {
    MutexLock lock(mutex_);
    hangs_ = false;
    changed_.notify_all();
  }
  void AddMachine(int more) {
    MutexLock lock(mutex_);
    machines_ += more;
    changed_.notify_all();
  }
  void AwaitNoMachine() {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return machines_ == 0; });
  }
  std::uint64_t Value(const std::string& netdev) {
    MutexLock lock(mutex_);
    if (netdev == "eth0" || !hangs_) return ++value_;
    clock_.SomethingHangs();
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return !hangs_; });
    return 0;
  }

 private:
  StillClock& clock_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool hangs_ GUARDED_BY(mutex_) = false;
  int machines_ GUARDED_BY(mutex_) = 0;
  std::uint64_t value_ GUARDED_BY(mutex_) = 0;
};

class HangingEthtool final : public host::Ethtool {
 public:
  explicit HangingEthtool(TwoNetdevs& driver) : driver_(driver) {}
  Result<host::DriverInfo> Driver(const std::string&) override { return None(); }
  Result<std::vector<host::NamedCounter>> Statistics(const std::string&) override { return None(); }
  Result<std::vector<std::string>> StatisticNames(const std::string&) override {
    return std::vector<std::string>{"rx"};
  }
  Status StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) override {
    values = {driver_.Value(netdev)};
    return {};
  }
  Result<host::PauseParameters> Pause(const std::string&) override { return None(); }
  Result<host::LinkSettings> Link(const std::string&) override { return None(); }
  Result<std::string> Fec(const std::string&) override { return None(); }
  Result<host::FecModes> FecModes(const std::string&) override { return None(); }
  Result<std::vector<host::NamedCounter>> FecStatistics(const std::string&) override {
    return None();
  }
  Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string&,
                                                 const host::ModulePlace&) override {
    return None();
  }
  Result<std::uint16_t> PfcStormPreventionMs(const std::string&) override { return None(); }

 private:
  static Status None() { return {Code::kUnimplemented, "the fake has only statistics"}; }
  TwoNetdevs& driver_;
};

class Machine final : public host::HostOwner {
 public:
  explicit Machine(TwoNetdevs& driver) : driver_(driver), fake_(tree_.path()), ethtool_(driver) {
    driver_.AddMachine(1);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() override { driver_.AddMachine(-1); }
  host::Host host() override {
    const host::Host fake = fake_.host();
    return {.root = fake.root,
            .captured = false,
            .rdma = fake.rdma,
            .dcb = fake.dcb,
            .ethtool = ethtool_,
            .platform = fake.platform,
            .kernel_log = fake.kernel_log,
            .lldp = fake.lldp,
            .addresses = fake.addresses,
            .verbs = fake.verbs,
            .gpu_management = fake.gpu_management};
  }

 private:
  TwoNetdevs& driver_;
  testing::TempTree tree_;
  testing::FakeHost fake_;
  HangingEthtool ethtool_;
};

class SamplingTest : public ::testing::Test {
 protected:
  SamplingTest() {
    for (const char* netdev : {"eth0", "eth1"}) {
      v1::CounterSet& set = *found.Add();
      set.set_netdev(netdev);
      set.add_counters()->set_name("rx");
      set.mutable_counters(0)->set_source(v1::COUNTER_SOURCE_ETHTOOL);
    }
  }
  // Waits until the abandoned threads, which use the driver, have ended.
  ~SamplingTest() override {
    driver.Answer();
    sampling.reset();
    driver.AwaitNoMachine();
  }

  // The netdevs whose counters a new table has; "same" when it is no new one.
  static std::string Table(const std::optional<Sampling::Sampled>& sampled) {
    if (!sampled) return "nothing";
    if (!sampled->table) return "same";
    std::string netdevs;
    for (const v1::CounterSet& set : *sampled->table)
      if (!set.counters().empty()) netdevs += set.netdev() + " ";
    return netdevs;
  }

  CounterSets found;
  StillClock clock;
  TwoNetdevs driver{clock};
  std::optional<Sampling> sampling{
      std::in_place, SamplingOptions{.look_every = std::chrono::milliseconds(1), .hanging_max = 2},
      clock, [this]() -> Result<std::unique_ptr<host::HostOwner>> {
        return std::unique_ptr<host::HostOwner>(std::make_unique<Machine>(driver));
      }};
};

TEST_F(SamplingTest, GoesOnWithoutWhatHangs) {
  sampling->Plan(found);
  EXPECT_EQ(Table(sampling->Sample()), "eth0 eth1 ");
  EXPECT_EQ(Table(sampling->Sample()), "same");
  driver.Hang();
  const auto without = sampling->Sample();
  EXPECT_EQ(Table(without), "eth0 ");
  EXPECT_EQ(without->values.size(), 1u);
  EXPECT_EQ(sampling->hanging(), 1u);
  EXPECT_EQ(Table(sampling->Sample()), "same");
  sampling->Plan(found);
  EXPECT_EQ(Table(sampling->Sample()), "same") << "it still hangs";
}

TEST_F(SamplingTest, WhatAnswersAgainIsReadAgainAfterTheNextInspection) {
  sampling->Plan(found);
  driver.Hang();
  EXPECT_EQ(Table(sampling->Sample()), "eth0 ");
  driver.Answer();
  std::string table;
  for (int i = 0; i < 1000 && table != "eth0 eth1 "; ++i) {  // Its thread takes a moment to end.
    sampling->Plan(found);
    table = Table(sampling->Sample());
  }
  EXPECT_EQ(table, "eth0 eth1 ");
  EXPECT_EQ(sampling->hanging(), 0u);
}

TEST_F(SamplingTest, WithTooManyThatHangNothingIsRead) {
  v1::CounterSet& third = *found.Add();
  third.set_netdev("eth2");
  *third.add_counters() = found[0].counters(0);
  sampling->Plan(found);
  driver.Hang();
  EXPECT_EQ(Table(sampling->Sample()), "");
  EXPECT_EQ(sampling->hanging(), 2u);
}

TEST_F(SamplingTest, AMachineThatCannotBeOpenedHasNoCounters) {
  Sampling none({}, clock, []() -> Result<std::unique_ptr<host::HostOwner>> {
    return Status(Code::kNotFound, "gone");
  });
  none.Plan(found);
  EXPECT_EQ(Table(none.Sample()), "");
}

}  // namespace
}  // namespace fabric::counters
