#include "daemon/blame/stalled_hosts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace fabric::blame {
namespace {

constexpr std::size_t kLateMin = 3;      // Minimum number of late probes
constexpr std::size_t kPartnersMin = 2;  // In them
constexpr double kDeviations = 4;        // Above what is usual for a host
// Maximum probability that any host of a fleet is late so often by chance.
constexpr double kChanceMax = 1e-3;

struct LateHost {
  std::vector<std::uint32_t> observations;
  std::set<std::uint32_t> rounds;
  std::set<std::uint32_t> partners;
};

// Mean number of late probes of the better half of the hosts.
double UsualOf(const std::map<std::uint32_t, LateHost>& hosts, std::size_t observed) {
  std::vector<std::size_t> counts(observed - std::min(observed, hosts.size()), 0);
  for (const auto& [node, host] : hosts) counts.push_back(host.observations.size());
  std::sort(counts.begin(), counts.end());
  counts.resize((counts.size() + 1) / 2);
  double sum = 0;
  for (const std::size_t count : counts) sum += static_cast<double>(count);
  return counts.empty() ? 0 : sum / static_cast<double>(counts.size());
}

// Probability of at least `count` late probes when `mean` are expected.
double ChanceOf(std::size_t count, double mean) {
  double term = std::exp(-mean);
  double below = 0;
  for (std::size_t n = 0; n < count; ++n) {
    below += term;
    term *= mean / static_cast<double>(n + 1);
  }
  return std::max(0.0, 1 - below);
}

// Late probes of the other hosts of a small fleet are few: their rate is known roughly only.
bool IsLateByChance(std::size_t late, std::size_t late_of_all, std::size_t hosts) {
  constexpr double kUnseen = 0.5;
  const double others = static_cast<double>(std::max<std::size_t>(2, hosts) - 1);
  const double mean = (static_cast<double>(late_of_all - late) + kUnseen) / others;
  return ChanceOf(late, mean) * static_cast<double>(hosts) > kChanceMax;
}

Fault FaultOfHost(const ObservationPaths& paths, std::uint32_t node, LateHost host) {
  Fault fault{.channel = Channel::kLoss};
  const double times = static_cast<double>(host.observations.size());
  Hypothesis hypothesis{.component = {ComponentKind::kHost, node}};
  fault.candidates.push_back({hypothesis, 1 - 0.1 / times, 1});
  fault.observations = std::move(host.observations);
  SetPeriod(paths, fault);
  fault.stalled = true;
  fault.decided = true;
  return fault;
}

}  // namespace

std::vector<Fault> StalledHosts(const ObservationPaths& paths) {
  std::map<std::uint32_t, LateHost> hosts;
  for (const std::uint32_t i : paths.Late()) {
    const Observation& seen = paths.observations()[i];
    const bool at_from = *seen.failed_end == End::kFrom;
    LateHost& host = hosts[paths.NodeOf(at_from ? seen.from : seen.to)];
    host.observations.push_back(i);
    host.rounds.insert(seen.round);
    host.partners.insert(paths.NodeOf(at_from ? seen.to : seen.from));
  }
  if (2 * hosts.size() > paths.ObservedNodes()) return {};
  const double usual = UsualOf(hosts, paths.ObservedNodes());
  std::vector<Fault> faults;
  for (auto& [node, host] : hosts) {
    const double needed = usual + kDeviations * std::sqrt(usual);
    if (host.observations.size() < kLateMin || host.rounds.size() < 2 ||
        host.partners.size() < kPartnersMin ||
        static_cast<double>(host.observations.size()) < needed ||
        IsLateByChance(host.observations.size(), paths.Late().size(), paths.ObservedNodes()))
      continue;
    faults.push_back(FaultOfHost(paths, node, std::move(host)));
  }
  return faults;
}

}  // namespace fabric::blame
