#include "daemon/blame/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr double kWaySure = 0.9;  // From which a direction is named
// The same, of uplinks that are bad for some flows: a few of them may all go one way by chance.
constexpr double kWaySureOfSome = 0.99;
constexpr double kDeadLoss = 0.9;  // What loses more is dead.

v1::SuspectKind KindOf(PartKind kind) {
  switch (kind) {
    case PartKind::kPort: return v1::SUSPECT_KIND_PORT;
    case PartKind::kHost: return v1::SUSPECT_KIND_HOST;
    case PartKind::kLeaf: return v1::SUSPECT_KIND_LEAF;
    case PartKind::kUplink: return v1::SUSPECT_KIND_UPLINK;
    case PartKind::kSpine: return v1::SUSPECT_KIND_SPINE;
    case PartKind::kLeafPair: return v1::SUSPECT_KIND_LEAF_PAIR;
    case PartKind::kRail: return v1::SUSPECT_KIND_RAIL;
    case PartKind::kPair: return v1::SUSPECT_KIND_PAIR;
    case PartKind::kFabric: return v1::SUSPECT_KIND_FABRIC;
  }
  return v1::SUSPECT_KIND_UNSPECIFIED;
}

void SetWhere(const Passages& passages, const Part& part, v1::Suspect& suspect) {
  const std::vector<Place>& places = passages.fabric().places;
  switch (part.kind) {
    case PartKind::kPort: {
      const Place& place = places[part.first];
      suspect.set_node(place.node);
      suspect.set_device(place.device);
      suspect.set_port(place.port);
      if (place.rail) suspect.set_rail(*place.rail);
      suspect.set_leaf(place.leaf);
      suspect.set_leaf_port(place.leaf_port);
      break;
    }
    case PartKind::kHost: suspect.set_node(NameOf(passages, part)); break;
    case PartKind::kLeafPair:
      suspect.set_other_leaf(passages.LeafName(part.second));
      [[fallthrough]];
    case PartKind::kLeaf:
    case PartKind::kUplink: suspect.set_leaf(passages.LeafName(part.first)); break;
    case PartKind::kSpine:
    case PartKind::kRail:
      if (part.first != kEverywhere) suspect.set_rail(part.first);
      break;
    case PartKind::kPair:
    case PartKind::kFabric: break;
  }
}

// What the suspect's observations say, all together.
struct Sums {
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;
  std::vector<double> figures;  // Speeds or latencies
  std::set<std::uint32_t> bad_partners;
  std::set<std::uint32_t> partners;
  std::set<std::uint32_t> bad_inside;
  std::set<std::uint32_t> inside;
  std::set<std::uint32_t> labels;
  std::size_t flows = 0;
  std::size_t bad_flows = 0;
};

void AddEnds(const Passages& passages, const Part& part, const Observation& seen, bool bad,
             Sums& sums) {
  for (const std::uint32_t place : {seen.from, seen.to}) {
    const bool inside = passages.Holds(part, place);
    (inside ? sums.inside : sums.partners).insert(place);
    if (bad) (inside ? sums.bad_inside : sums.bad_partners).insert(place);
  }
}

Sums SumsOf(const Passages& passages, const Trouble& trouble, const Part& part) {
  Sums sums;
  for (const std::uint32_t i : passages.Through(part)) {
    const Observation& seen = passages.observations()[i];
    const bool bad =
        std::binary_search(trouble.observations.begin(), trouble.observations.end(), i);
    const bool known = trouble.channel == Channel::kLoss    ? seen.attempts > 0
                       : trouble.channel == Channel::kSpeed ? seen.speed.has_value()
                                                            : seen.latency.has_value();
    if (!known) continue;
    ++sums.flows;
    AddEnds(passages, part, seen, bad, sums);
    if (!bad) continue;
    ++sums.bad_flows;
    sums.attempts += seen.attempts;
    sums.failures += seen.failures;
    if (seen.flow_label != 0) sums.labels.insert(seen.flow_label);
    if (trouble.channel == Channel::kSpeed) sums.figures.push_back(*seen.speed);
    if (trouble.channel == Channel::kLatency) sums.figures.push_back(*seen.latency);
  }
  return sums;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void SetTrouble(const Passages& passages, const Trouble& trouble, const Hypothesis& hypothesis,
                const Sums& sums, v1::Suspect& suspect) {
  // A port that loses one in a thousand also has probes that saw no loss: they count.
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;
  const bool all = hypothesis.fit.share == 0;
  switch (trouble.channel) {
    case Channel::kLoss: {
      if (all) {
        for (const std::uint32_t i : passages.Through(hypothesis.part)) {
          attempts += passages.observations()[i].attempts;
          failures += passages.observations()[i].failures;
        }
      } else {
        attempts = sums.attempts;
        failures = sums.failures;
      }
      const double lost =
          attempts == 0 ? 0 : static_cast<double>(failures) / static_cast<double>(attempts);
      suspect.set_severity(lost);
      suspect.set_trouble(lost > kDeadLoss ? v1::TROUBLE_KIND_DEAD : v1::TROUBLE_KIND_LOSSY);
      suspect.add_evidence(Format("lost {} of {}", failures, attempts));
      break;
    }
    case Channel::kSpeed: {
      const double speed = Median(sums.figures);
      suspect.set_severity(1 - speed);
      suspect.set_trouble(v1::TROUBLE_KIND_SLOW);
      suspect.add_evidence(Format("{:.0f} % of the bandwidth of its equals", speed * 100));
      break;
    }
    case Channel::kLatency: {
      const double ratio = Median(sums.figures);
      suspect.set_latency_ratio(ratio);
      suspect.set_trouble(v1::TROUBLE_KIND_LATE);
      suspect.add_evidence(Format("{:.1f} times the latency of its equals", ratio));
      break;
    }
  }
}

// Of the partners, those that are good with somebody else.
std::size_t GoodElsewhere(const Passages& passages, const Trouble& trouble, const Part& part,
                          const std::set<std::uint32_t>& partners) {
  std::size_t good = 0;
  for (const std::uint32_t partner : partners) {
    for (const std::uint32_t i : passages.ObservationsOf(partner)) {
      if (passages.Passes(part, i) || passages.observations()[i].failed_end) continue;
      if (std::binary_search(trouble.observations.begin(), trouble.observations.end(), i)) continue;
      const Observation& seen = passages.observations()[i];
      if (seen.failures > 0) continue;
      ++good;
      break;
    }
  }
  return good;
}

void AddWho(const Passages& passages, const Trouble& trouble, const Part& part, const Sums& sums,
            v1::Suspect& suspect) {
  switch (part.kind) {
    case PartKind::kPort:
    case PartKind::kHost:
      suspect.add_evidence(Format("bad with {} of {} partners, of which {} are good with others",
                                  sums.bad_partners.size(), sums.partners.size(),
                                  GoodElsewhere(passages, trouble, part, sums.bad_partners)));
      break;
    case PartKind::kLeaf:
    case PartKind::kUplink:
    case PartKind::kRail:
      suspect.add_evidence(Format("{} of its {} ports that were probed are affected",
                                  sums.bad_inside.size(), sums.inside.size()));
      break;
    case PartKind::kPair: suspect.add_evidence("both are good with others"); break;
    default:
      suspect.add_evidence(Format("{} of {} ports that use it are affected",
                                  sums.bad_partners.size(), sums.partners.size()));
  }
  if (sums.flows == 0) return;
  suspect.set_affected(static_cast<double>(sums.bad_flows) / static_cast<double>(sums.flows));
  std::string flows = Format("{} of {} flows", sums.bad_flows, sums.flows);
  constexpr std::size_t kLabelsMax = 8;
  if (!sums.labels.empty() && sums.labels.size() <= kLabelsMax) {
    std::vector<std::string> labels;
    for (const std::uint32_t label : sums.labels) labels.push_back(Format("{}", label));
    flows += Format(", flow label{} {}", labels.size() == 1 ? "" : "s", Join(labels, ", "));
  }
  suspect.add_evidence(flows);
}

// What the file with the topology says of the suspect's leaf, and how old that is.
void AddTopology(const Fabric& fabric, v1::Suspect& suspect) {
  const auto known = fabric.links_up.find(suspect.leaf());
  if (suspect.leaf().empty() || known == fabric.links_up.end()) return;
  suspect.add_evidence(
      Format("its leaf is known by the InfiniBand topology made at {}", fabric.links_known_at));
  constexpr std::size_t kLinksMax = 8;
  const std::vector<std::string>& all = known->second;
  if (suspect.kind() != v1::SUSPECT_KIND_UPLINK || all.empty()) return;
  suspect.add_evidence(Format("its links to other switches: {}", ListSome(all, kLinksMax)));
}

bool IsAbout(const Passages& passages, const Part& part, const v1::Subject& subject) {
  const std::vector<Place>& places = passages.fabric().places;
  switch (part.kind) {
    case PartKind::kPort: {
      const Place& place = places[part.first];
      if (subject.node() != place.node) return false;
      if (subject.scope() == v1::SCOPE_DEVICE) return subject.device() == place.device;
      const bool of_port = subject.scope() == v1::SCOPE_PORT || subject.scope() == v1::SCOPE_LINK;
      return of_port && subject.device() == place.device && subject.port() == place.port;
    }
    case PartKind::kHost:
      return !subject.node().empty() && subject.node() == NameOf(passages, part);
    case PartKind::kLeaf:
    case PartKind::kUplink:
      return subject.scope() == v1::SCOPE_SWITCH &&
             subject.switch_name() == passages.LeafName(part.first);
    case PartKind::kRail:
      return subject.scope() == v1::SCOPE_RAIL && subject.has_rail() &&
             subject.rail() == part.first;
    default: return false;
  }
}

}  // namespace

std::string NameOf(const Passages& passages, const Part& part) {
  const std::vector<Place>& places = passages.fabric().places;
  switch (part.kind) {
    case PartKind::kPort: return NameOf(places[part.first]);
    case PartKind::kHost: {
      for (std::uint32_t i = 0; i < places.size(); ++i)
        if (passages.NodeOf(i) == part.first) return places[i].node;
      return {};
    }
    case PartKind::kLeaf: return passages.LeafName(part.first);
    case PartKind::kUplink: return Format("{} uplinks", passages.LeafName(part.first));
    case PartKind::kSpine:
      return part.first == kEverywhere ? std::string("a spine")
                                       : Format("a spine of rail {}", part.first);
    case PartKind::kLeafPair:
      return Format("{} and {}", passages.LeafName(part.first), passages.LeafName(part.second));
    case PartKind::kRail: return Format("rail {}", part.first);
    case PartKind::kPair:
      return Format("{} and {}", NameOf(places[part.first]), NameOf(places[part.second]));
    case PartKind::kFabric: return "the fabric";
  }
  return {};
}

v1::Suspect SuspectOf(const Passages& passages, const Trouble& trouble, const Candidate& candidate,
                      std::span<const v1::Finding> findings, const CounterEvidence& counters) {
  const Hypothesis& hypothesis = candidate.hypothesis;
  const Part& part = hypothesis.part;
  v1::Suspect suspect;
  suspect.set_kind(KindOf(part.kind));
  suspect.set_name(NameOf(passages, part));
  SetWhere(passages, part, suspect);
  // Both ways is also what is said when it is not known which.
  const bool some = part.kind == PartKind::kUplink && hypothesis.fit.share > 0;
  const double sure = some ? kWaySureOfSome : kWaySure;
  if (candidate.way_is >= sure && hypothesis.way != Way::kBoth)
    suspect.set_direction(hypothesis.way == Way::kOut ? v1::DIRECTION_OUT : v1::DIRECTION_IN);
  suspect.set_confidence(candidate.probability);
  const Sums sums = SumsOf(passages, trouble, part);
  AddWho(passages, trouble, part, sums, suspect);
  SetTrouble(passages, trouble, hypothesis, sums, suspect);
  if (hypothesis.fit.share > 0 && part.kind == PartKind::kUplink)
    suspect.set_name(Format("{}, one path of about {:.0f}", suspect.name(),
                            1 / std::max(suspect.affected(), 1e-3)));
  AddTopology(passages.fabric(), suspect);
  for (std::string& moved : counters.Text(part)) suspect.add_evidence(std::move(moved));
  for (const v1::Finding& finding : findings)
    if (IsAbout(passages, part, finding.subject())) suspect.add_findings(finding.id());
  return suspect;
}

}  // namespace fabric::blame
