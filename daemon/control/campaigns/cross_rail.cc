#include "daemon/control/campaigns/cross_rail.h"

#include <algorithm>

#include "base/text.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

constexpr std::size_t kKeptMax = 10'000;

// The path was used, or could not be set up.
bool IsOfPath(const v1::ProbeResult& result) {
  return result.status() == v1::PROBE_STATUS_FAILED ||
         result.status() == v1::PROBE_STATUS_TIMED_OUT ||
         result.status() == v1::PROBE_STATUS_SETUP_FAILED;
}

}  // namespace

bool CrossRailResults::Take(const v1::PairResult& result, const Expectations& expectations) {
  if (result.from().rail() == result.to().rail()) return false;
  const std::string from = expectations.SubnetOf(result.from());
  const std::string to = expectations.SubnetOf(result.to());
  if (from.empty() || to.empty() || from == to) return false;
  Rails& rails = rails_[std::minmax(result.from().rail(), result.to().rail())];
  if (result.result().status() == v1::PROBE_STATUS_OK) {
    ++rails.passed;
    return false;
  }
  if (!IsOfPath(result.result())) return false;
  ++rails.failed;
  rails.subnets = Format("{} and {}", std::min(from, to), std::max(from, to));
  if (rails.kept.size() < kKeptMax) rails.kept.push_back(result);
  return true;
}

std::vector<v1::CoverageGap> CrossRailResults::Finish(ResultAnalyzer& analyzer) {
  std::vector<v1::CoverageGap> gaps;
  for (auto& [pair, rails] : rails_) {
    if (rails.failed == 0) continue;
    if (rails.passed > 0) {
      for (v1::PairResult& result : rails.kept) analyzer.Add(std::move(result));
      continue;
    }
    gaps.push_back(CoverageGapOf(
        v1::COVERAGE_GAP_REASON_NO_ROUTE,
        Format("rails {} and {} are not connected: all {} probes between {} failed; without a "
               "route this is expected",
               pair.first, pair.second, rails.failed, rails.subnets)));
  }
  rails_.clear();
  return gaps;
}

}  // namespace fabric::control
