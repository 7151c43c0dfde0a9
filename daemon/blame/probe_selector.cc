#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/blame/probe_requests.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kPairsMax = 4;  // For one candidate, of one kind

// Selects the probes that distinguish the candidates of one fault. Uses each partner once, because
// a port can take part in one probe of a round only.
class ProbeSelector {
 public:
  ProbeSelector(const ObservationPaths& paths, const Partners& partners, const Fault& fault)
      : paths_(paths), partners_(partners), fault_(fault) {}

  std::vector<ReasonedProbe> Run() {
    for (const Candidate& candidate : fault_.candidates) Add(candidate.hypothesis.component);
    constexpr std::size_t kProbesMax = 16;
    if (probes_.size() <= kProbesMax) return std::move(probes_);
    // Keep probes outside the suspects when the limit cuts the list.
    std::stable_partition(probes_.begin(), probes_.end(),
                          [](const ReasonedProbe& probe) { return probe.elsewhere; });
    probes_.resize(kProbesMax);
    return std::move(probes_);
  }

 private:
  std::string Name(std::uint32_t endpoint) const {
    return NameOf(paths_.fabric().endpoints[endpoint]);
  }

  void Add(const Component& component);
  void AddPartner(std::uint32_t endpoint, bool same_leaf);
  void AddWithin(std::uint32_t leaf);
  void AddElsewhere(const Component& spine);
  bool IsCandidate(const Component& component) const {
    return std::any_of(fault_.candidates.begin(), fault_.candidates.end(),
                       [&](const Candidate& one) { return one.hypothesis.component == component; });
  }
  bool OfACandidate(std::uint32_t endpoint) const {
    return std::any_of(
        fault_.candidates.begin(), fault_.candidates.end(),
        [&](const Candidate& one) { return paths_.Holds(one.hypothesis.component, endpoint); });
  }

  const ObservationPaths& paths_;
  const Partners& partners_;
  const Fault& fault_;
  std::vector<ReasonedProbe> probes_;
  std::set<std::uint32_t> taken_;   // Used as partners
  std::set<std::uint32_t> leaves_;  // Already handled
};

void ProbeSelector::Add(const Component& component) {
  switch (component.kind) {
    case ComponentKind::kPort:
      AddPartner(component.first, false);
      if (paths_.LeafOf(component.first) != kUnknown) AddPartner(component.first, true);
      break;
    case ComponentKind::kHost:
      for (const std::uint32_t endpoint : paths_.EndpointsOfNode(component.first))
        AddPartner(endpoint, false);
      break;
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
      if (!leaves_.insert(component.first).second) break;
      // Probes within the leaf distinguish it from its uplinks.
      if (IsCandidate({ComponentKind::kLeaf, component.first})) AddWithin(component.first);
      for (const std::uint32_t endpoint : partners_.Under(component.first))
        AddPartner(endpoint, false);
      break;
    case ComponentKind::kPair:
      if (!partners_.Usable(component.first) || !partners_.Usable(component.second)) break;
      probes_.push_back(
          {{component.first, component.second, true}, "repeat of the suspected pair"});
      AddPartner(component.first, false);
      AddPartner(component.second, false);
      break;
    case ComponentKind::kSpine: AddElsewhere(component); break;
    default: break;  // Every probe tests shared components.
  }
}

void ProbeSelector::AddPartner(std::uint32_t endpoint, bool same_leaf) {
  if (!partners_.Usable(endpoint)) return;
  const auto partner = partners_.For(endpoint, same_leaf, taken_);
  if (!partner) return;
  taken_.insert(*partner);
  const bool leaf = same_leaf && paths_.LeafOf(endpoint) != kUnknown;
  probes_.push_back({{endpoint, *partner},
                     Format("{} with a known good partner{}", Name(endpoint),
                            leaf ? ", under the same leaf" : "")});
}

void ProbeSelector::AddWithin(std::uint32_t leaf) {
  const auto under = partners_.Under(leaf);
  for (std::size_t i = 0; i + 1 < under.size() && i < 2 * kPairsMax; i += 2)
    probes_.push_back(
        {{under[i], under[i + 1]}, Format("{} with a port under the same leaf", Name(under[i]))});
}

// Probes between leaves outside all other candidates: is the spine bad there too?
void ProbeSelector::AddElsewhere(const Component& spine) {
  const auto endpoints = static_cast<std::uint32_t>(paths_.fabric().endpoints.size());
  std::set<std::uint32_t> no_partners = taken_;
  for (std::uint32_t endpoint = 0; endpoint < endpoints; ++endpoint)
    if (OfACandidate(endpoint)) no_partners.insert(endpoint);
  std::size_t pairs = 0;
  for (std::uint32_t endpoint = 0; endpoint < endpoints && pairs < kPairsMax; ++endpoint) {
    const bool of_it = spine.first == kEverywhere || paths_.RailOf(endpoint) == spine.first;
    if (!of_it || !partners_.Usable(endpoint) || no_partners.contains(endpoint)) continue;
    if (paths_.LeafOf(endpoint) == kUnknown) continue;
    const auto partner = partners_.For(endpoint, false, no_partners);
    if (!partner) continue;
    taken_.insert({endpoint, *partner});
    no_partners.insert({endpoint, *partner});
    probes_.push_back(
        {.pair = {endpoint, *partner},
         .why = Format("{} with a port under another leaf, both unsuspected", Name(endpoint)),
         .elsewhere = true});
    ++pairs;
  }
}

}  // namespace

std::vector<ReasonedProbe> DiscriminatingProbes(const ObservationPaths& paths,
                                                const Partners& partners, const Fault& fault) {
  return ProbeSelector(paths, partners, fault).Run();
}

}  // namespace fabric::blame
