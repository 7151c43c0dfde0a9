#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "daemon/blame/blame.h"

namespace fabric::blame {
namespace {

using Results = google::protobuf::RepeatedPtrField<v1::PairResult>;

// Whether the end failed by itself, before the way between the ends had a part in it.
bool OfOneEnd(v1::ProbeStatus status) {
  return status == v1::PROBE_STATUS_UNREACHABLE || status == v1::PROBE_STATUS_SETUP_FAILED ||
         status == v1::PROBE_STATUS_TIMED_OUT;
}

struct Compared {
  float ratio = 1;
  float noise = 0;
};

// What the better quarter of the equals reach, not the median, because one of two rails may be
// slow; and how much the best of them scatter, for the same reason.
class Equals {
 public:
  explicit Equals(bool more_is_better) : more_is_better_(more_is_better) {}

  void Add(double figure) {
    if (figure > 0) figures_.push_back(figure);
  }
  // Absent with too few equals to compare with.
  std::optional<Compared> Compare(double figure) {
    constexpr std::size_t kEqualsMin = 4;
    if (figures_.size() < kEqualsMin || figure <= 0) return std::nullopt;
    if (reached_ == 0) Measure();
    return Compared{static_cast<float>(figure / reached_), static_cast<float>(noise_)};
  }

 private:
  void Measure() {
    constexpr double kGood = 0.75;
    constexpr double kBest = 0.95;
    constexpr double kBetween = 0.97;  // Standard deviations of a normal distribution
    constexpr std::size_t kScatterMin = 16;
    std::sort(figures_.begin(), figures_.end());
    const auto last = static_cast<double>(figures_.size() - 1);
    const auto at = [&](double part) {
      return figures_[static_cast<std::size_t>((more_is_better_ ? part : 1 - part) * last)];
    };
    reached_ = at(kGood);
    if (figures_.size() < kScatterMin) return;
    noise_ =
        (more_is_better_ ? at(kBest) / reached_ - 1 : std::log(reached_ / at(kBest))) / kBetween;
  }

  bool more_is_better_;
  std::vector<double> figures_;
  double reached_ = 0;
  double noise_ = 0;
};

// How much the flows of a ping scatter about it: of all pings, because some flows may be bad.
class FlowScatter {
 public:
  void Add(const v1::PingSummary& ping) {
    const double all = ping.network_round_trip().median_us();
    for (const v1::FlowSummary& flow : ping.flows())
      if (all > 0 && flow.median_us() > 0)
        distances_.push_back(std::abs(std::log(flow.median_us() / all)));
  }
  // A standard deviation, by the median of the distances; 0 of too few.
  double Measure() {
    constexpr double kOfMedian = 1.48;
    constexpr std::size_t kScatterMin = 16;
    if (distances_.size() < kScatterMin) return 0;
    if (!measured_) {
      const auto middle = distances_.begin() + static_cast<long>(distances_.size() / 2);
      std::nth_element(distances_.begin(), middle, distances_.end());
      measured_ = kOfMedian * *middle;
    }
    return *measured_;
  }

 private:
  std::vector<double> distances_;
  std::optional<double> measured_;
};

// Of the results of one spec
struct AllEquals {
  Equals speed{true};
  Equals latency{false};
  FlowScatter flows;
};

double LatencyOf(const v1::ProbeResult& result) {
  if (result.has_ping()) return result.ping().network_round_trip().median_us();
  return result.has_latency() ? result.latency().median_us() : 0;
}

bool ReadsFromResponder(const v1::ProbeSpec& spec) {
  return spec.kind_case() == v1::ProbeSpec::kRcReadBandwidth;
}

Observation Base(std::uint32_t from, std::uint32_t to, const v1::PairResult& result) {
  return {.from = from,
          .to = to,
          .round = result.round(),
          .flow_label = result.result().used().flow_label()};
}

void SetLatency(const std::optional<Compared>& compared, Observation& seen) {
  if (!compared) return;
  seen.latency = compared->ratio;
  seen.noise = compared->noise;
}

// Each way by itself where the responder's count tells which way the lost ones went.
void AddLosses(const Observation& base, const v1::FlowSummary& flow,
               std::vector<Observation>& out) {
  Observation there = base;
  there.attempts = flow.sent();
  there.failures = std::min(flow.lost(), flow.sent());
  if (there.attempts == 0) return;
  const bool told = flow.has_lost_out() && flow.has_lost_in() &&
                    std::uint64_t{flow.lost_out()} + flow.lost_in() == there.failures;
  if (!told) {
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
             const std::optional<Compared>& latency, double flow_noise,
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

void AddSpeeds(const Observation& base, const v1::PairResult& result, Equals& equals,
               std::vector<Observation>& out) {
  const auto add = [&](const v1::BandwidthSummary& summary, bool back, bool probe) {
    Observation seen = base;
    if (back) std::swap(seen.from, seen.to);
    seen.attempts = probe ? 1 : 0;
    if (const auto compared = equals.Compare(summary.mean_bps())) {
      seen.speed = compared->ratio;
      seen.noise = compared->noise;
    }
    if (probe || seen.speed) out.push_back(seen);
  };
  const bool reads = ReadsFromResponder(result.probe());
  if (result.result().has_bandwidth()) add(result.result().bandwidth(), reads, true);
  if (result.result().has_reverse_bandwidth())
    add(result.result().reverse_bandwidth(), !reads, false);
}

void AddOk(const Observation& base, const v1::PairResult& result, AllEquals& equals,
           std::vector<Observation>& out) {
  const double latency_us = LatencyOf(result.result());
  if (result.result().has_ping())
    return AddPing(base, result.result().ping(), equals.latency.Compare(latency_us),
                   equals.flows.Measure(), out);
  if (result.result().has_bandwidth()) return AddSpeeds(base, result, equals.speed, out);
  Observation seen = base;
  seen.attempts = 1;
  SetLatency(equals.latency.Compare(latency_us), seen);
  out.push_back(seen);
}

}  // namespace

std::vector<Observation> ObservationsOf(const Fabric& fabric, const Results& results) {
  std::map<std::string, AllEquals> by_spec;
  std::vector<AllEquals*> equals;  // By result
  for (const v1::PairResult& result : results) {
    AllEquals& all = by_spec[result.probe().SerializeAsString()];
    equals.push_back(&all);
    const v1::ProbeResult& said = result.result();
    if (said.status() != v1::PROBE_STATUS_OK) continue;
    all.latency.Add(LatencyOf(said));
    if (said.has_ping()) all.flows.Add(said.ping());
    if (said.has_bandwidth()) all.speed.Add(said.bandwidth().mean_bps());
    if (said.has_reverse_bandwidth()) all.speed.Add(said.reverse_bandwidth().mean_bps());
  }
  std::vector<Observation> out;
  for (int i = 0; i < results.size(); ++i) {
    const v1::PairResult& result = results[i];
    const auto from = Find(fabric, result.from());
    const auto to = Find(fabric, result.to());
    if (!from || !to) continue;
    Observation seen = Base(*from, *to, result);
    const v1::ProbeResult& said = result.result();
    if (said.status() == v1::PROBE_STATUS_OK) {
      AddOk(seen, result, *equals[static_cast<std::size_t>(i)], out);
      continue;
    }
    const bool by_end = OfOneEnd(said.status()) && !said.blamed_node().empty();
    if (!by_end && said.status() != v1::PROBE_STATUS_TIMED_OUT &&
        said.status() != v1::PROBE_STATUS_FAILED)
      continue;  // Refused or cancelled: nothing was tried.
    seen.attempts = 1;
    seen.failures = 1;
    if (by_end && result.from().node() != result.to().node())
      seen.failed_end = said.blamed_node() == result.from().node() ? End::kFrom : End::kTo;
    out.push_back(seen);
  }
  return out;
}

}  // namespace fabric::blame
