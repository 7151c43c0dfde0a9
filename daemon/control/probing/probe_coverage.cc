#include "daemon/control/probing/probe_coverage.h"

#include <algorithm>

#include "base/text.h"
#include "proto/ports.h"

namespace fabric::control {
namespace {

// Lost packets that are expected without a repair; none of them is seen by chance once in 150.
constexpr double kLossesExpected = 5;
// Packets of one RC probe, which shows a loss by its retransmissions only.
constexpr std::uint64_t kPacketsOfRc = 100;
constexpr std::uint32_t kResultsMin = 2;

}  // namespace

void ProbeCoverage::Counts::Add(const v1::ProbeResult& result) {
  ++results;
  packets += result.has_ping() ? std::uint64_t{result.ping().answered()} + result.ping().lost()
                               : kPacketsOfRc;
  if (result.has_bandwidth()) ++speeds;
  if (result.has_latency() || result.ping().has_network_round_trip()) ++latencies;
}

bool ProbeCoverage::Counts::Shows(const v1::Suspect& suspect, std::uint32_t results_min) const {
  switch (suspect.fault()) {
    case v1::FAULT_KIND_LOW_BANDWIDTH: return speeds >= results_min;
    case v1::FAULT_KIND_HIGH_LATENCY: return latencies >= results_min;
    case v1::FAULT_KIND_PACKET_LOSS: {
      const double loss = std::max(suspect.severity() * std::max(suspect.affected(), 0.01), 1e-6);
      return results >= results_min && static_cast<double>(packets) * loss >= kLossesExpected;
    }
    default: return results >= results_min;
  }
}

void ProbeCoverage::Take(const v1::PairResult& result) {
  // Probes within a node do not cross its cables.
  if (result.result().status() != v1::PROBE_STATUS_OK || result.from().node() == result.to().node())
    return;
  const std::string from = PortName(result.from());
  const std::string to = PortName(result.to());
  ports_[from].Add(result.result());
  ports_[to].Add(result.result());
  if (pairs_.empty()) return;
  if (const std::string pair = PairName(from, to); pairs_.contains(pair))
    of_pairs_[pair].Add(result.result());
}

bool ProbeCoverage::Shows(const v1::Suspect& suspect, const std::string& port) const {
  const auto at = ports_.find(port);
  return at != ports_.end() && at->second.Shows(suspect, kResultsMin);
}

bool ProbeCoverage::ShowsPair(const v1::Suspect& suspect) const {
  const auto at = of_pairs_.find(PairName(suspect));
  return at != of_pairs_.end() && at->second.Shows(suspect, 1);
}

std::string PairName(const std::string& a, const std::string& b) {
  return a < b ? Format("{} and {}", a, b) : Format("{} and {}", b, a);
}

std::string PairName(const v1::Suspect& pair) {
  return PairName(Format("{}/{}/{}", pair.node(), pair.device(), pair.port()),
                  Format("{}/{}/{}", pair.other_node(), pair.other_device(), pair.other_port()));
}

}  // namespace fabric::control
