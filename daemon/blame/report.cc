#include "daemon/blame/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr double kDirectionSure = 0.9;  // Minimum probability to name a direction
// The same for uplinks that are bad for some flows: a few flows can have one direction by chance.
constexpr double kDirectionSureOfSome = 0.99;
constexpr double kDeadLoss = 0.9;  // Minimum loss of a dead component

v1::SuspectKind KindOf(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::kPort: return v1::SUSPECT_KIND_PORT;
    case ComponentKind::kHost: return v1::SUSPECT_KIND_HOST;
    case ComponentKind::kLeaf: return v1::SUSPECT_KIND_LEAF;
    case ComponentKind::kUplink: return v1::SUSPECT_KIND_UPLINK;
    case ComponentKind::kSpine: return v1::SUSPECT_KIND_SPINE;
    case ComponentKind::kLeafPair: return v1::SUSPECT_KIND_LEAF_PAIR;
    case ComponentKind::kRail: return v1::SUSPECT_KIND_RAIL;
    case ComponentKind::kPair: return v1::SUSPECT_KIND_PAIR;
    case ComponentKind::kFabric: return v1::SUSPECT_KIND_FABRIC;
  }
  return v1::SUSPECT_KIND_UNSPECIFIED;
}

void SetPort(const Endpoint& endpoint, v1::Suspect& suspect) {
  suspect.set_node(endpoint.node);
  suspect.set_device(endpoint.device);
  suspect.set_port(endpoint.port);
}

void SetLocation(const ObservationPaths& paths, const Component& component, v1::Suspect& suspect) {
  const std::vector<Endpoint>& endpoints = paths.fabric().endpoints;
  switch (component.kind) {
    case ComponentKind::kPort: {
      const Endpoint& endpoint = endpoints[component.first];
      SetPort(endpoint, suspect);
      if (endpoint.rail) suspect.set_rail(*endpoint.rail);
      suspect.set_leaf(endpoint.leaf);
      suspect.set_leaf_port(endpoint.leaf_port);
      break;
    }
    case ComponentKind::kHost: suspect.set_node(NameOf(paths, component)); break;
    case ComponentKind::kLeafPair:
      suspect.set_other_leaf(paths.LeafName(component.second));
      [[fallthrough]];
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink: suspect.set_leaf(paths.LeafName(component.first)); break;
    case ComponentKind::kSpine:
    case ComponentKind::kRail:
      if (component.first != kEverywhere) suspect.set_rail(component.first);
      break;
    case ComponentKind::kPair: {
      SetPort(endpoints[component.first], suspect);
      const Endpoint& other = endpoints[component.second];
      suspect.set_other_node(other.node);
      suspect.set_other_device(other.device);
      suspect.set_other_port(other.port);
      break;
    }
    case ComponentKind::kFabric: break;
  }
}

// Totals of a suspect's observations.
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

void AddEnds(const ObservationPaths& paths, const Component& component, const Observation& seen,
             bool bad, Sums& sums) {
  for (const std::uint32_t endpoint : {seen.from, seen.to}) {
    const bool inside = paths.Holds(component, endpoint);
    (inside ? sums.inside : sums.partners).insert(endpoint);
    if (bad) (inside ? sums.bad_inside : sums.bad_partners).insert(endpoint);
  }
}

Sums SumsOf(const ObservationPaths& paths, const Fault& fault, const Component& component) {
  Sums sums;
  for (const std::uint32_t i : paths.Through(component)) {
    const Observation& seen = paths.observations()[i];
    const bool bad = std::binary_search(fault.observations.begin(), fault.observations.end(), i);
    const bool known = fault.channel == Channel::kLoss    ? seen.attempts > 0
                       : fault.channel == Channel::kSpeed ? seen.speed.has_value()
                                                          : seen.latency.has_value();
    if (!known) continue;
    ++sums.flows;
    AddEnds(paths, component, seen, bad, sums);
    if (!bad) continue;
    ++sums.bad_flows;
    sums.attempts += seen.attempts;
    sums.failures += seen.failures;
    if (seen.flow_label != 0) sums.labels.insert(seen.flow_label);
    if (fault.channel == Channel::kSpeed) sums.figures.push_back(*seen.speed);
    if (fault.channel == Channel::kLatency) sums.figures.push_back(*seen.latency);
  }
  return sums;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void SetFaultKind(const ObservationPaths& paths, const Fault& fault, const Hypothesis& hypothesis,
                  const Sums& sums, v1::Suspect& suspect) {
  // Include good observations: with a loss of 1 in 1,000 most probes see none.
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;
  const bool all = hypothesis.fit.share == 0;
  switch (fault.channel) {
    case Channel::kLoss: {
      if (all) {
        for (const std::uint32_t i : paths.Through(hypothesis.component)) {
          attempts += paths.observations()[i].attempts;
          failures += paths.observations()[i].failures;
        }
      } else {
        attempts = sums.attempts;
        failures = sums.failures;
      }
      const double lost =
          attempts == 0 ? 0 : static_cast<double>(failures) / static_cast<double>(attempts);
      suspect.set_severity(lost);
      suspect.set_fault(lost > kDeadLoss ? v1::FAULT_KIND_TOTAL_LOSS : v1::FAULT_KIND_PACKET_LOSS);
      suspect.add_evidence(Format("lost {} of {}", failures, attempts));
      break;
    }
    case Channel::kSpeed: {
      const double speed = Median(sums.figures);
      suspect.set_severity(1 - speed);
      suspect.set_fault(v1::FAULT_KIND_LOW_BANDWIDTH);
      suspect.add_evidence(Format("{:.0f} % of the bandwidth of comparable ports", speed * 100));
      break;
    }
    case Channel::kLatency: {
      const double ratio = Median(sums.figures);
      suspect.set_latency_ratio(ratio);
      suspect.set_fault(v1::FAULT_KIND_HIGH_LATENCY);
      suspect.add_evidence(Format("{:.1f} times the latency of comparable ports", ratio));
      break;
    }
  }
}

// Number of partners that have a good observation outside the component.
std::size_t GoodElsewhere(const ObservationPaths& paths, const Fault& fault,
                          const Component& component, const std::set<std::uint32_t>& partners) {
  std::size_t good = 0;
  for (const std::uint32_t partner : partners) {
    for (const std::uint32_t i : paths.ObservationsOf(partner)) {
      if (paths.Passes(component, i) || paths.observations()[i].failed_end) continue;
      if (std::binary_search(fault.observations.begin(), fault.observations.end(), i)) continue;
      const Observation& seen = paths.observations()[i];
      if (seen.failures > 0) continue;
      ++good;
      break;
    }
  }
  return good;
}

// "probes with 2 of 2 partners failed; these partners work with other ports". `good` of the
// partners with bad results work elsewhere.
std::string PartnerText(Channel channel, const Sums& sums, std::size_t good) {
  const std::size_t bad = sums.bad_partners.size();
  const bool dead =
      static_cast<double>(sums.failures) > kDeadLoss * static_cast<double>(sums.attempts);
  const std::string_view result = channel == Channel::kSpeed     ? "had low bandwidth"
                                  : channel == Channel::kLatency ? "had high latency"
                                  : dead                         ? "failed"
                                                                 : "lost packets";
  std::string text =
      Format("probes with {} of {} {}", bad, Plural(sums.partners.size(), "partner"), result);
  if (bad == 0) return text;
  if (good == 0)
    text += bad == 1 ? "; this partner has no good result with another port"
                     : "; these partners have no good result with another port";
  else if (good == bad)
    text += bad == 1 ? "; this partner works with other ports"
                     : "; these partners work with other ports";
  else
    text +=
        Format("; {} of these partners {} with other ports", good, good == 1 ? "works" : "work");
  return text;
}

void AddAffected(const ObservationPaths& paths, const Fault& fault, const Component& component,
                 const Sums& sums, v1::Suspect& suspect) {
  switch (component.kind) {
    case ComponentKind::kPort:
    case ComponentKind::kHost:
      suspect.add_evidence(PartnerText(fault.channel, sums,
                                       GoodElsewhere(paths, fault, component, sums.bad_partners)));
      break;
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
    case ComponentKind::kRail:
      suspect.add_evidence(Format("{} of its {} ports that were probed are affected",
                                  sums.bad_inside.size(), sums.inside.size()));
      break;
    case ComponentKind::kPair: suspect.add_evidence("both ports work with other ports"); break;
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

// Adds the leaf's links from the topology file, and the age of the file.
void AddTopology(const Fabric& fabric, v1::Suspect& suspect) {
  const auto known = fabric.links_up.find(suspect.leaf());
  if (suspect.leaf().empty() || known == fabric.links_up.end()) return;
  suspect.add_evidence(Format("leaf from the InfiniBand topology of {}", fabric.links_known_at));
  constexpr std::size_t kLinksMax = 8;
  const std::vector<std::string>& all = known->second;
  if (suspect.kind() != v1::SUSPECT_KIND_UPLINK || all.empty()) return;
  suspect.add_evidence(Format("its links to other switches: {}", ListSome(all, kLinksMax)));
}

bool IsAbout(const ObservationPaths& paths, const Component& component,
             const v1::Subject& subject) {
  const std::vector<Endpoint>& endpoints = paths.fabric().endpoints;
  switch (component.kind) {
    case ComponentKind::kPort: {
      const Endpoint& endpoint = endpoints[component.first];
      if (subject.node() != endpoint.node) return false;
      if (subject.scope() == v1::SCOPE_DEVICE) return subject.device() == endpoint.device;
      const bool of_port = subject.scope() == v1::SCOPE_PORT || subject.scope() == v1::SCOPE_LINK;
      return of_port && subject.device() == endpoint.device && subject.port() == endpoint.port;
    }
    case ComponentKind::kHost:
      return !subject.node().empty() && subject.node() == NameOf(paths, component);
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
      return subject.scope() == v1::SCOPE_SWITCH &&
             subject.switch_name() == paths.LeafName(component.first);
    case ComponentKind::kRail:
      return subject.scope() == v1::SCOPE_RAIL && subject.has_rail() &&
             subject.rail() == component.first;
    default: return false;
  }
}

// All bad results say that the agent of the node is away: nothing about its ports.
bool IsSilentAgent(const ObservationPaths& paths, const Fault& fault, const Component& component) {
  if (component.kind != ComponentKind::kPort && component.kind != ComponentKind::kHost)
    return false;
  std::size_t bad = 0;
  for (const std::uint32_t i : fault.observations) {
    if (!paths.Passes(component, i)) continue;
    if (!paths.observations()[i].agent_silent) return false;
    ++bad;
  }
  return bad > 0;
}

// The pairs with bad results on the component, in the order of their names.
void AddPairs(const ObservationPaths& paths, const Fault& fault, const Component& component,
              v1::Suspect& suspect) {
  constexpr int kShown = 16;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::uint32_t i : fault.observations)
    if (paths.Passes(component, i))
      pairs.emplace(paths.observations()[i].from, paths.observations()[i].to);
  suspect.set_affected_pairs_total(static_cast<std::uint32_t>(pairs.size()));
  const std::vector<Endpoint>& endpoints = paths.fabric().endpoints;
  for (const auto& [from, to] : pairs) {
    if (suspect.affected_pairs_size() == kShown) break;
    suspect.add_affected_pairs(Format("{} to {}", NameOf(endpoints[from]), NameOf(endpoints[to])));
  }
}

}  // namespace

std::string NameOf(const ObservationPaths& paths, const Component& component) {
  const std::vector<Endpoint>& endpoints = paths.fabric().endpoints;
  switch (component.kind) {
    case ComponentKind::kPort: return NameOf(endpoints[component.first]);
    case ComponentKind::kHost: {
      for (std::uint32_t i = 0; i < endpoints.size(); ++i)
        if (paths.NodeOf(i) == component.first) return endpoints[i].node;
      return {};
    }
    case ComponentKind::kLeaf: return paths.LeafName(component.first);
    case ComponentKind::kUplink: return Format("{} uplinks", paths.LeafName(component.first));
    case ComponentKind::kSpine:
      return component.first == kEverywhere ? std::string("a spine")
                                            : Format("a spine of rail {}", component.first);
    case ComponentKind::kLeafPair:
      return Format("{} and {}", paths.LeafName(component.first), paths.LeafName(component.second));
    case ComponentKind::kRail: return Format("rail {}", component.first);
    case ComponentKind::kPair:
      return Format("{} and {}", NameOf(endpoints[component.first]),
                    NameOf(endpoints[component.second]));
    case ComponentKind::kFabric: return "the fabric";
  }
  return {};
}

v1::Suspect Located(const ObservationPaths& paths, const Component& component) {
  v1::Suspect suspect;
  suspect.set_kind(KindOf(component.kind));
  suspect.set_name(NameOf(paths, component));
  SetLocation(paths, component, suspect);
  return suspect;
}

v1::Suspect SuspectOf(const ObservationPaths& paths, const Fault& fault, const Candidate& candidate,
                      std::span<const v1::Finding> findings, const CounterEvidence& counters) {
  const Hypothesis& hypothesis = candidate.hypothesis;
  const Component& component = hypothesis.component;
  v1::Suspect suspect = Located(paths, component);
  // The direction is also unspecified when it is not known.
  const bool some = component.kind == ComponentKind::kUplink && hypothesis.fit.share > 0;
  const double against_chance = some ? kDirectionSureOfSome : kDirectionSure;
  if (candidate.direction_probability >= against_chance && hypothesis.direction != Direction::kBoth)
    suspect.set_direction(hypothesis.direction == Direction::kOut ? v1::DIRECTION_OUT
                                                                  : v1::DIRECTION_IN);
  suspect.set_confidence(candidate.probability);
  if (fault.stalled) {
    suspect.set_fault(v1::FAULT_KIND_HOST_STALLED);
    suspect.add_evidence(Format("its host did not run, or its agent did not answer, in {} probes",
                                fault.observations.size()));
    AddPairs(paths, fault, component, suspect);
    return suspect;
  }
  const Sums sums = SumsOf(paths, fault, component);
  AddAffected(paths, fault, component, sums, suspect);
  AddPairs(paths, fault, component, suspect);
  SetFaultKind(paths, fault, hypothesis, sums, suspect);
  if (hypothesis.fit.share > 0 && component.kind == ComponentKind::kUplink)
    suspect.set_name(Format("{}, one path of about {:.0f}", suspect.name(),
                            1 / std::max(suspect.affected(), 1e-3)));
  if (IsSilentAgent(paths, fault, component)) {
    suspect.set_kind(v1::SUSPECT_KIND_HOST);
    suspect.set_name(suspect.node());
    suspect.set_fault(v1::FAULT_KIND_AGENT_SILENT);
    suspect.clear_direction();
    suspect.clear_device();
    suspect.clear_port();
    suspect.clear_rail();
    suspect.clear_leaf();
    suspect.clear_leaf_port();
  }
  AddTopology(paths.fabric(), suspect);
  for (std::string& moved : counters.Text(component)) suspect.add_evidence(std::move(moved));
  for (const v1::Finding& finding : findings)
    if (!finding.has_suspect() && IsAbout(paths, component, finding.subject()))
      suspect.add_findings(finding.id());
  return suspect;
}

}  // namespace fabric::blame
