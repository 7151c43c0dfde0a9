#include "daemon/control/probing/expectation_tally.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "proto/names.h"
#include "proto/ports.h"

namespace fabric::control {
namespace {

constexpr double kMost = 0.75;
constexpr std::size_t kPortsMin = 3;
constexpr int kPairsShown = 16;
// One figure can be an outlier, so that few of them are weaker evidence.
constexpr double kOutlier = 0.05;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Show(bool speed, double value) {
  return speed ? BitRate(value) : Format("{:.2f} µs", value);
}

bool IsPort(const v1::ProbePort& port, const std::string& node, const std::string& device,
            std::uint32_t number) {
  return port.node() == node && port.device() == device && port.port() == number;
}

}  // namespace

bool Holds(const v1::Suspect& suspect, const v1::ProbePort& port, const std::string& leaf) {
  switch (suspect.kind()) {
    case v1::SUSPECT_KIND_PAIR:
      if (IsPort(port, suspect.other_node(), suspect.other_device(), suspect.other_port()))
        return true;
      [[fallthrough]];
    case v1::SUSPECT_KIND_PORT:
      return IsPort(port, suspect.node(), suspect.device(), suspect.port());
    case v1::SUSPECT_KIND_HOST: return port.node() == suspect.node();
    default: break;
  }
  if (suspect.has_rail() && suspect.rail() != port.rail()) return false;
  if (suspect.leaf().empty()) return true;
  return leaf == suspect.leaf() || (!suspect.other_leaf().empty() && leaf == suspect.other_leaf());
}

v1::Suspect WithMembers(v1::Suspect suspect, const std::set<std::string>& leaves) {
  const bool of_switch =
      suspect.kind() == v1::SUSPECT_KIND_SPINE || suspect.kind() == v1::SUSPECT_KIND_UPLINK ||
      suspect.kind() == v1::SUSPECT_KIND_LINK || suspect.kind() == v1::SUSPECT_KIND_SWITCH;
  if (of_switch && suspect.other_leaf().empty() && !leaves.contains(suspect.leaf()))
    suspect.clear_leaf();
  return suspect;
}

void ExpectationTally::Add(const v1::PairResult& result, const Expectations& expectations) {
  const v1::ProbeExpectation& expectation = result.expectation();
  const bool speed = expectation.has_bandwidth_min_bps();
  if (!speed && !expectation.has_latency_max_us()) {
    if (!expectation.basis().empty()) ++not_judged_[expectation.basis()];
    return;
  }
  figures_.push_back(
      {.from = result.from(),
       .to = result.to(),
       .from_leaf = expectations.LeafOf(result.from()),
       .to_leaf = expectations.LeafOf(result.to()),
       .speed = speed,
       .missed = expectation.missed(),
       .limit = speed ? expectation.bandwidth_min_bps() : expectation.latency_max_us(),
       .seen = (speed ? SlowerBps(result.result()) : HalfTripUs(result)).value_or(0),
       .basis = expectation.basis()});
}

bool ExpectationTally::MostMiss(const Figures& figures) {
  const auto missed = std::count_if(figures.begin(), figures.end(),
                                    [](const Figure* figure) { return figure->missed; });
  return missed > 0 && static_cast<double>(missed) >= kMost * static_cast<double>(figures.size());
}

void ExpectationTally::AddSuspect(const Figures& figures, v1::Suspect suspect,
                                  v1::BlameReport& report) {
  std::vector<double> seen, limits;
  std::set<std::string> ports, pairs;
  for (const Figure* const figure : figures) {
    if (!figure->missed) continue;
    seen.push_back(figure->seen);
    limits.push_back(figure->limit);
    ports.insert({PortName(figure->from), PortName(figure->to)});
    pairs.insert(Format("{} to {}", PortName(figure->from), PortName(figure->to)));
    suspect.set_basis(figure->basis);
  }
  const bool speed = figures.front()->speed;
  const double median = Median(seen);
  const double limit = Median(limits);
  suspect.set_fault(speed ? v1::FAULT_KIND_LOW_BANDWIDTH : v1::FAULT_KIND_HIGH_LATENCY);
  suspect.set_expected(Format("at {} {}", speed ? "least" : "most", Show(speed, limit)));
  suspect.set_seen(Show(speed, median));
  const auto share = static_cast<double>(seen.size()) / static_cast<double>(figures.size());
  suspect.set_affected(share);
  if (speed)
    suspect.set_severity(1 - median / limit);
  else
    suspect.set_latency_ratio(median / limit);
  suspect.set_affected_pairs_total(static_cast<std::uint32_t>(pairs.size()));
  for (const std::string& pair : pairs)
    if (suspect.affected_pairs_size() < kPairsShown) suspect.add_affected_pairs(pair);
  suspect.add_evidence(Format("{} of {} probes: median {}, expected {}: {}", seen.size(),
                              figures.size(), suspect.seen(), suspect.expected(), suspect.basis()));
  if (ports.size() >= kPortsMin) {
    suspect.set_confidence(1 - kOutlier / static_cast<double>(ports.size()));
    *report.add_suspects() = std::move(suspect);
    if (report.state() != v1::BLAME_STATE_UNDECIDED) report.set_state(v1::BLAME_STATE_DECIDED);
    return;
  }
  const Figure& first = *figures.front();
  suspect.set_kind(v1::SUSPECT_KIND_PAIR);
  suspect.set_name(Format("{} and {}", PortName(first.from), PortName(first.to)));
  suspect.clear_rail();
  suspect.set_node(first.from.node());
  suspect.set_device(first.from.device());
  suspect.set_port(first.from.port());
  suspect.set_other_node(first.to.node());
  suspect.set_other_device(first.to.device());
  suspect.set_other_port(first.to.port());
  suspect.set_confidence(1 - kOutlier);
  *report.add_undecided()->add_suspects() = std::move(suspect);
  report.set_state(v1::BLAME_STATE_UNDECIDED);
}

void ExpectationTally::AddSlow(bool speed, v1::BlameReport& report) const {
  const auto explained = [&](const Figure& figure) {
    return std::ranges::any_of(report.suspects(), [&](const v1::Suspect& suspect) {
      return Holds(suspect, figure.from, figure.from_leaf) ||
             Holds(suspect, figure.to, figure.to_leaf);
    });
  };
  Figures all;
  std::map<std::uint32_t, Figures> rails;
  for (const Figure& figure : figures_) {
    if (figure.speed != speed || explained(figure)) continue;
    all.push_back(&figure);
    rails[figure.from.rail()].push_back(&figure);
  }
  v1::Suspect suspect;
  if (MostMiss(all)) {
    suspect.set_kind(v1::SUSPECT_KIND_FABRIC);
    suspect.set_name("the fabric");
    return AddSuspect(all, std::move(suspect), report);
  }
  for (const auto& [rail, figures] : rails) {
    if (!MostMiss(figures)) continue;
    suspect.set_kind(v1::SUSPECT_KIND_RAIL);
    suspect.set_name(Format("rail {}", rail));
    suspect.set_rail(rail);
    AddSuspect(figures, suspect, report);
  }
}

void ExpectationTally::AddTo(v1::BlameReport& report) const {
  AddSlow(true, report);
  AddSlow(false, report);
}

}  // namespace fabric::control
