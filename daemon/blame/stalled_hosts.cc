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
        static_cast<double>(host.observations.size()) < needed)
      continue;
    faults.push_back(FaultOfHost(paths, node, std::move(host)));
  }
  return faults;
}

}  // namespace fabric::blame
