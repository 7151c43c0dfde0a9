#include "daemon/control/schedules/drift.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "proto/ports.h"

namespace fabric::control {
namespace {

constexpr std::size_t kPairsOfPortMin = 3;
constexpr int kRunsOfItsPairsMin = 3;  // Past values of a pair that confirms the drift of a port
constexpr double kNormal = 1.4826;     // Standard deviation of a normal variable / its MAD
constexpr double kDeviationsMin = 6;
constexpr double kVariationMin = 0.01;  // Relative; measurements are not more exact
constexpr double kBandwidthEffect = 0.10;
constexpr double kLatencyEffect = 0.30;
constexpr double kLatencyEffectUs = 0.5;
constexpr double kBeyondPast = 0.03;   // Minimum difference to the worst past value
constexpr std::size_t kManyParts = 3;  // A third of the ports
constexpr std::size_t kPortsOfManyMin = 3;
constexpr int kValuesShown = 8;

using Series = google::protobuf::RepeatedField<float>;

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Past {
  double median = 0;
  double variation = 0;  // Robust standard deviation / median
};

std::optional<Past> PastOf(const Series& series) {
  if (series.size() < kDriftRunsMin) return std::nullopt;
  std::vector<double> values(series.begin(), series.end());
  Past past{.median = MedianOf(values)};
  if (past.median <= 0) return std::nullopt;
  for (double& value : values) value = std::abs(value - past.median);
  past.variation = kNormal * MedianOf(std::move(values)) / past.median;
  return past;
}

using SeriesOf = const Series& (v1::FigureSeries::*)() const;

// A figure that can drift.
struct Measure {
  v1::FaultKind fault;
  std::optional<double> RunFigures::Figures::*now;
  SeriesOf past;
  bool more_is_better;
  double effect;  // Minimum, relative to the median
};
constexpr Measure kMeasures[] = {
    {v1::FAULT_KIND_LOW_BANDWIDTH, &RunFigures::Figures::bandwidth_bps,
     &v1::FigureSeries::bandwidth_bps, true, kBandwidthEffect},
    {v1::FAULT_KIND_HIGH_LATENCY, &RunFigures::Figures::latency_us, &v1::FigureSeries::latency_us,
     false, kLatencyEffect},
};

// The usual variation of all series: that of one can be small by chance.
double UsualVariation(const google::protobuf::RepeatedPtrField<v1::FigureSeries>& all,
                      const Measure& measure) {
  std::vector<double> variations;
  for (const v1::FigureSeries& series : all)
    if (const auto past = PastOf((series.*measure.past)())) variations.push_back(past->variation);
  return variations.empty() ? 0 : MedianOf(std::move(variations));
}

std::string FigureText(const Measure& measure, double value) {
  return measure.more_is_better ? Format("{:.1f} Gb/s", value / 1e9) : Format("{:.2f} us", value);
}

std::string PastText(const Measure& measure, const Series& series) {
  std::vector<std::string> values;
  for (int n = std::max(0, series.size() - kValuesShown); n < series.size(); ++n)
    values.push_back(FigureText(measure, series[n]));
  return Format("last {} of {} runs: {}", values.size(), series.size(), Join(values, ", "));
}

// Probability that chance explains so many deviations: a t distribution's tail, times the series.
double ChanceOf(double deviations, int runs, std::size_t series) {
  const double tail = std::pow(1 + deviations * deviations / runs, -runs / 2.0);
  return std::min(0.5, tail * static_cast<double>(series));
}

std::optional<v1::Suspect> DriftOf(const Measure& measure, const RunFigures::Figures& figures,
                                   const v1::FigureSeries& series, double usual,
                                   std::size_t count) {
  const std::optional<double>& now = figures.*measure.now;
  const Series& values = (series.*measure.past)();
  const auto past = PastOf(values);
  if (!now || !past) return std::nullopt;
  const double sign = measure.more_is_better ? 1 : -1;
  const double worse = sign * (past->median - *now) / past->median;
  const double variation = std::max({past->variation, usual, kVariationMin});
  const double worst = measure.more_is_better ? *std::min_element(values.begin(), values.end())
                                              : *std::max_element(values.begin(), values.end());
  const bool beyond = sign * (worst - *now) >= kBeyondPast * past->median;
  const bool large = worse >= measure.effect &&
                     (measure.more_is_better || *now - past->median >= kLatencyEffectUs);
  if (!large || !beyond || worse < kDeviationsMin * variation) return std::nullopt;
  v1::Suspect suspect;
  suspect.set_fault(measure.fault);
  suspect.set_confidence(1 - ChanceOf(worse / variation, values.size(), count));
  if (measure.more_is_better)
    suspect.set_severity(std::min(worse, 1.0));
  else
    suspect.set_latency_ratio(1 + worse);
  suspect.set_seen(FigureText(measure, *now));
  suspect.set_expected(
      Format("{} (median of {} runs)", FigureText(measure, past->median), values.size()));
  suspect.set_basis("own past runs");
  suspect.add_evidence(PastText(measure, values));
  suspect.add_evidence(Format("usual variation {:.1f} %, now {:.0f} % worse than the median",
                              100 * variation, 100 * worse));
  return suspect;
}

// A pair has one probe in a run, which a paused host makes slow. So the newest past value has to be
// worse than those before it, too.
std::optional<v1::Suspect> DriftOfPair(const Measure& measure, const RunFigures::Figures& figures,
                                       const v1::FigureSeries& series, double usual,
                                       std::size_t count) {
  v1::FigureSeries before = series;
  RunFigures::Figures newest;
  for (Series* const values : {before.mutable_bandwidth_bps(), before.mutable_latency_us()}) {
    if (values->empty()) continue;
    (values == &before.bandwidth_bps() ? newest.bandwidth_bps : newest.latency_us) =
        values->Get(values->size() - 1);
    values->RemoveLast();
  }
  if (!DriftOf(measure, newest, before, usual, count)) return std::nullopt;
  return DriftOf(measure, figures, before, usual, count);
}

using Known = std::map<std::string, const v1::FigureSeries*>;

Known ByName(const google::protobuf::RepeatedPtrField<v1::FigureSeries>& all) {
  Known known;
  for (const v1::FigureSeries& series : all) known[series.name()] = &series;
  return known;
}

// The median of the port's pairs is worse than their own past, too. Without enough known pairs
// the port is not judged, unless the record has no room for all pairs.
bool IsWorseWithItsPairs(const Measure& measure, const v1::ProbePort& port, const RunFigures& run,
                         const v1::ScheduleRecord& record, const Known& known) {
  const std::string name = PortName(port);
  std::vector<double> worse;
  for (const auto& [pair_name, pair] : run.pairs()) {
    const std::optional<double>& now = pair.figures.*measure.now;
    const auto past = known.find(pair_name);
    if (!now || past == known.end()) continue;
    if (PortName(pair.from) != name && PortName(pair.to) != name) continue;
    const Series& values = (past->second->*measure.past)();
    if (values.size() < kRunsOfItsPairsMin) continue;
    const double median = MedianOf({values.begin(), values.end()});
    if (median > 0) worse.push_back((measure.more_is_better ? 1 : -1) * (median - *now) / median);
  }
  if (worse.size() >= kPairsOfPortMin) return MedianOf(std::move(worse)) >= measure.effect;
  return static_cast<std::size_t>(record.pairs_size()) >= kDriftSeriesMax;
}

void SetPort(const std::string& name, const v1::ProbePort& port, v1::Suspect& suspect) {
  suspect.set_kind(v1::SUSPECT_KIND_PORT);
  suspect.set_name(name);
  suspect.set_node(port.node());
  suspect.set_device(port.device());
  suspect.set_port(port.port());
  suspect.set_rail(port.rail());
}

v1::Suspect WholeFabric(const v1::Suspect& worst, std::size_t drifted, std::size_t ports) {
  v1::Suspect fabric = worst;
  fabric.set_kind(v1::SUSPECT_KIND_FABRIC);
  fabric.clear_node();
  fabric.clear_device();
  fabric.clear_port();
  fabric.clear_rail();
  fabric.add_evidence(Format("{} of {} ports differ from their own past; the worst is {}", drifted,
                             ports, worst.name()));
  fabric.set_name("the fabric");
  return fabric;
}

void AddValue(const std::optional<double>& value, Series& series) {
  if (!value) return;
  if (series.size() >= kDriftRunsKept) series.erase(series.begin());
  series.Add(static_cast<float>(*value));
}

void AddFigures(const std::string& name, const RunFigures::Figures& figures,
                google::protobuf::RepeatedPtrField<v1::FigureSeries>& all,
                std::map<std::string, int>& index) {
  auto at = index.find(name);
  if (at == index.end()) {
    if (index.size() >= kDriftSeriesMax) return;
    at = index.emplace(name, all.size()).first;
    all.Add()->set_name(name);
  }
  v1::FigureSeries& series = all[at->second];
  AddValue(figures.bandwidth_bps, *series.mutable_bandwidth_bps());
  AddValue(figures.latency_us, *series.mutable_latency_us());
}

std::map<std::string, int> IndexOf(
    const google::protobuf::RepeatedPtrField<v1::FigureSeries>& all) {
  std::map<std::string, int> index;
  for (int n = 0; n < all.size(); ++n) index[all[n].name()] = n;
  return index;
}

}  // namespace

void RunFigures::Take(const v1::PairResult& result) {
  const v1::ProbeResult& seen = result.result();
  if (seen.status() != v1::PROBE_STATUS_OK || !(seen.has_bandwidth() || seen.has_latency())) return;
  const bool ordered = PortName(result.from()) < PortName(result.to());
  const v1::ProbePort& low = ordered ? result.from() : result.to();
  const v1::ProbePort& high = ordered ? result.to() : result.from();
  Pair& pair = pairs_[Format("{} and {}", PortName(low), PortName(high))];
  pair.from = low;
  pair.to = high;
  if (seen.has_bandwidth() && !pair.figures.bandwidth_bps)
    pair.figures.bandwidth_bps = seen.bandwidth().mean_bps();
  if (seen.has_latency() && !pair.figures.latency_us)
    pair.figures.latency_us = seen.latency().median_us();
}

std::map<std::string, RunFigures::Figures> RunFigures::Ports() const {
  struct Values {
    std::vector<double> bandwidth_bps;
    std::vector<double> latency_us;
  };
  std::map<std::string, Values> values;
  for (const auto& [name, pair] : pairs_)
    for (const v1::ProbePort* const port : {&pair.from, &pair.to}) {
      Values& of_port = values[PortName(*port)];
      if (const auto& bps = pair.figures.bandwidth_bps) of_port.bandwidth_bps.push_back(*bps);
      if (const auto& us = pair.figures.latency_us) of_port.latency_us.push_back(*us);
    }
  std::map<std::string, Figures> ports;
  for (auto& [name, of_port] : values) {
    Figures& figures = ports[name];
    if (of_port.bandwidth_bps.size() >= kPairsOfPortMin)
      figures.bandwidth_bps = MedianOf(std::move(of_port.bandwidth_bps));
    if (of_port.latency_us.size() >= kPairsOfPortMin)
      figures.latency_us = MedianOf(std::move(of_port.latency_us));
  }
  return ports;
}

std::vector<v1::Suspect> Drifts(const RunFigures& run, const v1::ScheduleRecord& record) {
  std::map<std::string, v1::ProbePort> ports;
  for (const auto& [name, pair] : run.pairs())
    for (const v1::ProbePort* const port : {&pair.from, &pair.to}) ports[PortName(*port)] = *port;
  const auto figures = run.Ports();
  const Known known_ports = ByName(record.ports());
  const Known known_pairs = ByName(record.pairs());
  std::vector<v1::Suspect> suspects;
  std::set<std::string> drifted;
  for (const Measure& measure : kMeasures) {
    const double usual = UsualVariation(record.ports(), measure);
    for (const auto& [name, now] : figures) {
      const auto past = known_ports.find(name);
      if (past == known_ports.end() || drifted.contains(name)) continue;
      auto suspect = DriftOf(measure, now, *past->second, usual, figures.size());
      if (!suspect || !IsWorseWithItsPairs(measure, ports.at(name), run, record, known_pairs))
        continue;
      SetPort(name, ports.at(name), *suspect);
      drifted.insert(name);
      suspects.push_back(*std::move(suspect));
    }
  }
  if (drifted.size() >= kPortsOfManyMin && kManyParts * drifted.size() >= figures.size()) {
    const auto worst = std::ranges::max_element(
        suspects, [](const auto& a, const auto& b) { return a.severity() < b.severity(); });
    return {WholeFabric(*worst, drifted.size(), figures.size())};
  }
  for (const Measure& measure : kMeasures) {
    const double usual = UsualVariation(record.pairs(), measure);
    for (const auto& [name, pair] : run.pairs()) {
      const auto past = known_pairs.find(name);
      if (past == known_pairs.end() || drifted.contains(PortName(pair.from)) ||
          drifted.contains(PortName(pair.to)) || drifted.contains(name))
        continue;
      auto suspect = DriftOfPair(measure, pair.figures, *past->second, usual, run.pairs().size());
      if (!suspect) continue;
      SetPort(name, pair.from, *suspect);
      suspect->set_kind(v1::SUSPECT_KIND_PAIR);
      suspect->set_other_node(pair.to.node());
      suspect->set_other_device(pair.to.device());
      suspect->set_other_port(pair.to.port());
      drifted.insert(name);
      suspects.push_back(*std::move(suspect));
    }
  }
  return suspects;
}

std::set<std::string> Compared(const RunFigures& run, const v1::ScheduleRecord& record) {
  const Known known_ports = ByName(record.ports());
  const Known known_pairs = ByName(record.pairs());
  std::set<std::string> names;
  for (const Measure& measure : kMeasures) {
    const auto add = [&](const std::string& name, const RunFigures::Figures& figures,
                         const Known& known) {
      const auto past = known.find(name);
      if (figures.*measure.now && past != known.end() &&
          (past->second->*measure.past)().size() >= kDriftRunsMin)
        names.insert(name);
    };
    for (const auto& [name, figures] : run.Ports()) add(name, figures, known_ports);
    for (const auto& [name, pair] : run.pairs()) add(name, pair.figures, known_pairs);
  }
  return names;
}

void AddRun(const RunFigures& run, const std::vector<v1::Suspect>& drifted,
            v1::ScheduleRecord& record) {
  std::set<std::string> left_out;
  for (const v1::Suspect& suspect : drifted) {
    if (suspect.kind() == v1::SUSPECT_KIND_FABRIC) return;
    left_out.insert(suspect.name());
  }
  auto ports = IndexOf(record.ports());
  for (const auto& [name, figures] : run.Ports())
    if (!left_out.contains(name)) AddFigures(name, figures, *record.mutable_ports(), ports);
  auto pairs = IndexOf(record.pairs());
  for (const auto& [name, pair] : run.pairs())
    if (!left_out.contains(name) && !left_out.contains(PortName(pair.from)) &&
        !left_out.contains(PortName(pair.to)))
      AddFigures(name, pair.figures, *record.mutable_pairs(), pairs);
}

}  // namespace fabric::control
