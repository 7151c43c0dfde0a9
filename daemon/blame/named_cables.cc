#include "daemon/blame/named_cables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/blame/cable_pairs.h"
#include "daemon/blame/cable_questions.h"
#include "daemon/blame/cables.h"
#include "daemon/blame/report.h"
#include "proto/coverage.h"

namespace fabric::blame {
namespace {

// Of a port whose losses a cable explains too
constexpr double kDoubtedConfidence = 0.5;

const Component& LikeliestOf(const Fault& fault) {
  return fault.candidates[0].hypothesis.component;
}

// Pairs of the endpoints that are not taken, over cables that no probe has passed: the round takes
// as long without them, and the planned pairs repeat what earlier rounds of this kind have passed.
void AddCover(const ObservationPaths& paths, std::span<const std::uint32_t> usable,
              const std::set<std::uint32_t>& taken, std::vector<ProbeRequest>& pairs) {
  std::vector<std::uint32_t> idle;
  for (const std::uint32_t endpoint : usable)
    if (!taken.contains(endpoint)) idle.push_back(endpoint);
  if (idle.size() < 2) return;
  const std::vector<ProbeRequest> more =
      PairsForCables(paths.fabric(), paths.observations(), idle, paths.observations().size());
  pairs.insert(pairs.end(), more.begin(), more.end());
}

bool IsLossyPort(const Fault& fault) {
  return fault.decided && fault.channel == Channel::kLoss && !fault.stalled &&
         LikeliestOf(fault).kind == ComponentKind::kPort;
}

}  // namespace

NamedCables::NamedCables(const ObservationPaths& paths, std::span<const Fault> faults,
                         v1::BlameReport& report)
    : paths_(paths), explained_(NameCables(paths.fabric(), paths.observations(), report)) {
  std::set<std::uint32_t> ports;
  for (const Fault& fault : faults)
    if (IsLossyPort(fault)) ports.insert(LikeliestOf(fault).first);
  doubtful_ = DoubtfulOf(paths.fabric(), paths.observations(), ports, explained_);
  DoubtPorts(faults, report);
}

bool NamedCables::Explain(std::span<const std::uint32_t> observations) const {
  std::size_t bad = 0;
  std::size_t explained = 0;
  for (const std::uint32_t i : observations) {
    if (paths_.observations()[i].failures == 0) continue;
    ++bad;
    explained += explained_.contains(i) ? 1 : 0;
  }
  return bad > 0 && static_cast<double>(explained) >= kExplainedByCables * static_cast<double>(bad);
}

bool NamedCables::IsOfUnnamed(const Fault& fault) const {
  if (paths_.fabric().routes.empty() || fault.channel != Channel::kLoss || fault.stalled)
    return false;
  switch (LikeliestOf(fault).kind) {
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
    case ComponentKind::kSpine:
    case ComponentKind::kLeafPair: return true;
    default: return false;
  }
}

bool NamedCables::IsPortOrCable(const Fault& fault) const {
  return IsLossyPort(fault) && doubtful_.contains(LikeliestOf(fault).first);
}

void NamedCables::DoubtPorts(std::span<const Fault> faults, v1::BlameReport& report) const {
  for (const Fault& fault : faults) {
    if (!IsPortOrCable(fault)) continue;
    const std::string name = NameOf(paths_, LikeliestOf(fault));
    auto& suspects = *report.mutable_suspects();
    const auto at = std::ranges::find_if(suspects, [&](const v1::Suspect& suspect) {
      return suspect.kind() == v1::SUSPECT_KIND_PORT && suspect.name() == name;
    });
    if (at == suspects.end()) continue;
    v1::Suspect& doubted = *report.add_undecided()->add_suspects();
    doubted = std::move(*at);
    doubted.add_evidence("a cable between switches on its paths explains the losses too");
    doubted.set_confidence(std::min(doubted.confidence(), kDoubtedConfidence));
    suspects.erase(at);
    report.set_state(v1::BLAME_STATE_UNDECIDED);
  }
}

// Those that neither named cables nor decided faults explain, except paths that ports share. Empty
// if no packets were lost in them.
std::vector<Observation> NamedCables::UnexplainedLosses(std::span<const Fault> faults) const {
  std::set<std::uint32_t> explained = explained_;
  for (const Fault& fault : faults)
    if (fault.decided && !IsOfUnnamed(fault) && !IsPortOrCable(fault))
      explained.insert(fault.observations.begin(), fault.observations.end());
  std::vector<Observation> others;
  bool lost = false;
  for (std::uint32_t i = 0; i < paths_.observations().size(); ++i) {
    const Observation& seen = paths_.observations()[i];
    if (explained.contains(i)) continue;
    lost = lost || (seen.failures > 0 && !seen.failed_end);
    others.push_back(seen);
  }
  if (!lost) others.clear();
  return others;
}

std::string NamedCables::AddUnpassed(std::span<const std::uint32_t> usable,
                                     v1::BlameReport& report) const {
  constexpr std::size_t kNamesShown = 8;
  if (!paths_.fabric().passes_cables) return {};
  const CablesLeft left = UnpassedCables(paths_.fabric(), paths_.observations(), usable);
  if (left.names.empty()) return {};
  v1::CoverageGap gap =
      CoverageGapOf(v1::COVERAGE_GAP_REASON_PAIRS_NOT_PROBED,
                    Format("{} of {} cables between switches that routes of these ports use were "
                           "not passed: {}",
                           left.names.size(), left.used, ListSome(left.names, kNamesShown)));
  std::string text = gap.text();
  *report.add_not_covered() = std::move(gap);
  return text;
}

void NamedCables::AddPairs(std::span<const Fault> faults, std::span<const std::uint32_t> usable,
                           std::vector<ProbeRequest>& next) const {
  if (paths_.fabric().routes.empty()) return;
  const std::vector<Observation> losses = UnexplainedLosses(faults);
  const std::uint64_t seed = paths_.observations().size();
  std::vector<ProbeRequest> pairs = PairsForSuspects(paths_.fabric(), losses, usable, seed);
  std::set<std::uint32_t> taken;
  for (const ProbeRequest& pair : pairs) taken.insert({pair.from, pair.to});
  for (const ProbeRequest& pair : next) {
    if (taken.contains(pair.from) || taken.contains(pair.to)) continue;
    taken.insert({pair.from, pair.to});
    pairs.push_back(pair);
  }
  if (paths_.fabric().passes_cables) AddCover(paths_, usable, taken, pairs);
  next = std::move(pairs);
}

}  // namespace fabric::blame
