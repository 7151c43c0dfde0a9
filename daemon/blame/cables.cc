#include "daemon/blame/cables.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr double kNamedFrom = 0.95;
constexpr std::size_t kFaultsMax = 16;
// Fraction of the bad probes at either switch of a cable that the cable must explain. With adaptive
// routing, and with a bad switch, each cable explains only its share.
constexpr double kExplains = 0.8;
// Probability that a probe of a healthy path loses a packet.
constexpr double kUsualLoss = 0.002;
constexpr double kBadShares[] = {0.999, 0.95, 0.8, 0.5, 0.25, 0.1, 0.05};

enum class Part : std::uint8_t { kDirection, kCable, kSwitch, kEndpoint };

// Logarithms of the odds before any probe.
double PriorOf(Part part) {
  switch (part) {
    case Part::kDirection: return std::log(2e-6);
    case Part::kCable: return std::log(1e-5);
    case Part::kSwitch: return std::log(1e-5);
    case Part::kEndpoint: return std::log(1e-4);
  }
  return 0;
}

using PartKey = std::uint64_t;
PartKey PartKeyOf(Part part, std::uint32_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(part)} << 32 | index;
}
Part PartOf(PartKey key) {
  return static_cast<Part>(key >> 32);
}
std::uint32_t IndexIn(PartKey key) {
  return static_cast<std::uint32_t>(key);
}

struct Tally {
  std::size_t bad = 0;
  std::size_t all = 0;
};

// Observations with their parts.
class PathTallies {
 public:
  PathTallies(const Fabric& fabric, std::span<const Observation> observations)
      : routes_(fabric.routes), observations_(observations), skipped_(observations.size()) {}

  bool IsBad(std::size_t index) const { return observations_[index].failures > 0; }
  bool Counts(std::size_t index) const {
    const Observation& seen = observations_[index];
    return !skipped_[index] && seen.attempts > 0 && !seen.failed_end;
  }
  void Skip(std::size_t index) { skipped_[index] = true; }

  // Each part once. Empty if the path is not known.
  const std::vector<PartKey>& PartsOf(std::size_t index) {
    const Observation& seen = observations_[index];
    parts_.clear();
    channels_.clear();
    if (!routes_.AddPath(seen.from, seen.to, channels_)) return parts_;
    if (!seen.one_way && !routes_.AddPath(seen.to, seen.from, channels_)) return parts_;
    for (const ChannelId channel : channels_) {
      parts_.push_back(PartKeyOf(Part::kDirection, channel));
      parts_.push_back(PartKeyOf(Part::kCable, routes_.CableOf(channel)));
      parts_.push_back(PartKeyOf(Part::kSwitch, routes_.SwitchOf(channel)));
      parts_.push_back(PartKeyOf(Part::kSwitch, routes_.SwitchOf(routes_.Reverse(channel))));
    }
    parts_.push_back(PartKeyOf(Part::kEndpoint, seen.from));
    parts_.push_back(PartKeyOf(Part::kEndpoint, seen.to));
    std::ranges::sort(parts_);
    parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
    return parts_;
  }

  // Of all parts on bad paths.
  std::unordered_map<PartKey, Tally> Count() {
    std::unordered_map<PartKey, Tally> tallies;
    for (std::size_t i = 0; i < observations_.size(); ++i)
      if (Counts(i) && IsBad(i))
        for (const PartKey key : PartsOf(i)) ++tallies[key].bad;
    for (std::size_t i = 0; i < observations_.size(); ++i)
      if (Counts(i))
        for (const PartKey key : PartsOf(i))
          if (const auto at = tallies.find(key); at != tallies.end()) ++at->second.all;
    return tallies;
  }

 private:
  const ExactRoutes& routes_;
  std::span<const Observation> observations_;
  std::vector<bool> skipped_;
  std::vector<PartKey> parts_;
  std::vector<ChannelId> channels_;
};

double AddLogs(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

// Log odds that the part is bad against chance.
double LogOddsOf(const Tally& tally) {
  const auto bad = static_cast<double>(tally.bad);
  const auto good = static_cast<double>(tally.all - tally.bad);
  double sum = -1e300;
  for (const double share : kBadShares)
    sum = AddLogs(
        sum, bad * std::log(share / kUsualLoss) + good * std::log((1 - share) / (1 - kUsualLoss)));
  return sum - std::log(static_cast<double>(std::size(kBadShares)));
}

// The cable for both of its directions.
PartKey ObjectOf(const ExactRoutes& routes, PartKey key) {
  if (PartOf(key) != Part::kDirection) return key;
  return PartKeyOf(Part::kCable, routes.CableOf(IndexIn(key)));
}

struct BestPart {
  PartKey object = 0;
  double probability = 0;
};

BestPart FindBest(const ExactRoutes& routes, const std::unordered_map<PartKey, Tally>& tallies) {
  double total = 0;  // Chance
  std::unordered_map<PartKey, double> weights;
  for (const auto& [key, tally] : tallies) {
    const double weight = PriorOf(PartOf(key)) + LogOddsOf(tally);
    total = AddLogs(total, weight);
    const auto [at, fresh] = weights.emplace(ObjectOf(routes, key), weight);
    if (!fresh) at->second = AddLogs(at->second, weight);
  }
  BestPart best;
  for (const auto& [object, weight] : weights) {
    const double probability = std::exp(weight - total);
    if (probability > best.probability || (probability == best.probability && object < best.object))
      best = {object, probability};
  }
  return best;
}

bool ExplainsEnough(const ExactRoutes& routes, PartKey object,
                    const std::unordered_map<PartKey, Tally>& tallies) {
  const Tally& tally = tallies.at(object);
  if (PartOf(object) == Part::kSwitch)
    return static_cast<double>(tally.bad) >= kExplains * static_cast<double>(tally.all);
  const ChannelId channel = IndexIn(object);
  for (const std::uint32_t index :
       {routes.SwitchOf(channel), routes.SwitchOf(routes.Reverse(channel))})
    if (const auto at = tallies.find(PartKeyOf(Part::kSwitch, index));
        at != tallies.end() &&
        static_cast<double>(tally.bad) < kExplains * static_cast<double>(at->second.bad))
      return false;
  return true;
}

CableFault CableFaultOf(PathTallies& paths, std::span<const Observation> observations,
                        const BestPart& best, std::set<std::uint32_t>& rounds) {
  CableFault fault{.whole_switch = PartOf(best.object) == Part::kSwitch,
                   .place = IndexIn(best.object),
                   .probability = best.probability};
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (!paths.Counts(i)) continue;
    const std::vector<PartKey>& parts = paths.PartsOf(i);
    if (!std::ranges::binary_search(parts, best.object)) continue;
    ++fault.all;
    fault.attempts += observations[i].attempts;
    fault.failures += observations[i].failures;
    if (!paths.IsBad(i)) continue;
    ++fault.bad;
    rounds.insert(observations[i].round);
    fault.observations.push_back(static_cast<std::uint32_t>(i));
  }
  return fault;
}

}  // namespace

std::vector<CableFault> FindCableFaults(const Fabric& fabric,
                                        std::span<const Observation> observations) {
  std::vector<CableFault> faults;
  if (fabric.routes.empty()) return faults;
  PathTallies paths(fabric, observations);
  for (std::size_t i = 0; i < kFaultsMax; ++i) {
    const auto tallies = paths.Count();
    const BestPart best = FindBest(fabric.routes, tallies);
    if (best.probability < kNamedFrom) break;
    std::set<std::uint32_t> rounds;
    CableFault fault = CableFaultOf(paths, observations, best, rounds);
    // What this part explains needs no other cause.
    for (const std::uint32_t index : fault.observations) paths.Skip(index);
    if (PartOf(best.object) == Part::kEndpoint || rounds.size() < 2 ||
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
  for (const CableFault& fault : faults)
    *report.add_suspects() = SuspectOf(fabric, observations, fault);
  report.set_state(groups.empty() ? v1::BLAME_STATE_DECIDED : v1::BLAME_STATE_UNDECIDED);
  return known;
}

namespace {

using Tallies = std::unordered_map<PartKey, Tally>;

// Whether parts that most bad probes of the endpoint pass explain them too.
bool IsDoubtful(PathTallies& paths, std::span<const Observation> observations,
                const Tallies& tallies, std::uint32_t endpoint) {
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
  PathTallies paths(fabric, observations);
  for (const std::uint32_t index : named) paths.Skip(index);
  const Tallies tallies = paths.Count();
  for (const std::uint32_t endpoint : endpoints)
    if (IsDoubtful(paths, observations, tallies, endpoint)) doubtful.insert(endpoint);
  return doubtful;
}

}  // namespace fabric::blame
