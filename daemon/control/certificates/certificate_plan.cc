#include "daemon/control/certificates/certificate_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/text.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

// Duration for one pair, including setup.
constexpr Duration kQuickTakes = 30ms;
constexpr Duration kLatencyTakes = 50ms;
// Both directions at the same time: an adapter with a processor does one after the other.
constexpr Duration kBandwidthTakes = 70ms;
// Blame usually locates a fault with fewer; more only raise its confidence.
constexpr std::uint32_t kRoundsMax = 20;
// All pairs are probed if that takes at most this part of the time.
constexpr std::uint32_t kAllPairsIn = 4;
// Minimum number of partners for a verdict on a port.
constexpr std::uint32_t kRoundsMin = 4;
constexpr Duration kVerdictTakes = 1s;

constexpr std::uint32_t kLatencyIterations = 500;
constexpr std::uint32_t kBandwidthIterations = 500;
// A port that hangs must not use up the time of all others: it is left out after three partners
// with two probes each. A slow machine should finish within this time.
constexpr Duration kTimeoutMin = 5s;
constexpr Duration kTimeoutMax = 15s;
constexpr int kHangsMax = 3 * 2;

std::uint32_t RoundsIn(Duration time, Duration each) {
  return time <= Duration::zero() ? 0 : static_cast<std::uint32_t>(time / each);
}

v1::ProbeSpec Latency() {
  v1::ProbeSpec probe;
  probe.mutable_rc_write_latency()->set_iterations(kLatencyIterations);
  return probe;
}

v1::ProbeSpec Bandwidth(bool both_directions) {
  v1::ProbeSpec probe;
  probe.mutable_rc_write_bandwidth()->set_iterations(kBandwidthIterations);
  probe.mutable_rc_write_bandwidth()->set_bidirectional(both_directions);
  return probe;
}

// Part of the time that remains after `pairs` in sequence
void SetTimeouts(Duration time, std::int64_t pairs, CertificatePlan& plan) {
  Duration each = kLatencyTakes;
  if (plan.probes.size() > 1) each += kBandwidthTakes;
  const Duration timeout =
      std::clamp<Duration>((time - pairs * each) / kHangsMax, kTimeoutMin, kTimeoutMax);
  for (v1::ProbeSpec& probe : plan.probes)
    probe.set_timeout_ms(static_cast<std::uint32_t>(timeout / 1ms));
}

}  // namespace

Duration ProbingTime(Duration within) {
  return within - std::min<Duration>(kVerdictTakes, within / 10);
}

namespace {

CertificatePlan Fitting(Duration within, const CertifiedPorts& ports, std::int64_t waves) {
  CertificatePlan plan{.probes = {Latency()}};
  const Duration rounds_take = ProbingTime(within) - waves * kQuickTakes;
  // An odd number of ports needs one more round; each port is idle once.
  const auto all = static_cast<std::uint32_t>(std::max<std::size_t>(1, ports.partners_max)) + 1;
  const std::uint32_t with_both = RoundsIn(rounds_take, waves * (kLatencyTakes + kBandwidthTakes));
  if (with_both >= kAllPairsIn * all) {
    plan.probes.push_back(Bandwidth(!ports.alone));
    plan.rounds = all;
    plan.all_pairs = true;
    return plan;
  }
  const std::uint32_t wanted = std::min(kRoundsMax, all);
  const std::uint32_t with_latency = RoundsIn(rounds_take, waves * kLatencyTakes);
  if (with_both >= std::min(kRoundsMin, wanted)) {
    plan.probes.push_back(Bandwidth(!ports.alone));
    plan.rounds = std::min(wanted, with_both);
    return plan;
  }
  plan.rounds = std::clamp(with_latency, 1u, wanted);
  plan.not_covered.push_back(CoverageGapOf(
      v1::COVERAGE_GAP_REASON_TIME_LIMIT,
      Format("bandwidth: within {:.0f} s there is time for the latency of {} ports alone",
             Seconds(within).count(), ports.count)));
  return plan;
}

}  // namespace

CertificatePlan PlanWithin(Duration within, const CertifiedPorts& ports,
                           std::uint32_t pairs_at_once) {
  const auto waves = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(ports.count) / 2 / std::max(pairs_at_once, 1u)));
  CertificatePlan plan = Fitting(within, ports, waves);
  SetTimeouts(ProbingTime(within) - waves * kQuickTakes, plan.rounds * waves, plan);
  return plan;
}

}  // namespace fabric::control
