#include "daemon/blame/cables.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "daemon/blame/path_parts.h"

namespace fabric::blame {
namespace {

constexpr double kNamedFrom = 0.95;
constexpr std::size_t kFaultsMax = 16;
constexpr std::size_t kOthersMax = 3;  // Parts that are not distinguished from the likeliest
// Fraction of the bad probes at either switch of a cable that the cable must explain. With adaptive
// routing, and with a bad switch, each cable explains only its share.
constexpr double kExplains = 0.8;

bool ExplainsEnough(const ExactRoutes& routes, PartKey object, const PartTallies& tallies) {
  const PartTally& tally = tallies.at(object);
  if (PartOf(object) == Part::kSwitch)
    return static_cast<double>(tally.bad) >= kExplains * static_cast<double>(tally.all);
  const ChannelId channel = IndexIn(object);
  const auto clear = [](const PartTally& each) {
    return static_cast<double>(each.bad - each.faint);
  };
  for (const std::uint32_t index :
       {routes.SwitchOf(channel), routes.SwitchOf(routes.Reverse(channel))})
    if (const auto at = tallies.find(PartKeyOf(Part::kSwitch, index));
        at != tallies.end() &&
        (static_cast<double>(tally.bad) < kExplains * static_cast<double>(at->second.bad) &&
         clear(tally) < kExplains * clear(at->second)))
      return false;
  return true;
}

CableFault CableFaultOf(PathParts& paths, std::span<const Observation> observations, PartKey object,
                        double probability) {
  CableFault fault{.whole_switch = PartOf(object) == Part::kSwitch,
                   .place = IndexIn(object),
                   .probability = probability};
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (!paths.Counts(i)) continue;
    const std::vector<PartKey>& parts = paths.PartsOf(i);
    if (!std::ranges::binary_search(parts, object)) continue;
    ++fault.all;
    fault.attempts += observations[i].attempts;
    fault.failures += observations[i].failures;
    if (!paths.IsBad(i)) continue;
    ++fault.bad;
    fault.observations.push_back(static_cast<std::uint32_t>(i));
  }
  return fault;
}

// Except probes that lost one packet, which chance explains.
bool IsOfTheSame(const PathParts& paths, const CableFault& a, const CableFault& b) {
  const auto clear = [&](const CableFault& fault) {
    std::vector<std::uint32_t> left = fault.observations;
    std::erase_if(left, [&](std::uint32_t index) { return paths.IsFaint(index); });
    return left;
  };
  return clear(a) == clear(b);
}

// Of the likeliest part and the parts that it is not distinguished from. Probability 0: an
// endpoint, many parts or chance explain the losses too.
CableFault FaultOf(PathParts& paths, std::span<const Observation> observations,
                   const BestPart& best) {
  CableFault fault = CableFaultOf(paths, observations, best.object, best.probability);
  if (best.probability >= kNamedFrom) return fault;
  double sum = best.probability;
  const bool few = PartOf(best.object) != Part::kEndpoint && best.others.size() <= kOthersMax;
  for (const auto& [object, probability] : best.others) {
    if (!few || PartOf(object) == Part::kEndpoint) break;
    fault.others.push_back(CableFaultOf(paths, observations, object, probability));
    if (!IsOfTheSame(paths, fault, fault.others.back())) break;
    sum += probability;
  }
  if (sum < kNamedFrom) fault.probability = 0;
  return fault;
}

std::size_t RoundsOf(std::span<const Observation> observations, const CableFault& fault) {
  std::set<std::uint32_t> rounds;
  for (const std::uint32_t index : fault.observations) rounds.insert(observations[index].round);
  return rounds.size();
}

}  // namespace

std::vector<CableFault> FindCableFaults(const Fabric& fabric,
                                        std::span<const Observation> observations) {
  std::vector<CableFault> faults;
  if (fabric.routes.empty()) return faults;
  PathParts paths(fabric, observations);
  for (std::size_t i = 0; i < kFaultsMax; ++i) {
    const auto tallies = paths.Count();
    const BestPart best = FindBest(fabric.routes, tallies);
    CableFault fault = FaultOf(paths, observations, best);
    if (fault.probability == 0) break;
    // What this part explains needs no other cause.
    for (const std::uint32_t index : fault.observations) paths.Skip(index);
    if (PartOf(best.object) == Part::kEndpoint || RoundsOf(observations, fault) < 2 ||
        !ExplainsEnough(fabric.routes, best.object, tallies))
      continue;
    faults.push_back(std::move(fault));
  }
  return faults;
}

namespace {

bool IsLoss(const v1::Suspect& suspect) {
  return suspect.fault() == v1::FAULT_KIND_TOTAL_LOSS ||
         suspect.fault() == v1::FAULT_KIND_PACKET_LOSS;
}

// The suspect stands for bad probes that the faults explain.
bool IsExplained(const Fabric& fabric, const v1::Suspect& suspect,
                 std::span<const Observation> observations, const std::set<std::uint32_t>& known) {
  if (!IsLoss(suspect)) return false;
  switch (suspect.kind()) {
    case v1::SUSPECT_KIND_HOST:
    case v1::SUSPECT_KIND_RAIL:
    case v1::SUSPECT_KIND_FABRIC: return false;
    default: break;
  }
  std::size_t bad = 0;
  std::size_t explained = 0;
  for (std::uint32_t i = 0; i < observations.size(); ++i) {
    const Observation& seen = observations[i];
    if (seen.failures == 0 || seen.failed_end) continue;
    const Endpoint& from = fabric.endpoints[seen.from];
    const Endpoint& to = fabric.endpoints[seen.to];
    const auto is = [](const Endpoint& end, const std::string& node, const std::string& device) {
      return end.node == node && end.device == device;
    };
    bool about = true;  // A spine: all
    if (suspect.kind() == v1::SUSPECT_KIND_PORT || suspect.kind() == v1::SUSPECT_KIND_PAIR)
      about =
          is(from, suspect.node(), suspect.device()) || is(to, suspect.node(), suspect.device());
    else if (!suspect.leaf().empty())
      about = from.leaf == suspect.leaf() || to.leaf == suspect.leaf();
    if (!about) continue;
    ++bad;
    explained += known.contains(i) ? 1 : 0;
  }
  return bad > 0 && static_cast<double>(explained) >= kExplainedByCables * static_cast<double>(bad);
}

v1::Suspect SuspectOf(const Fabric& fabric, std::span<const Observation> observations,
                      const CableFault& fault) {
  constexpr int kPairsShown = 16;
  const ExactRoutes& routes = fabric.routes;
  v1::Suspect suspect;
  // Of a cable the end at a leaf, if one is there.
  const auto is_leaf = [&](ChannelId channel) {
    return std::ranges::any_of(fabric.endpoints, [&](const Endpoint& endpoint) {
      return endpoint.leaf == routes.NameOf(routes.SwitchOf(channel));
    });
  };
  ChannelId end = fault.place;
  if (!fault.whole_switch && !is_leaf(end) && is_leaf(routes.Reverse(end)))
    end = routes.Reverse(end);
  const std::uint32_t index = fault.whole_switch ? fault.place : routes.SwitchOf(end);
  suspect.set_kind(fault.whole_switch ? v1::SUSPECT_KIND_SWITCH : v1::SUSPECT_KIND_LINK);
  suspect.set_name(fault.whole_switch ? Format("switch {}", routes.NameOf(index))
                                      : Format("cable {}", routes.CableName(fault.place)));
  suspect.set_leaf(routes.NameOf(index));
  if (!fault.whole_switch) suspect.set_leaf_port(std::to_string(routes.PortOf(end)));
  const double lost = static_cast<double>(fault.failures) / static_cast<double>(fault.attempts);
  suspect.set_fault(lost > 0.9 ? v1::FAULT_KIND_TOTAL_LOSS : v1::FAULT_KIND_PACKET_LOSS);
  suspect.set_severity(lost);
  suspect.set_confidence(fault.probability);
  suspect.set_affected(static_cast<double>(fault.bad) / static_cast<double>(fault.all));
  suspect.add_evidence(
      Format("{} of {} probes over it lost packets, by the forwarding tables of {}", fault.bad,
             fault.all, fabric.links_known_at));
  suspect.add_evidence(Format("lost {} of {}", fault.failures, fault.attempts));
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::uint32_t i : fault.observations)
    pairs.emplace(observations[i].from, observations[i].to);
  suspect.set_affected_pairs_total(static_cast<std::uint32_t>(pairs.size()));
  for (const auto& [from, to] : pairs) {
    if (suspect.affected_pairs_size() == kPairsShown) break;
    suspect.add_affected_pairs(
        Format("{} to {}", NameOf(fabric.endpoints[from]), NameOf(fabric.endpoints[to])));
  }
  return suspect;
}

}  // namespace

std::set<std::uint32_t> NameCables(const Fabric& fabric, std::span<const Observation> observations,
                                   v1::BlameReport& report) {
  const std::vector<CableFault> faults = FindCableFaults(fabric, observations);
  std::set<std::uint32_t> known;
  if (faults.empty()) return known;
  for (const CableFault& fault : faults)
    known.insert(fault.observations.begin(), fault.observations.end());
  const auto explained = [&](const v1::Suspect& suspect) {
    return IsExplained(fabric, suspect, observations, known);
  };
  auto& suspects = *report.mutable_suspects();
  suspects.erase(std::remove_if(suspects.begin(), suspects.end(), explained), suspects.end());
  auto& groups = *report.mutable_undecided();
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [&](const v1::UndecidedGroup& group) {
                                return std::ranges::any_of(group.suspects(), explained);
                              }),
               groups.end());
  for (const CableFault& fault : faults) {
    if (fault.others.empty()) {
      *report.add_suspects() = SuspectOf(fabric, observations, fault);
      continue;
    }
    v1::UndecidedGroup& group = *report.add_undecided();
    *group.add_suspects() = SuspectOf(fabric, observations, fault);
    for (const CableFault& other : fault.others)
      *group.add_suspects() = SuspectOf(fabric, observations, other);
  }
  report.set_state(groups.empty() ? v1::BLAME_STATE_DECIDED : v1::BLAME_STATE_UNDECIDED);
  return known;
}

namespace {

// Whether parts that most bad probes of the endpoint pass explain them too.
bool IsDoubtful(PathParts& paths, std::span<const Observation> observations,
                const PartTallies& tallies, std::uint32_t endpoint) {
  constexpr double kDoubt = 0.2;
  std::unordered_map<PartKey, std::size_t> on_bad;
  std::size_t bad = 0;
  for (std::uint32_t i = 0; i < observations.size(); ++i) {
    const Observation& seen = observations[i];
    if (!paths.Counts(i) || !paths.IsBad(i) || (seen.from != endpoint && seen.to != endpoint))
      continue;
    ++bad;
    for (const PartKey key : paths.PartsOf(i)) ++on_bad[key];
  }
  const auto own = tallies.find(PartKeyOf(Part::kEndpoint, endpoint));
  if (own == tallies.end()) return false;
  double others = -1e300;
  for (const auto& [key, count] : on_bad)
    if (PartOf(key) != Part::kEndpoint &&
        static_cast<double>(count) >= kExplains * static_cast<double>(bad))
      others = AddLogs(others, PriorOf(PartOf(key)) + LogOddsOf(tallies.at(key)));
  return others > std::log(kDoubt) + PriorOf(Part::kEndpoint) + LogOddsOf(own->second);
}

}  // namespace

std::set<std::uint32_t> DoubtfulOf(const Fabric& fabric, std::span<const Observation> observations,
                                   const std::set<std::uint32_t>& endpoints,
                                   const std::set<std::uint32_t>& named) {
  std::set<std::uint32_t> doubtful;
  if (fabric.routes.empty() || endpoints.empty()) return doubtful;
  PathParts paths(fabric, observations);
  for (const std::uint32_t index : named) paths.Skip(index);
  const PartTallies tallies = paths.Count();
  for (const std::uint32_t endpoint : endpoints)
    if (IsDoubtful(paths, observations, tallies, endpoint)) doubtful.insert(endpoint);
  return doubtful;
}

}  // namespace fabric::blame
