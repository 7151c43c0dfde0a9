#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/blame/wanted.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kPairsMax = 4;  // Of one kind, of one candidate

// The probes that decide one trouble. Each partner is asked once: in a round of its own it could
// not meet two.
class Decider {
 public:
  Decider(const Passages& passages, const Partners& partners, const Trouble& trouble)
      : passages_(passages), partners_(partners), trouble_(trouble) {}

  std::vector<Reasoned> Run() {
    for (const Candidate& candidate : trouble_.candidates) Add(candidate.hypothesis.part);
    constexpr std::size_t kProbesMax = 16;
    if (probes_.size() <= kProbesMax) return std::move(probes_);
    // A leaf of many ports leaves room for those that say what its own ports cannot.
    std::stable_partition(probes_.begin(), probes_.end(),
                          [](const Reasoned& probe) { return probe.elsewhere; });
    probes_.resize(kProbesMax);
    return std::move(probes_);
  }

 private:
  std::string Name(std::uint32_t place) const { return NameOf(passages_.fabric().places[place]); }

  void Add(const Part& part);
  void AddPartner(std::uint32_t place, bool same_leaf);
  void AddWithin(std::uint32_t leaf);
  void AddElsewhere(const Part& spine);
  bool IsCandidate(const Part& part) const {
    return std::any_of(trouble_.candidates.begin(), trouble_.candidates.end(),
                       [&](const Candidate& one) { return one.hypothesis.part == part; });
  }
  bool OfACandidate(std::uint32_t place) const {
    return std::any_of(
        trouble_.candidates.begin(), trouble_.candidates.end(),
        [&](const Candidate& one) { return passages_.Holds(one.hypothesis.part, place); });
  }

  const Passages& passages_;
  const Partners& partners_;
  const Trouble& trouble_;
  std::vector<Reasoned> probes_;
  std::set<std::uint32_t> taken_;   // As partners
  std::set<std::uint32_t> leaves_;  // That were asked for
};

void Decider::Add(const Part& part) {
  switch (part.kind) {
    case PartKind::kPort:
      AddPartner(part.first, false);
      if (passages_.LeafOf(part.first) != kUnknown) AddPartner(part.first, true);
      break;
    case PartKind::kHost:
      for (const std::uint32_t place : passages_.PlacesOfNode(part.first)) AddPartner(place, false);
      break;
    case PartKind::kLeaf:
    case PartKind::kUplink:
      if (!leaves_.insert(part.first).second) break;
      // Within the leaf: that tells it from its ways out, whoever is good.
      if (IsCandidate({PartKind::kLeaf, part.first})) AddWithin(part.first);
      for (const std::uint32_t place : partners_.Under(part.first)) AddPartner(place, false);
      break;
    case PartKind::kPair:
      if (!partners_.Usable(part.first) || !partners_.Usable(part.second)) break;
      probes_.push_back({{part.first, part.second, true}, "the same pair once more"});
      AddPartner(part.first, false);
      AddPartner(part.second, false);
      break;
    case PartKind::kSpine: AddElsewhere(part); break;
    default: break;  // What all share shows in whatever is probed next.
  }
}

void Decider::AddPartner(std::uint32_t place, bool same_leaf) {
  if (!partners_.Usable(place)) return;
  const auto partner = partners_.For(place, same_leaf, taken_);
  if (!partner) return;
  taken_.insert(*partner);
  const bool leaf = same_leaf && passages_.LeafOf(place) != kUnknown;
  probes_.push_back({{place, *partner},
                     Format("{} with a partner that is good with others{}", Name(place),
                            leaf ? ", under the same leaf" : "")});
}

void Decider::AddWithin(std::uint32_t leaf) {
  const auto under = partners_.Under(leaf);
  for (std::size_t i = 0; i + 1 < under.size() && i < 2 * kPairsMax; i += 2)
    probes_.push_back(
        {{under[i], under[i + 1]}, Format("{} with a port under the same leaf", Name(under[i]))});
}

// Between leaves that the other candidates have no part in: whether it is bad there too.
void Decider::AddElsewhere(const Part& spine) {
  const auto places = static_cast<std::uint32_t>(passages_.fabric().places.size());
  std::set<std::uint32_t> no_partners = taken_;
  for (std::uint32_t place = 0; place < places; ++place)
    if (OfACandidate(place)) no_partners.insert(place);
  std::size_t pairs = 0;
  for (std::uint32_t place = 0; place < places && pairs < kPairsMax; ++place) {
    const bool of_it = spine.first == kEverywhere || passages_.RailOf(place) == spine.first;
    if (!of_it || !partners_.Usable(place) || no_partners.contains(place)) continue;
    if (passages_.LeafOf(place) == kUnknown) continue;
    const auto partner = partners_.For(place, false, no_partners);
    if (!partner) continue;
    taken_.insert({place, *partner});
    no_partners.insert({place, *partner});
    probes_.push_back(
        {.pair = {place, *partner},
         .why = Format("{} with a port under another leaf, neither of them suspected", Name(place)),
         .elsewhere = true});
    ++pairs;
  }
}

}  // namespace

std::vector<Reasoned> Deciding(const Passages& passages, const Partners& partners,
                               const Trouble& trouble) {
  return Decider(passages, partners, trouble).Run();
}

}  // namespace fabric::blame
