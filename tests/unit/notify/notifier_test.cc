#include "daemon/notify/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "proto/timestamps.h"

namespace fabric::notify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

v1::Event Opened(const std::string& id, v1::Severity severity = v1::SEVERITY_ERROR) {
  v1::Event event;
  *event.mutable_at() = ToProto(WallTime(std::chrono::seconds(1'800'000'000)));
  v1::Finding& finding = *event.mutable_finding();
  finding.set_id(id);
  finding.set_verdict(v1::VERDICT_FAIL);
  finding.set_severity(severity);
  finding.set_state(v1::FINDING_STATE_OPEN);
  *finding.mutable_opened_at() = event.at();
  *finding.mutable_changed_at() = event.at();
  return event;
}

// What receivers got, and a way to wait for it.
class Got {
 public:
  void Add(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::vector<std::string> Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return texts_.size() >= count; });
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
};

void Ignore(const std::string&) {}
constexpr NotifierOptions kFast{.first_wait = std::chrono::milliseconds(1)};

TEST(Notifier, PassesOpenedAndResolvedFailingFindingsFromTheSeverityOn) {
  Got got;
  Notifier notifier({{.name = "hook",
                      .min_severity = v1::SEVERITY_ERROR,
                      .send =
                          [&](const Notification& one) {
                            got.Add(one.event + " " + one.finding.id());
                            return Status();
                          }}},
                    Ignore, kFast);
  notifier.OnEvent(Opened("a"));
  notifier.OnEvent(Opened("low", v1::SEVERITY_WARNING));
  v1::Event unknown = Opened("unknown");
  unknown.mutable_finding()->set_verdict(v1::VERDICT_UNKNOWN);
  notifier.OnEvent(unknown);
  v1::Event silenced = Opened("silenced");
  silenced.mutable_finding()->mutable_silenced()->set_id("s1");
  notifier.OnEvent(silenced);
  v1::Event changed = Opened("changed");
  changed.mutable_at()->set_seconds(1'900'000'000);
  notifier.OnEvent(changed);
  v1::Event resolved = Opened("a");
  resolved.mutable_finding()->set_state(v1::FINDING_STATE_RESOLVED);
  notifier.OnEvent(resolved);
  EXPECT_THAT(got.Await(2), ElementsAre("finding_opened a", "finding_resolved a"));
  notifier.Stop();
  EXPECT_EQ(notifier.Counts()[0].sent, 2u);
  EXPECT_EQ(notifier.Counts()[0].dropped, 0u);
}

TEST(Notifier, RepeatsUntilTheReceiverTakesIt) {
  Got got;
  std::atomic<int> attempts = 0;
  Notifier notifier({{.name = "hook",
                      .send =
                          [&](const Notification& one) {
                            if (++attempts < 4) return Status(Code::kUnavailable, "down");
                            got.Add(one.finding.id());
                            return Status();
                          }}},
                    Ignore, kFast);
  notifier.OnEvent(Opened("a"));
  EXPECT_THAT(got.Await(1), ElementsAre("a"));
  EXPECT_EQ(attempts, 4);
}

TEST(Notifier, GivesUpAfterTheAttemptsAndAtOnceWhenRefused) {
  Got reports;
  std::atomic<int> attempts = 0;
  Notifier notifier({{.name = "hook",
                      .send =
                          [&](const Notification& one) {
                            ++attempts;
                            return one.finding.id() == "a"
                                       ? Status(Code::kUnavailable, "down")
                                       : Status(Code::kInvalidArgument, "HTTP status 404");
                          }}},
                    [&](const std::string& line) { reports.Add(line); },
                    {.attempts_max = 3, .first_wait = std::chrono::milliseconds(1)});
  notifier.OnEvent(Opened("a"));
  notifier.OnEvent(Opened("b"));
  EXPECT_THAT(reports.Await(2), ElementsAre("hook: notification of a dropped: down",
                                            "hook: notification of b dropped: HTTP status 404"));
  EXPECT_EQ(attempts, 4);
}

TEST(Notifier, AReceiverThatHangsBlocksNeitherTheCallerNorOthers) {
  Got got;
  std::mutex mutex;
  std::condition_variable released;
  bool go = false;
  Notifier notifier({{.name = "slow",
                      .send =
                          [&](const Notification&) {
                            std::unique_lock lock(mutex);
                            released.wait(lock, [&] { return go; });
                            return Status();
                          }},
                     {.name = "fast",
                      .send =
                          [&](const Notification& one) {
                            got.Add(one.finding.id());
                            return Status();
                          }}},
                    Ignore, {.queue_max = 10});
  for (int n = 0; n < 100; ++n) notifier.OnEvent(Opened("x"));
  EXPECT_GE(got.Await(10).size(), 10u);
  const auto slow = notifier.Counts()[0];
  EXPECT_LE(slow.pending, 10u);
  EXPECT_GE(slow.dropped, 89u);
  {
    const std::lock_guard lock(mutex);
    go = true;
  }
  released.notify_all();
  notifier.Stop();
}

// A receiver that is down: it adds "NAME: ID" for each attempt.
Receiver Down(const std::string& name, Got& got) {
  return {.name = name, .send = [name, &got](const Notification& one) {
            got.Add(name + ": " + one.finding.id());
            return Status(Code::kUnavailable, "down");
          }};
}

TEST(Notifier, ANewReceiverTakesOverWhatWaitsForTheOneWithItsName) {
  Got before, after;
  Notifier notifier({Down("ops", before), Down("other", before)}, Ignore,
                    {.first_wait = std::chrono::hours(1)});
  for (const char* const id : {"a", "b", "c"}) notifier.OnEvent(Opened(id));
  EXPECT_EQ(before.Await(2).size(), 2u) << "both have tried the first one";
  notifier.Replace({{.name = "ops",
                     .send =
                         [&](const Notification& one) {
                           after.Add("ops: " + one.finding.id());
                           return Status();
                         }},
                    {.name = "new", .send = [&](const Notification& one) {
                       after.Add("new: " + one.finding.id());
                       return Status();
                     }}});
  EXPECT_THAT(after.Await(3), ElementsAre("ops: a", "ops: b", "ops: c"));
  notifier.OnEvent(Opened("d"));
  EXPECT_THAT(after.Await(5),
              UnorderedElementsAre("ops: a", "ops: b", "ops: c", "ops: d", "new: d"));
  EXPECT_EQ(before.Await(2).size(), 2u) << "the earlier ones get no more";
  notifier.Stop();
  ASSERT_EQ(notifier.Counts().size(), 2u);
  EXPECT_EQ(notifier.Counts()[0].name, "ops");
  EXPECT_EQ(notifier.Counts()[0].sent, 4u);
  EXPECT_EQ(notifier.Counts()[0].dropped, 0u);
}

TEST(Notifier, WithoutReceiversDoesNothing) {
  Got got;
  Notifier notifier({Down("ops", got)}, Ignore, kFast);
  notifier.Replace({});
  notifier.OnEvent(Opened("a"));
  EXPECT_TRUE(notifier.Counts().empty());
}

TEST(Notifier, StopsWhileItWaitsForTheNextAttempt) {
  Got got;
  Notifier notifier({{.name = "hook",
                      .send =
                          [&](const Notification&) {
                            got.Add("attempt");
                            return Status(Code::kUnavailable, "down");
                          }}},
                    Ignore, {.first_wait = std::chrono::hours(1)});
  notifier.OnEvent(Opened("a"));
  EXPECT_THAT(got.Await(1), ElementsAre("attempt"));
  notifier.Stop();
}

}  // namespace
}  // namespace fabric::notify
