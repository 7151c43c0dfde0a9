#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/blame/blame.h"
#include "proto/probe_kinds.h"

namespace fabric::blame {
namespace {

using Results = google::protobuf::RepeatedPtrField<v1::PairResult>;

// True when one end failed by itself, before the path was involved.
bool OfOneEnd(const v1::ProbeResult& said) {
  const bool may_be = said.status() == v1::PROBE_STATUS_UNREACHABLE ||
                      said.status() == v1::PROBE_STATUS_SETUP_FAILED ||
                      said.status() == v1::PROBE_STATUS_TIMED_OUT;
  return may_be && !said.blamed_node().empty();
}

// The program or the adapter of one end failed, or the agent's report cannot be right: nothing
// about the path between the ends.
bool IsOfProgram(const v1::ProbeResult& said) {
  return said.status() == v1::PROBE_STATUS_FAILED && !said.blamed_node().empty();
}

void MarkStartOf(std::uint32_t from, std::uint32_t to, const v1::PairResult& result,
                 Baselines& baselines) {
  const v1::ProbeResult& said = result.result();
  if (OfOneEnd(said)) {
    const bool at_from = said.blamed_node() == result.from().node();
    baselines.MarkFailed(at_from ? from : to);
    // The other end was ready and waited.
    if (said.status() == v1::PROBE_STATUS_TIMED_OUT && from != to)
      baselines.MarkStarted(at_from ? to : from);
  } else if (said.status() == v1::PROBE_STATUS_OK ||
             (said.status() == v1::PROBE_STATUS_FAILED && !IsOfProgram(said))) {
    baselines.MarkStarted(from);
    baselines.MarkStarted(to);
  }
}

// Baseline of comparable figures: the upper quartile and the noise. Not the median, because one of
// two rails may be slow; the noise is computed from the better figures for the same reason.
class Equals {
 public:
  explicit Equals(bool more_is_better) : more_is_better_(more_is_better) {}

  void Add(double figure) {
    if (figure > 0) figures_.push_back(figure);
  }
  Baseline Measure();

 private:
  // The figure at this quantile; 1 is best
  double At(double component) const {
    const auto last = static_cast<double>(figures_.size() - 1);
    return figures_[static_cast<std::size_t>((more_is_better_ ? component : 1 - component) * last)];
  }
  // Log ratio of two quantiles
  double Between(double good, double better) const {
    return std::abs(std::log(At(better) / At(good)));
  }
  double Noise() const;
  double WidestGap() const;

  bool more_is_better_;
  std::vector<double> figures_;
};

constexpr double kGood = 0.75;

Baseline Equals::Measure() {
  if (figures_.empty()) return {};
  std::sort(figures_.begin(), figures_.end());
  return {.reached = At(kGood), .noise = Noise(), .count = figures_.size()};
}

double Equals::Noise() const {
  constexpr double kPoor = 0.25;
  constexpr double kMiddle = 0.5;
  constexpr double kBest = 0.95;
  // Distances of quantiles of a normal distribution, in standard deviations
  constexpr double kGoodToBest = 0.97;
  constexpr double kQuarter = 0.67;
  constexpr std::size_t kScatterMin = 16;
  if (figures_.size() < kScatterMin) return 0;
  const double best = Between(kGood, kBest) / kGoodToBest;
  // Load makes latencies vary upwards only: the best ones do not show it, the middle does.
  if (!more_is_better_) return std::max(best, Between(kMiddle, kGood) / kQuarter);
  // The median of three estimates: one of them may be distorted, by bad components or by a few
  // probes that had the machines to themselves.
  const double good = Between(kMiddle, kGood) / kQuarter;
  const double poor = Between(kPoor, kMiddle) / kQuarter;
  double noise = std::max(std::min(best, good), std::min(std::max(best, good), poor));
  // Few figures underestimate the noise. But a gap between two clusters is not noise.
  constexpr double kUnsure = 1;
  noise *= 1 + kUnsure / std::sqrt(static_cast<double>(figures_.size()));
  constexpr double kGapMin = 0.5;
  constexpr double kOfGap = 0.5;
  if (const double gap = WidestGap(); gap > kGapMin) noise = std::min(noise, kOfGap * gap);
  return noise;
}

// Largest log gap between neighboring figures, not counting the best quarter and the worst few,
// which may be chance.
double Equals::WidestGap() const {
  constexpr std::size_t kWorseMin = 4;
  const auto good = static_cast<std::size_t>(kGood * static_cast<double>(figures_.size() - 1));
  double widest = 0;
  for (std::size_t i = kWorseMin; i <= good; ++i)
    widest = std::max(widest, std::log(figures_[i] / figures_[i - 1]));
  return widest;
}

// Variation of flow latencies around the latency of their ping. Uses all pings, because some flows
// may be bad.
class FlowScatter {
 public:
  void Add(const v1::PingSummary& ping) {
    const double all = ping.network_round_trip().median_us();
    for (const v1::FlowSummary& flow : ping.flows())
      if (all > 0 && flow.median_us() > 0)
        distances_.push_back(std::abs(std::log(flow.median_us() / all)));
  }
  // Standard deviation, from the median distance; 0 for too few flows.
  Baseline Measure() {
    constexpr double kOfMedian = 1.48;
    constexpr std::size_t kScatterMin = 16;
    if (distances_.size() < kScatterMin) return {};
    const auto middle = distances_.begin() + static_cast<long>(distances_.size() / 2);
    std::nth_element(distances_.begin(), middle, distances_.end());
    return {.reached = 1, .noise = kOfMedian * *middle, .count = distances_.size()};
  }

 private:
  std::vector<double> distances_;
};

double LatencyOf(const v1::ProbeResult& result) {
  if (result.has_ping()) return result.ping().network_round_trip().median_us();
  return result.has_latency() ? result.latency().median_us() : 0;
}

// Number of results, by round
struct AllEquals {
  std::map<std::uint32_t, std::size_t> in_round;  // Results
  std::size_t many = 0;                           // Minimum size of a round that counts
  Equals speeds{true};
  Equals latencies{false};
  FlowScatter scatter;
  Baseline speed = {};
  Baseline latency = {};
  Baseline flows = {};

  // Call after all results are counted, before Add().
  void FindMany() {
    for (const auto& [round, count] : in_round) many = std::max(many, (count + 1) / 2);
  }
  void Add(std::uint32_t round, const v1::ProbeResult& result) {
    if (in_round[round] < many || result.status() != v1::PROBE_STATUS_OK) return;
    latencies.Add(LatencyOf(result));
    if (result.has_ping()) scatter.Add(result.ping());
    if (result.has_bandwidth()) speeds.Add(result.bandwidth().mean_bps());
    if (result.has_reverse_bandwidth()) speeds.Add(result.reverse_bandwidth().mean_bps());
  }
  void Measure(const std::string& spec, Baselines& baselines) {
    speed = baselines.Of("speed " + spec, speeds.Measure());
    latency = baselines.Of("latency " + spec, latencies.Measure());
    flows = baselines.Of("flows " + spec, scatter.Measure());
  }
};

struct Relative {
  float ratio = 1;
  float noise = 0;
};

// Absent with fewer than kEqualsMin figures to compare with.
std::optional<Relative> Compare(double figure, const Baseline& equals) {
  constexpr std::size_t kEqualsMin = 4;
  if (equals.count < kEqualsMin || figure <= 0) return std::nullopt;
  return Relative{static_cast<float>(figure / equals.reached), static_cast<float>(equals.noise)};
}

double SecondsOf(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + 1e-9 * time.nanos();
}

Observation Base(std::uint32_t from, std::uint32_t to, const v1::PairResult& result) {
  return {.from = from,
          .to = to,
          .round = result.round(),
          .began_s = SecondsOf(result.started_at()),
          .flow_label = result.result().used().flow_label()};
}

void SetLatency(const std::optional<Relative>& relative, Observation& seen) {
  if (!relative) return;
  seen.latency = relative->ratio;
  seen.noise = relative->noise;
}

// One observation for each direction, if the responder counted the losses by direction.
void AddLosses(const Observation& base, const v1::FlowSummary& flow,
               std::vector<Observation>& out) {
  Observation there = base;
  there.attempts = flow.sent();
  there.failures = std::min(flow.lost(), flow.sent());
  if (there.attempts == 0) return;
  const bool reported = flow.has_lost_out() && flow.has_lost_in() &&
                        std::uint64_t{flow.lost_out()} + flow.lost_in() == there.failures;
  if (!reported) {
    out.push_back(there);
    return;
  }
  there.failures = flow.lost_out();
  there.one_way = true;
  Observation back = there;
  std::swap(back.from, back.to);
  back.attempts = there.attempts - there.failures;
  back.failures = flow.lost_in();
  back.latency.reset();
  out.push_back(there);
  if (back.attempts > 0) out.push_back(back);
}

void AddPing(const Observation& base, const v1::PingSummary& ping,
             const std::optional<Relative>& latency, double flow_noise,
             std::vector<Observation>& out) {
  if (ping.flows().empty()) {
    Observation seen = base;
    seen.attempts = ping.answered() + ping.lost();
    seen.failures = ping.lost();
    SetLatency(latency, seen);
    if (seen.attempts > 0) out.push_back(seen);
    return;
  }
  const double all = ping.network_round_trip().median_us();
  for (const v1::FlowSummary& flow : ping.flows()) {
    Observation seen = base;
    seen.flow_label = flow.flow_label();
    SetLatency(latency, seen);
    seen.noise = std::hypot(seen.noise, static_cast<float>(flow_noise));
    if (seen.latency && flow.has_median_us() && all > 0)
      seen.latency = static_cast<float>(*seen.latency * flow.median_us() / all);
    else
      seen.latency.reset();
    AddLosses(seen, flow, out);
  }
}

void AddSpeeds(const Observation& base, const v1::PairResult& result, const Baseline& equals,
               std::vector<Observation>& out) {
  const auto add = [&](const v1::BandwidthSummary& summary, bool back, bool probe) {
    Observation seen = base;
    if (back) std::swap(seen.from, seen.to);
    seen.attempts = probe ? 1 : 0;
    if (const auto relative = Compare(summary.mean_bps(), equals)) {
      seen.speed = relative->ratio;
      seen.noise = relative->noise;
    }
    if (probe || seen.speed) out.push_back(seen);
  };
  const bool reads = ProbeOptionsOf(result.probe()).from_responder();
  if (result.result().has_bandwidth()) add(result.result().bandwidth(), reads, true);
  if (result.result().has_reverse_bandwidth())
    add(result.result().reverse_bandwidth(), !reads, false);
}

void AddOk(const Observation& base, const v1::PairResult& result, const AllEquals& equals,
           std::vector<Observation>& out) {
  const auto latency = Compare(LatencyOf(result.result()), equals.latency);
  if (result.result().has_ping())
    return AddPing(base, result.result().ping(), latency, equals.flows.noise, out);
  if (result.result().has_bandwidth()) return AddSpeeds(base, result, equals.speed, out);
  Observation seen = base;
  seen.attempts = 1;
  SetLatency(latency, seen);
  out.push_back(seen);
}

// Failed and timed-out probes. Nothing for probes that did not run.
void AddFailed(Observation seen, const v1::PairResult& result, bool most_fail,
               std::vector<Observation>& out) {
  const v1::ProbeResult& said = result.result();
  if (IsOfProgram(said)) return;
  const bool by_end = OfOneEnd(said);
  if (!by_end && said.status() != v1::PROBE_STATUS_TIMED_OUT &&
      said.status() != v1::PROBE_STATUS_FAILED)
    return;  // Refused or cancelled
  seen.attempts = 1;
  seen.failures = 1;
  if (by_end) {
    seen.failed_end = said.blamed_node() == result.from().node() ? End::kFrom : End::kTo;
    seen.agent_silent = said.status() == v1::PROBE_STATUS_UNREACHABLE;
    const bool either = seen.from != seen.to && result.from().node() == result.to().node();
    // A late agent is no evidence against its port.
    const bool late = said.status() == v1::PROBE_STATUS_TIMED_OUT;
    seen.late = late;
    if (either || most_fail || late) seen.attempts = seen.failures = 0;
  }
  out.push_back(seen);
}

}  // namespace

Baseline Baselines::Of(const std::string& equals, const Baseline& now) {
  Baseline& known = known_[equals];
  if (2 * now.count >= known.count) known = now;
  return known;
}

bool Baselines::MostFail() const {
  const auto never = std::count_if(failed_.begin(), failed_.end(), [&](std::uint32_t endpoint) {
    return !started_.contains(endpoint);
  });
  return static_cast<std::size_t>(never) > started_.size();
}

std::vector<Observation> ObservationsOf(const Fabric& fabric, const Results& results) {
  Baselines baselines;
  return ObservationsOf(fabric, results, baselines);
}

std::vector<Observation> ObservationsOf(const Fabric& fabric, const Results& results,
                                        Baselines& baselines) {
  std::map<std::string, AllEquals> by_spec;
  std::vector<AllEquals*> equals;  // By result
  using Ends = std::pair<std::optional<std::uint32_t>, std::optional<std::uint32_t>>;
  std::vector<Ends> ends;
  for (const v1::PairResult& result : results) {
    const auto& [from, to] =
        ends.emplace_back(Find(fabric, result.from()), Find(fabric, result.to()));
    if (from && to) MarkStartOf(*from, *to, result, baselines);
    AllEquals& all = by_spec[result.probe().SerializeAsString()];
    equals.push_back(&all);
    ++all.in_round[result.round()];
  }
  for (auto& [spec, all] : by_spec) all.FindMany();
  for (int i = 0; i < results.size(); ++i)
    equals[static_cast<std::size_t>(i)]->Add(results[i].round(), results[i].result());
  for (auto& [spec, all] : by_spec) all.Measure(spec, baselines);
  std::vector<Observation> out;
  for (int i = 0; i < results.size(); ++i) {
    const auto n = static_cast<std::size_t>(i);
    const auto& [from, to] = ends[n];
    if (!from || !to) continue;
    const Observation seen = Base(*from, *to, results[i]);
    if (results[i].result().status() == v1::PROBE_STATUS_OK)
      AddOk(seen, results[i], *equals[n], out);
    else
      AddFailed(seen, results[i], baselines.MostFail(), out);
  }
  return out;
}

}  // namespace fabric::blame
