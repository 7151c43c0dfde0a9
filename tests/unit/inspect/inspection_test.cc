// Inspections of machines with drivers that do not answer.
#include "agents/inspect/inspection.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "agents/host/call_watch.h"
#include "base/mutex.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

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

// What hangs waits here until the test lets it go.
class Gate {
 public:
  explicit Gate(StillClock& clock) : clock_(clock) {}
  void Pass() {
    MutexLock lock(mutex_);
    ++tries_;
    if (open_) return;
    ++inside_;
    clock_.SomethingHangs();
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return open_; });
    --inside_;
    changed_.notify_all();
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return inside_ == 0; });
  }
  int tries() {
    MutexLock lock(mutex_);
    return tries_;
  }

 private:
  StillClock& clock_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool open_ GUARDED_BY(mutex_) = false;
  int inside_ GUARDED_BY(mutex_) = 0;
  int tries_ GUARDED_BY(mutex_) = 0;
};

// The gate of the test that runs: inspectors are functions.
Gate* gate = nullptr;

Status AddGpu(const Host&, v1::NodeSnapshot& snapshot) {
  snapshot.add_gpus()->set_pci_address("0000:00:01.0");
  return {};
}
Status Hang(const Host& host, v1::NodeSnapshot& snapshot) {
  gate->Pass();
  return AddGpu(host, snapshot);
}
Status AskForFiles(const Host&, v1::NodeSnapshot& snapshot) {
  for (const char* file : {"/sys/class/net/a/mtu", "/sys/class/net/b/mtu", "/sys/class/net/b/speed",
                           "/sys/class/net/b/flags", "/sys/class/net/c/mtu"}) {
    const host::WatchedCall call([&] { return std::string(file); });
    if (call.status().ok() && std::string_view(file).find("/b/") != std::string_view::npos)
      gate->Pass();
    if (call.status().ok())
      snapshot.add_net_interfaces()->set_name(file);
    else
      AddGap(snapshot, "files", "", std::string_view(file).substr(1), call.status());
  }
  return {};
}
constexpr Inspector kFirst = {.name = "first", .doc = "", .inspect = AddGpu};
constexpr Inspector kHangs = {.name = "hangs", .doc = "", .inspect = Hang};
constexpr Inspector kFiles = {.name = "files", .doc = "", .inspect = AskForFiles};
constexpr Inspector kLast = {.name = "last", .doc = "", .inspect = AddGpu};

class EmptyMachine final : public host::HostOwner {
 public:
  EmptyMachine() : fake_(tree_.path()) {}
  host::Host host() override { return fake_.host(); }

 private:
  testing::TempTree tree_;
  testing::FakeHost fake_;
};

Result<std::unique_ptr<host::HostOwner>> OpenEmptyMachine() {
  return std::unique_ptr<host::HostOwner>(std::make_unique<EmptyMachine>());
}

class HangingDriver : public ::testing::Test {
 protected:
  HangingDriver() { gate = &gate_; }
  ~HangingDriver() override {
    gate_.Open();  // Nothing of this test is used by a thread any more.
    gate = nullptr;
  }

  InspectionOptions Options(std::span<const Inspector* const> inspectors) const {
    return {.inspectors = inspectors, .look_every = std::chrono::milliseconds(1)};
  }

  StillClock clock_;
  Gate gate_{clock_};
};

std::vector<std::string> Gaps(const v1::NodeSnapshot& snapshot) {
  std::vector<std::string> gaps;
  for (const v1::Gap& gap : snapshot.gaps()) {
    EXPECT_EQ(gap.code(), v1::GAP_CODE_DEADLINE_EXCEEDED) << gap.reason();
    gaps.push_back(Format("{} {}", gap.inspector(), gap.path()));
  }
  return gaps;
}

TEST_F(HangingDriver, StopsNeitherTheInspectorsBeforeNorThoseAfter) {
  static constexpr const Inspector* kAll[] = {&kFirst, &kHangs, &kLast};
  Inspection inspection(Options(kAll), clock_, OpenEmptyMachine);
  const auto snapshot = inspection.Inspect(EventSet::All());
  EXPECT_EQ(snapshot->gpus_size(), 2);
  EXPECT_THAT(Gaps(*snapshot), ElementsAre("hangs "));
  EXPECT_EQ(inspection.hanging(), 1U);
}

TEST_F(HangingDriver, IsNotAskedAgainBeforeItHasAnswered) {
  static constexpr const Inspector* kAll[] = {&kHangs, &kLast};
  Inspection inspection(Options(kAll), clock_, OpenEmptyMachine);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Gaps(*inspection.Inspect(EventSet::All())), ElementsAre("hangs "));
    EXPECT_EQ(gate_.tries(), 1);
  }
  gate_.Open();
  // The thread has left the gate; whether it has reported that yet, only asking can tell.
  while (inspection.hanging() > 0) (void)inspection.Inspect(EventSet::All());
  const auto snapshot = inspection.Inspect(EventSet::All());
  EXPECT_EQ(snapshot->gpus_size(), 2);
  EXPECT_THAT(Gaps(*snapshot), IsEmpty());
}

TEST_F(HangingDriver, CostsTheFilesOfItsDeviceOnly) {
  static constexpr const Inspector* kAll[] = {&kFiles, &kLast};
  Inspection inspection(Options(kAll), clock_, OpenEmptyMachine);
  const auto snapshot = inspection.Inspect(EventSet::All());
  // Two calls hung; of the third the same is assumed.
  EXPECT_EQ(gate_.tries(), 2);
  EXPECT_THAT(Gaps(*snapshot),
              ElementsAre("files sys/class/net/b/flags", "files sys/class/net/b/mtu",
                          "files sys/class/net/b/speed"));
  EXPECT_EQ(snapshot->net_interfaces_size(), 2);
  EXPECT_EQ(snapshot->gpus_size(), 1);
}

TEST_F(HangingDriver, LeavesABoundedNumberOfThreadsBehind) {
  static constexpr const Inspector* kAll[] = {&kFiles};
  InspectionOptions options = Options(kAll);
  options.hanging_max = 1;
  Inspection inspection(options, clock_, OpenEmptyMachine);
  const auto snapshot = inspection.Inspect(EventSet::All());
  ASSERT_EQ(snapshot->gaps_size(), 1);
  EXPECT_EQ(snapshot->gaps(0).code(), v1::GAP_CODE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(snapshot->net_interfaces_size(), 0);
}

// Files of a captured tree can be slow, as on NFS, but no driver blocks them.
TEST_F(HangingDriver, IsNotAssumedInACapturedTree) {
  static constexpr const Inspector* kAll[] = {&kFirst, &kHangs, &kLast};
  InspectionOptions options = Options(kAll);
  options.captured = true;
  Inspection inspection(options, clock_, OpenEmptyMachine);
  std::jthread opener([&] {
    while (clock_.Now().steady < SteadyTime(std::chrono::seconds(3))) std::this_thread::yield();
    gate_.Open();
  });
  const auto snapshot = inspection.Inspect(EventSet::All());
  EXPECT_EQ(snapshot->gpus_size(), 3);
  EXPECT_THAT(Gaps(*snapshot), IsEmpty());
  EXPECT_EQ(inspection.hanging(), 0U);
}

TEST_F(HangingDriver, IsNotWaitedForWhenAskedToStop) {
  static constexpr const Inspector* kAll[] = {&kHangs};
  Inspection inspection(Options(kAll), clock_, OpenEmptyMachine);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(inspection.Inspect(EventSet::All(), stop.get_token()));
}

// A busy machine is not a driver that does not answer.
TEST(Inspection, DistinguishesAThreadThatRunsFromOneThatIsBlocked) {
  // Blocked threads go on after the test.
  static constexpr auto kTakes = std::chrono::milliseconds(600);
  static constexpr Inspector kRuns = {
      .name = "runs", .doc = "", .inspect = [](const Host& host, v1::NodeSnapshot& out) {
        const auto end = std::chrono::steady_clock::now() + kTakes;
        while (std::chrono::steady_clock::now() < end) continue;
        return AddGpu(host, out);
      }};
  static constexpr Inspector kSleeps = {
      .name = "sleeps", .doc = "", .inspect = [](const Host& host, v1::NodeSnapshot& out) {
        EXPECT_EQ(poll(nullptr, 0, static_cast<int>(kTakes.count())), 0);
        return AddGpu(host, out);
      }};
  const SystemClock clock;
  for (const Inspector* const inspector : {&kRuns, &kSleeps}) {
    const Inspector* const one[] = {inspector};
    Inspection inspection(
        {.inspectors = one, .answer_max = kTakes / 3, .look_every = std::chrono::milliseconds(5)},
        clock, OpenEmptyMachine);
    const auto snapshot = inspection.Inspect(EventSet::All());
    ASSERT_TRUE(snapshot.has_value());
    EXPECT_EQ(snapshot->gaps().empty(), inspector == &kRuns) << inspector->name;
    EXPECT_EQ(snapshot->gpus_size(), inspector == &kRuns ? 1 : 0) << inspector->name;
  }
}

TEST(Inspection, ThatCannotOpenTheMachineSaysWhy) {
  const StillClock clock;
  Inspection inspection({}, clock, []() -> Result<std::unique_ptr<host::HostOwner>> {
    return Status(Code::kNotFound, "/gone: no such directory");
  });
  const auto snapshot = inspection.Inspect(EventSet::All());
  ASSERT_EQ(snapshot->gaps_size(), 1);
  EXPECT_EQ(snapshot->gaps(0).code(), v1::GAP_CODE_NOT_FOUND);
}

// A node whose ethtool blocks, as the live one does: within a watched call.
class BlockingNode final : public host::HostOwner {
 public:
  BlockingNode() {
    node_.fake.ethtool.status = Status();
    node_.fake.ethtool.pauses["eth0"] = {.rx = true};
    node_.fake.ethtool.before_driver = [](const std::string& netdev) -> Status {
      const host::WatchedCall call([&] { return netdev + "/ethtool driver"; });
      RETURN_IF_ERROR(call.status());
      gate->Pass();
      return {};
    };
  }
  host::Host host() override { return node_.fake.host(); }

 private:
  SmallNode node_;
};

TEST_F(HangingDriver, OfANetdevLeavesAllElseOfTheNodeAsItIs) {
  Inspection inspection({.look_every = std::chrono::milliseconds(1)}, clock_,
                        []() -> Result<std::unique_ptr<host::HostOwner>> {
                          return std::unique_ptr<host::HostOwner>(std::make_unique<BlockingNode>());
                        });
  const auto snapshot = inspection.Inspect(EventSet::All());
  EXPECT_EQ(inspection.hanging(), 1U);
  ASSERT_EQ(snapshot->net_interfaces_size(), 1);
  EXPECT_EQ(snapshot->net_interfaces(0).mtu_bytes(), 4200U);
  EXPECT_TRUE(snapshot->net_interfaces(0).global_pause().rx());
  EXPECT_EQ(snapshot->rdma_devices(0).ports(0).state(), v1::PORT_STATE_ACTIVE);
  const auto hangs = [](const v1::Gap& gap) {
    return gap.code() == v1::GAP_CODE_DEADLINE_EXCEEDED && gap.inspector() == "net_interfaces";
  };
  EXPECT_EQ(std::count_if(snapshot->gaps().begin(), snapshot->gaps().end(), hangs), 1);
}

// What runs between two checks of everything.

std::vector<std::string> ran;

template <int kNumber>
Status Note(const Host&, v1::NodeSnapshot& snapshot) {
  static constexpr std::string_view kNames[] = {"shared", "pci", "gpu", "paths", "memory"};
  ran.emplace_back(kNames[kNumber]);
  if (kNumber == 1) snapshot.add_pci_functions()->set_address(std::to_string(ran.size()));
  if (kNumber == 2) snapshot.add_gpus()->set_pci_address("0000:00:01.0");
  if (kNumber == 4)
    AddGap(snapshot, "memory", "", "", Status(Code::kNotFound, std::to_string(ran.size())));
  return {};
}
constexpr Inspector kShared = {.name = "shared", .doc = "", .inspect = Note<0>};
constexpr Inspector kPci = {.name = "pci",
                            .doc = "",
                            .inspect = Note<1>,
                            .wakes = EventKind::kHotplug,
                            .owns = {v1::NodeSnapshot::kPciFunctionsFieldNumber}};
constexpr Inspector kGpu = {
    .name = "gpu",
    .doc = "",
    .inspect = Note<2>,
    .wakes = EventKind::kModule | EventKind::kHotplug,
    .owns = {v1::NodeSnapshot::kGpusFieldNumber, v1::NodeSnapshot::kGpuNicPathsFieldNumber}};
constexpr Inspector kPaths = {.name = "paths",
                              .doc = "",
                              .inspect = Note<3>,
                              .wakes = EventKind::kHotplug,
                              .owns = {v1::NodeSnapshot::kGpuNicPathsFieldNumber}};
constexpr Inspector kMemory = {.name = "memory",
                               .doc = "",
                               .inspect = Note<4>,
                               .wakes = EventKind::kModule,
                               .owns = {v1::NodeSnapshot::kPeerMemoryFieldNumber}};

std::vector<std::string> RunAfter(Inspection& inspection, EventSet events) {
  ran.clear();
  const auto snapshot = inspection.Inspect(events);
  // Of inspectors that were left out, all is as it was.
  EXPECT_EQ(snapshot->pci_functions_size(), 1);
  EXPECT_EQ(snapshot->gpus_size(), 1);
  EXPECT_EQ(snapshot->gaps_size(), 1);
  return ran;
}

TEST(Inspection, RunsWhatAnEventWakes) {
  static constexpr const Inspector* kAll[] = {&kShared, &kPci, &kGpu, &kPaths, &kMemory};
  const StillClock clock;
  Inspection inspection({.inspectors = kAll}, clock, OpenEmptyMachine);
  // Without an earlier snapshot everything runs, whatever woke it.
  EXPECT_THAT(RunAfter(inspection, EventKind::kLink),
              ElementsAre("shared", "pci", "gpu", "paths", "memory"));
  EXPECT_THAT(RunAfter(inspection, EventKind::kLink), ElementsAre("shared"));
  // Those that fill one field together run together.
  EXPECT_THAT(RunAfter(inspection, EventKind::kModule),
              ElementsAre("shared", "gpu", "paths", "memory"));
  EXPECT_THAT(RunAfter(inspection, EventKind::kHotplug),
              ElementsAre("shared", "pci", "gpu", "paths"));
  EXPECT_THAT(RunAfter(inspection, EventSet::All()),
              ElementsAre("shared", "pci", "gpu", "paths", "memory"));
}

std::vector<const google::protobuf::FieldDescriptor*> OwnedFields(const Inspector& inspector) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (int number = 1; number < 64; ++number)
    if (inspector.owns.Has(number))
      fields.push_back(v1::NodeSnapshot::descriptor()->FindFieldByNumber(number));
  return fields;
}

TEST(AllInspectors, OwnFieldsThatThereAreAndFillNoOthers) {
  SmallNode node;
  for (const Inspector* const inspector : AllInspectors()) {
    for (const auto* const field : OwnedFields(*inspector))
      ASSERT_NE(field, nullptr) << inspector->name;
    EXPECT_FALSE(inspector->wakes.empty()) << inspector->name;
    if (inspector->owns.empty()) continue;
    v1::NodeSnapshot with = node.Inspected();
    v1::NodeSnapshot before = with;
    (void)inspector->inspect(node.fake.host(), with);
    for (v1::NodeSnapshot* const snapshot : {&with, &before}) {
      snapshot->clear_gaps();
      for (const auto* const field : OwnedFields(*inspector))
        snapshot->GetReflection()->ClearField(snapshot, field);
    }
    EXPECT_EQ(with.SerializeAsString(), before.SerializeAsString()) << inspector->name;
  }
}

// A node that tests change between two inspections.
class BorrowedNode final : public host::HostOwner {
 public:
  explicit BorrowedNode(SmallNode& node) : node_(node) {}
  host::Host host() override { return node_.fake.host(); }

 private:
  SmallNode& node_;
};

TEST(Inspection, AfterALinkReadsGidsAndCountersWhenAnAddressOrTheTimeSaysSo) {
  SmallNode node;
  const StillClock clock;
  Inspection inspection({}, clock, [&node]() -> Result<std::unique_ptr<host::HostOwner>> {
    return std::unique_ptr<host::HostOwner>(std::make_unique<BorrowedNode>(node));
  });
  const auto gids_after = [&inspection](EventSet events) {
    return inspection.Inspect(events)->rdma_devices(0).ports(0).gids_size();
  };
  const auto counter_after = [&inspection](EventSet events) {
    return FindCounter(*inspection.Inspect(events), "out_of_sequence")->value();
  };
  EXPECT_EQ(gids_after(EventSet::All()), 1);
  node.File(kPort + "/gids/1", "0000:0000:0000:0000:0000:ffff:0a0a:0001\n");
  node.File(kPort + "/gid_attrs/types/1", "RoCE v2\n");
  node.File(kPort + "/state", "1: DOWN\n");
  EXPECT_EQ(gids_after(EventKind::kLink), 1) << "what the link alone does not change is kept";
  EXPECT_EQ(inspection.Inspect(EventKind::kLink)->rdma_devices(0).ports(0).state(),
            v1::PORT_STATE_DOWN);
  EXPECT_EQ(gids_after(EventKind::kLink | EventKind::kAddress), 2);
  node.Remove(kPort + "/gids/1");
  EXPECT_EQ(gids_after(EventSet::All()), 1);
  node.File(kPort + "/hw_counters/out_of_sequence", "4\n");
  EXPECT_EQ(counter_after(EventKind::kLink), 3U);
  EXPECT_EQ(counter_after(EventKind::kDcb), 4U) << "counters come and go with PFC";
}

TEST(Inspection, OfANodeInPartsIsTheWholeOne) {
  const StillClock clock;
  Inspection inspection({}, clock, []() -> Result<std::unique_ptr<host::HostOwner>> {
    return std::unique_ptr<host::HostOwner>(std::make_unique<BlockingNode>());
  });
  Gate open(const_cast<StillClock&>(clock));
  open.Open();
  gate = &open;
  const auto whole = inspection.Inspect(EventSet::All());
  for (const EventKind kind : {EventKind::kLink, EventKind::kModule, EventKind::kCheck})
    EXPECT_EQ(inspection.Inspect(kind)->SerializeAsString(), whole->SerializeAsString());
  gate = nullptr;
}

}  // namespace
}  // namespace fabric::inspect
