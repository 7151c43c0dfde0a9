#include "daemon/otlp/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/otlp/event_records.h"

namespace fabric::otlp {
namespace {

using namespace std::chrono_literals;
using prometheus::MetricFamily;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SetClock final : public Clock {
 public:
  Moment Now() const override { return now; }
  Moment now{.steady = SteadyTime(1000s), .wall = WallTime(2000s)};
};

// Gives prepared answers, then OK.
class PreparedCollector final : public Collector {
 public:
  Answer Export(const MetricsRequest& request) override {
    sizes.push_back(request.ByteSizeLong());
    values.push_back(
        request.resource_metrics(0).scope_metrics(0).metrics(0).gauge().data_points(0).as_double());
    return Take(metric_answers);
  }
  Answer Export(const LogsRequest& request) override {
    sizes.push_back(request.ByteSizeLong());
    std::vector<std::string>& bodies = requests.emplace_back();
    for (const LogRecord& record : request.resource_logs(0).scope_logs(0).log_records())
      bodies.push_back(record.body().string_value());
    return Take(log_answers);
  }
  void Cancel() override {}

  std::deque<Answer> metric_answers;
  std::deque<Answer> log_answers;
  std::vector<double> values;
  std::vector<std::vector<std::string>> requests;
  std::vector<std::size_t> sizes;

 private:
  static Answer Take(std::deque<Answer>& answers) {
    if (answers.empty()) return {};
    Answer answer = answers.front();
    answers.pop_front();
    return answer;
  }
};

Answer Down() {
  return {.outcome = Outcome::kRetry, .reason = "UNAVAILABLE: refused"};
}

class ExporterTest : public ::testing::Test {
 protected:
  void Make(ExporterOptions options = {}, const control::EventBounds& bounds = {}) {
    options.collector = "c:4317";
    bus_ = std::make_unique<control::EventBus>(1, bounds);
    exporter_ = std::make_unique<Exporter>(
        options, clock_, collector_, *bus_, *bus_->Start({}, {}),
        [this] {
          MetricFamily family;
          family.name = "fabric_nodes";
          family.type = prometheus::MetricType::Gauge;
          family.metric.emplace_back().gauge.value = ++collected_;
          return std::vector{family};
        },
        [this](bool works, const std::string& line) {
          lines_.push_back((works ? "+ " : "- ") + line);
        });
  }
  void Publish(const std::string& node) {
    v1::Event event;
    event.mutable_node()->set_name(node);
    event.mutable_node()->set_state(v1::NODE_STATE_CONNECTED);
    bus_->Publish(event);
  }
  // Goes to the next time at which something is due, and lets it happen. Returns the pause.
  Duration Next() {
    const SteadyTime due = exporter_->Step();
    const Duration pause = due - clock_.now.steady;
    clock_.now.steady = due;
    clock_.now.wall += pause;
    return pause;
  }
  void Pass(Duration time) {
    clock_.now.steady += time;
    clock_.now.wall += time;
  }
  SignalCounts Metrics() const { return exporter_->Counts().at(0); }
  SignalCounts Logs() const { return exporter_->Counts().at(1); }

  SetClock clock_;
  PreparedCollector collector_;
  std::unique_ptr<control::EventBus> bus_;
  std::unique_ptr<Exporter> exporter_;
  std::vector<std::string> lines_;
  double collected_ = 0;
};

TEST_F(ExporterTest, EventsGoInOrderAndOnce) {
  Make();
  Publish("n1");
  Publish("n2");
  Next();
  Publish("n3");
  Next();
  Next();
  EXPECT_THAT(collector_.requests,
              ElementsAre(ElementsAre("node n1 connected", "node n2 connected"),
                          ElementsAre("node n3 connected")));
  EXPECT_THAT(Logs().exports, ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(ExporterTest, EventsWaitForTheCollectorAndAreNotDoubled) {
  Make();
  collector_.log_answers = {Down(), Down()};
  Publish("n1");
  Next();
  Publish("n2");
  for (int i = 0; i < 5; ++i) Next();
  EXPECT_THAT(collector_.requests,
              ElementsAre(ElementsAre("node n1 connected"), ElementsAre("node n1 connected"),
                          ElementsAre("node n1 connected"), ElementsAre("node n2 connected")));
  EXPECT_THAT(Logs().exports, ElementsAre(2, 0, 2, 0));
  EXPECT_EQ(Logs().dropped, 0U);
  EXPECT_THAT(lines_, ElementsAre("- export of events to c:4317 fails: UNAVAILABLE: refused; it is "
                                  "repeated",
                                  "+ export of events to c:4317 works again"));
}

TEST_F(ExporterTest, EventsThatTheRingDiscardsAreOneRecordWithTheirNumber) {
  Make({}, {.events = 3});
  collector_.log_answers = {Down()};
  Publish("n0");
  Next();
  for (int i = 1; i <= 8; ++i) Publish("n" + std::to_string(i));
  for (int i = 0; i < 3; ++i) Next();
  EXPECT_THAT(collector_.requests,
              ElementsAre(ElementsAre("node n0 connected"), ElementsAre("node n0 connected"),
                          ElementsAre("events are missing: 5 events discarded", "node n6 connected",
                                      "node n7 connected", "node n8 connected")));
  EXPECT_EQ(Logs().dropped, 5U);
}

TEST_F(ExporterTest, RefusedEventsAreCountedAndNotRepeated) {
  Make();
  collector_.log_answers = {{.outcome = Outcome::kRefused, .reason = "INVALID_ARGUMENT: x"}};
  Publish("n1");
  Publish("n2");
  Next();
  Publish("n3");
  for (int i = 0; i < 3; ++i) Next();
  EXPECT_THAT(collector_.requests,
              ElementsAre(ElementsAre("node n1 connected", "node n2 connected"),
                          ElementsAre("node n3 connected")));
  EXPECT_EQ(Logs().dropped, 2U);
  EXPECT_THAT(Logs().exports, ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(lines_.at(0), HasSubstr("INVALID_ARGUMENT: x; 2 dropped"));
}

TEST_F(ExporterTest, PartialSuccessIsLoggedOnceAndCounted) {
  Make();
  const Answer partial{.outcome = Outcome::kPartial, .reason = "too old", .rejected = 1};
  collector_.log_answers = {partial, partial};
  for (const char* node : {"n1", "n2", "n3"}) {
    Publish(node);
    Next();
  }
  EXPECT_THAT(collector_.requests, SizeIs(3));
  EXPECT_EQ(Logs().dropped, 2U);
  EXPECT_THAT(Logs().exports, ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(lines_, ElementsAre("- c:4317 accepts events in part: 1 of 1 rejected: too old",
                                  "+ c:4317 accepts all events again"));
}

TEST_F(ExporterTest, MetricsGoAtTheIntervalAndRepetitionsHaveNewValues) {
  Make({.interval = 30s, .events_every = 1h});
  collector_.metric_answers = {{}, Down(), Down()};
  EXPECT_EQ(Next(), 30s);
  EXPECT_LE(Next(), 1s) << "a pause after a failure, not the interval";
  EXPECT_LE(Next(), 2s);
  EXPECT_EQ(Next(), 30s);
  EXPECT_THAT(collector_.values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Metrics().exports, ElementsAre(2, 0, 2, 0));
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(ExporterTest, PausesDoubleUpToTheMaximum) {
  Make({.interval = 1000h, .first_wait = 1s, .wait_max = 10s});
  for (int i = 0; i < 8; ++i) collector_.log_answers.push_back(Down());
  Publish("n1");
  for (const Duration expected : {1s, 2s, 4s, 8s, 10s, 10s}) {
    const Duration pause = Next();
    EXPECT_GE(pause, expected / 2);
    EXPECT_LE(pause, expected);
  }
}

TEST_F(ExporterTest, ThePauseThatTheCollectorAsksForIsKeptUpToABound) {
  Make({.interval = 1000h, .asked_wait_max = 5min});
  Answer full = Down();
  full.wait = 40s;
  Answer forever = Down();
  forever.wait = 1000h;
  collector_.log_answers = {full, forever};
  Publish("n1");
  EXPECT_EQ(Next(), 40s);
  EXPECT_EQ(Next(), 5min);
}

TEST_F(ExporterTest, RequestsHaveABound) {
  constexpr std::size_t kBytes = 3 * kRecordBytesMax;
  Make({.interval = 1000h, .request_bytes_max = kBytes});
  constexpr int kEvents = 500;
  for (int i = 0; i < kEvents; ++i) Publish("n" + std::to_string(i) + std::string(400, 'x'));
  Next();
  int next = 0;
  for (const auto& bodies : collector_.requests)
    for (const std::string& body : bodies)
      EXPECT_THAT(body, HasSubstr("node n" + std::to_string(next++) + "x"));
  EXPECT_EQ(next, kEvents);
  EXPECT_GT(collector_.requests.size(), 5U);
  for (const std::size_t size : collector_.sizes) EXPECT_LE(size, kBytes);
}

TEST_F(ExporterTest, ACollectorThatIsDownForMetricsDoesNotStopEvents) {
  Make();
  collector_.metric_answers = {Down(), Down(), Down()};
  for (const char* node : {"n1", "n2", "n3"}) {
    Publish(node);
    Next();
    Pass(1s);
  }
  EXPECT_THAT(collector_.requests, SizeIs(3));
}

// Does not answer until it is cancelled.
class SilentCollector final : public Collector {
 public:
  Answer Export(const MetricsRequest&) override { return Wait(); }
  Answer Export(const LogsRequest&) override { return Wait(); }
  void Cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  void AwaitCall() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return called_; });
  }

 private:
  Answer Wait() {
    std::unique_lock lock(mutex_);
    called_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return cancelled_; });
    return Down();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool called_ = false;
  bool cancelled_ = false;
};

std::vector<MetricFamily> OneGauge() {
  MetricFamily family;
  family.name = "m";
  family.type = prometheus::MetricType::Gauge;
  family.metric.emplace_back();
  return {family};
}

// The first export is at the start, the next one in an hour.
constexpr Duration kLater = std::chrono::hours(1);

TEST(ExporterThread, StopSendsTheLastMetricsAndEvents) {
  const SystemClock clock;
  PreparedCollector collector;
  control::EventBus bus;
  Exporter exporter({.interval = kLater, .events_every = kLater, .flush_max = kLater}, clock,
                    collector, bus, *bus.Start({}, {}), OneGauge,
                    [](bool, const std::string& line) { ADD_FAILURE() << line; });
  exporter.Start();
  while (exporter.Counts()[0].exports[0] == 0) std::this_thread::yield();
  v1::Event event;
  event.mutable_node()->set_name("n7");
  bus.Publish(event);
  exporter.Stop();
  ASSERT_THAT(collector.requests, SizeIs(1));
  EXPECT_THAT(collector.requests[0], ElementsAre(HasSubstr("n7")));
  EXPECT_THAT(collector.values, SizeIs(2));
}

TEST(ExporterThread, StopDoesNotAskACollectorThatFailed) {
  const SystemClock clock;
  PreparedCollector collector;
  collector.metric_answers = {Down()};
  control::EventBus bus;
  Exporter exporter({.interval = kLater,
                     .events_every = kLater,
                     .first_wait = kLater,
                     .wait_max = kLater,
                     .flush_max = kLater},
                    clock, collector, bus, *bus.Start({}, {}), OneGauge,
                    [](bool, const std::string&) {});
  exporter.Start();
  constexpr auto kRetried = static_cast<std::size_t>(Outcome::kRetry);
  while (exporter.Counts()[0].exports[kRetried] == 0) std::this_thread::yield();
  exporter.Stop();
  EXPECT_THAT(collector.values, SizeIs(1));
}

TEST(ExporterThread, StopEndsACallInProgressAndPublishingDoesNotWaitForIt) {
  const SystemClock clock;
  SilentCollector collector;
  control::EventBus bus;
  Exporter exporter({.flush_max = 0s}, clock, collector, bus, *bus.Start({}, {}), OneGauge,
                    [](bool, const std::string& line) { ADD_FAILURE() << line; });
  exporter.Start();
  collector.AwaitCall();
  bus.Publish({});
  EXPECT_THAT(exporter.Counts(), SizeIs(2));
  exporter.Stop();
}

}  // namespace
}  // namespace fabric::otlp
