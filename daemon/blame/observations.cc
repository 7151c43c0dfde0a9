#include <algorithm>
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

// What the better quarter of the equals reach, by the spec that they ran: not the median, because
// one of two rails may be slow.
class Equals {
 public:
  explicit Equals(double quantile) : quantile_(quantile) {}

  void Add(const std::string& spec, double figure) {
    if (figure > 0) figures_[spec].push_back(figure);
  }
  // Absent with too few equals to compare with.
  std::optional<float> Compare(const std::string& spec, double figure) {
    constexpr std::size_t kEqualsMin = 4;
    const auto at = figures_.find(spec);
    if (at == figures_.end() || at->second.size() < kEqualsMin || figure <= 0) return std::nullopt;
    const auto [known, fresh] = reached_.emplace(spec, 0);
    if (fresh) {
      const auto last = static_cast<double>(at->second.size() - 1);
      const auto place = at->second.begin() + static_cast<long>(quantile_ * last);
      std::nth_element(at->second.begin(), place, at->second.end());
      known->second = *place;
    }
    return static_cast<float>(figure / known->second);
  }

 private:
  double quantile_;
  std::map<std::string, std::vector<double>> figures_;
  std::map<std::string, double> reached_;
};

struct AllEquals {
  Equals speed{0.75};
  Equals latency{0.25};
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

void AddPing(const Observation& base, const v1::PingSummary& ping, std::optional<float> latency,
             std::vector<Observation>& out) {
  if (ping.flows().empty()) {
    Observation seen = base;
    seen.attempts = ping.answered() + ping.lost();
    seen.failures = ping.lost();
    seen.latency = latency;
    if (seen.attempts > 0) out.push_back(seen);
    return;
  }
  const double all = ping.network_round_trip().median_us();
  for (const v1::FlowSummary& flow : ping.flows()) {
    Observation seen = base;
    seen.flow_label = flow.flow_label();
    seen.attempts = flow.sent();
    seen.failures = std::min(flow.lost(), flow.sent());
    if (latency && flow.has_median_us() && all > 0)
      seen.latency = static_cast<float>(*latency * flow.median_us() / all);
    if (seen.attempts > 0) out.push_back(seen);
  }
}

void AddSpeeds(const Observation& base, const v1::PairResult& result, const std::string& spec,
               Equals& equals, std::vector<Observation>& out) {
  const auto add = [&](const v1::BandwidthSummary& summary, bool back, bool probe) {
    Observation seen = base;
    if (back) std::swap(seen.from, seen.to);
    seen.attempts = probe ? 1 : 0;
    seen.speed = equals.Compare(spec, summary.mean_bps());
    if (probe || seen.speed) out.push_back(seen);
  };
  const bool reads = ReadsFromResponder(result.probe());
  if (result.result().has_bandwidth()) add(result.result().bandwidth(), reads, true);
  if (result.result().has_reverse_bandwidth())
    add(result.result().reverse_bandwidth(), !reads, false);
}

void AddOk(const Observation& base, const v1::PairResult& result, const std::string& spec,
           AllEquals& equals, std::vector<Observation>& out) {
  const double latency_us = LatencyOf(result.result());
  if (result.result().has_ping())
    return AddPing(base, result.result().ping(), equals.latency.Compare(spec, latency_us), out);
  if (result.result().has_bandwidth()) return AddSpeeds(base, result, spec, equals.speed, out);
  Observation seen = base;
  seen.attempts = 1;
  seen.latency = equals.latency.Compare(spec, latency_us);
  out.push_back(seen);
}

}  // namespace

std::vector<Observation> ObservationsOf(const Fabric& fabric, const Results& results) {
  AllEquals equals;
  std::vector<std::string> specs;
  for (const v1::PairResult& result : results) {
    specs.push_back(result.probe().SerializeAsString());
    const v1::ProbeResult& said = result.result();
    if (said.status() != v1::PROBE_STATUS_OK) continue;
    equals.latency.Add(specs.back(), LatencyOf(said));
    if (said.has_bandwidth()) equals.speed.Add(specs.back(), said.bandwidth().mean_bps());
    if (said.has_reverse_bandwidth())
      equals.speed.Add(specs.back(), said.reverse_bandwidth().mean_bps());
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
      AddOk(seen, result, specs[static_cast<std::size_t>(i)], equals, out);
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
