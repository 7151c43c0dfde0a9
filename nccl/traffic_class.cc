// NCCL_IB_TC: the ToS byte that puts RoCE traffic into the lossless priority.
#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "base/priority_mask.h"
#include "base/text.h"
#include "nccl/parts.h"
#include "proto/names.h"

namespace fabric::nccl {
namespace {

constexpr std::uint32_t kEct0 = 2;        // The packets may be marked by ECN.
constexpr std::uint32_t kUsualDscp = 26;  // Of RoCE, in every vendor's guide
constexpr int kDscps = 64;

// Either the DSCPs that put traffic of the port into its lossless priority, or why they are not
// known.
struct Lossless {
  std::set<std::uint32_t> dscps;
  std::uint32_t priority = 0;
  std::string missing;
};

std::optional<std::uint32_t> OverrideOf(const ChosenPort& chosen) {
  const v1::RoceDefaults& defaults = chosen.port->roce_defaults();
  if (!defaults.has_traffic_class()) return std::nullopt;
  return defaults.traffic_class();
}

// The lossless priority that is for RoCE, where more than one is lossless.
std::optional<std::uint32_t> RocePriority(const ChosenPort& chosen, PriorityMask mask) {
  if (mask.count() == 1) return mask.lowest();
  const v1::DcbConfig& dcb = chosen.netdev->dcb();
  std::optional<std::uint32_t> reported;
  if (dcb.has_roce_v2_priority()) reported = dcb.roce_v2_priority();
  if (chosen.netdev->congestion_control().has_roce_priority())
    reported = chosen.netdev->congestion_control().roce_priority();
  if (const auto override = OverrideOf(chosen); override && dcb.dscp_to_priority_size() == kDscps)
    reported = dcb.dscp_to_priority(static_cast<int>(*override >> 2) % kDscps);
  if (reported && mask.Has(*reported)) return reported;
  return std::nullopt;
}

Lossless LosslessOf(const ChosenPort& chosen) {
  Lossless found;
  if (chosen.netdev == nullptr || !chosen.netdev->has_dcb()) {
    found.missing = "no DCB settings could be read";
    return found;
  }
  const v1::DcbConfig& dcb = chosen.netdev->dcb();
  const PriorityMask mask(dcb.pfc().enabled_mask());
  if (!dcb.has_pfc()) {
    found.missing = "its PFC setting is unknown";
  } else if (mask.empty()) {
    found.missing = "PFC is on for no priority";
  } else if (!dcb.has_trust()) {
    found.missing = "its trust mode (DSCP or PCP) is unknown";
  } else if (dcb.trust() != v1::TRUST_DSCP) {
    found.missing = Format("it trusts {}, not DSCP", Name(dcb.trust()));
  } else if (dcb.dscp_to_priority_size() != kDscps) {
    found.missing = "its map from DSCP to priority is unknown";
  }
  if (!found.missing.empty()) return found;
  const auto priority = RocePriority(chosen, mask);
  if (!priority) {
    found.missing =
        Format("priorities {} are lossless; unknown which of them is for RoCE", ToText(mask));
    return found;
  }
  found.priority = *priority;
  for (int dscp = 0; dscp < kDscps; ++dscp)
    if (dcb.dscp_to_priority(dscp) == *priority) found.dscps.insert(static_cast<unsigned>(dscp));
  if (found.dscps.empty())
    found.missing = Format("no DSCP leads to its lossless priority {}", *priority);
  return found;
}

// DSCPs that the machine names itself, the best first.
std::vector<std::uint32_t> Named(const std::vector<ChosenPort>& ports) {
  std::vector<std::uint32_t> named;
  for (const ChosenPort& chosen : ports)
    if (const auto override = OverrideOf(chosen)) named.push_back(*override >> 2);
  for (const ChosenPort& chosen : ports)
    if (chosen.netdev->congestion_control().has_roce_dscp())
      named.push_back(chosen.netdev->congestion_control().roce_dscp());
  for (const ChosenPort& chosen : ports)
    for (const v1::AppEntry& entry : chosen.netdev->dcb().app())
      if (entry.selector() == v1::APP_SELECTOR_DSCP) named.push_back(entry.protocol());
  named.push_back(kUsualDscp);
  return named;
}

std::string OverrideNote(const std::vector<ChosenPort>& ports, std::uint32_t tc) {
  std::vector<std::string> same, other;
  for (const ChosenPort& chosen : ports)
    if (const auto override = OverrideOf(chosen))
      (*override == tc ? same : other).push_back(Format("{} ({})", chosen.Name(), *override));
  if (!other.empty())
    return Format("; has no effect on {}, where the driver's traffic_class overrides it",
                  Few(other));
  return same.empty() ? std::string()
                      : Format("; the driver's traffic_class is the same on {}", Few(same));
}

}  // namespace

void AdviseTrafficClass(const Facts& facts, v1::NcclAdvice& advice) {
  constexpr const char* kName = "NCCL_IB_TC";
  std::vector<ChosenPort> roce;
  std::set<std::uint32_t> dscps, priorities;
  std::vector<std::string> missing;
  for (const ChosenPort& chosen : facts.ports) {
    if (!chosen.Roce()) continue;
    const Lossless lossless = LosslessOf(chosen);
    if (!lossless.missing.empty())
      missing.push_back(Format("{}: {}", chosen.Name(), lossless.missing));
    std::set<std::uint32_t> common;
    std::set_intersection(dscps.begin(), dscps.end(), lossless.dscps.begin(), lossless.dscps.end(),
                          std::inserter(common, common.end()));
    dscps = roce.empty() ? lossless.dscps : common;
    priorities.insert(lossless.priority);
    roce.push_back(chosen);
  }
  if (roce.empty()) return;
  if (!missing.empty()) return Undecided(advice, kName, Join(missing, "; "));
  if (dscps.empty())
    return Undecided(
        advice, kName,
        "no DSCP leads to the lossless priority on all chosen ports: their maps differ");
  const std::vector<std::uint32_t> named = Named(roce);
  const auto best = std::find_if(named.begin(), named.end(),
                                 [&](std::uint32_t dscp) { return dscps.contains(dscp); });
  if (best == named.end() && dscps.size() > 1)
    return Undecided(
        advice, kName,
        Format("DSCP {} to {} lead to the lossless priority; unknown which of them the fabric "
               "uses for RoCE. The value is 4 * DSCP + 2",
               *dscps.begin(), *dscps.rbegin()));
  const std::uint32_t dscp = best == named.end() ? *dscps.begin() : *best;
  const std::uint32_t tc = dscp << 2 | kEct0;
  std::vector<std::string> words;
  for (const std::uint32_t priority : priorities) words.push_back(std::to_string(priority));
  Set(advice, kName, std::to_string(tc),
      Format("DSCP {} leads to the lossless priority {} on {}; {} = {} << 2 | ECT(0){}", dscp,
             Join(words, " or "), Names(roce), tc, dscp, OverrideNote(roce, tc)));
}

}  // namespace fabric::nccl
