#include "daemon/rules/product.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::NodeView;
using Camp = std::vector<const NodeView*>;

struct Key {
  std::string_view product;
  std::uint64_t like = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};

std::string NamesOf(const Camp& camp) {
  std::vector<std::string> names;
  for (const NodeView* node : camp) names.push_back(node->node->name);
  return Listed(names);
}

v1::Evidence EvidenceOf(const Arrangement& arrangement, const NodeView& node, const NodeView& other,
                        std::string basis) {
  return ToEvidence(*node.node, {.what = std::string(arrangement.what),
                                 .expected = arrangement.seen(other, node),
                                 .seen = arrangement.seen(node, other),
                                 .source = "sys/class/infiniband",
                                 .basis = std::move(basis)});
}

void FailNode(const Arrangement& arrangement, const NodeView& node, const NodeView& good,
              const std::string& basis, Verdicts& out) {
  out.Fail(SubjectOf(node),
           Format("{}: {}, expected {} ({})", arrangement.what, arrangement.seen(node, good),
                  arrangement.seen(good, node), basis),
           {EvidenceOf(arrangement, node, good, basis)}, arrangement.remedies());
}

void FailProduct(const Arrangement& arrangement, std::string_view product, const Camp& first,
                 const Camp& second, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  const NodeView& one = *first[0];
  const NodeView& other = *second[0];
  out.Fail(
      std::move(subject),
      Format("{} not the same: {} on {}; {} on {}", arrangement.what, arrangement.seen(one, other),
             NamesOf(first), arrangement.seen(other, one), NamesOf(second)),
      {EvidenceOf(arrangement, one, other, "no majority"),
       EvidenceOf(arrangement, other, one, "no majority")},
      arrangement.remedies(), product);
}

void JudgeCamps(const Arrangement& arrangement, std::string_view product, std::vector<Camp> camps,
                Verdicts& out) {
  std::sort(camps.begin(), camps.end(), [](const Camp& a, const Camp& b) {
    if (a.size() != b.size()) return a.size() > b.size();
    return a[0]->node->name < b[0]->node->name;
  });
  if (camps.size() > 1 && camps[0].size() == camps[1].size())
    return FailProduct(arrangement, product, camps[0], camps[1], out);
  std::size_t nodes = 0;
  for (const Camp& camp : camps) nodes += camp.size();
  for (const NodeView* node : camps[0])
    if (node != nullptr) out.Pass();
  for (std::size_t i = 1; i < camps.size(); ++i)
    for (const NodeView* node : camps[i])
      FailNode(arrangement, *node, *camps[0][0],
               Format("{} of {} nodes of {}", camps[0].size(), nodes, product), out);
}

}  // namespace

std::optional<Group> ByKnownProduct(const Member& node) {
  const std::string& product = node.snapshot().host().product();
  if (product.empty()) return {};
  return Group{.rail = {}, .like = product};
}

std::optional<Group> ByRailOfKnownProduct(const Member& port) {
  const std::string& product = port.snapshot().host().product();
  if (product.empty() || !port.port->rail) return {};
  return Group{.rail = port.port->rail->value(), .like = product};
}

void Judge(const Arrangement& arrangement, const fleet::FleetView& fleet, Verdicts& out) {
  std::map<Key, std::map<std::uint64_t, Camp>> groups;
  for (const NodeView& node : fleet.nodes()) {
    const std::string& product = node.node->snapshot.host().product();
    if (product.empty()) continue;
    if (const auto like = arrangement.like(node))
      groups[{.product = product, .like = *like}][arrangement.of(node)].push_back(&node);
  }
  for (auto& [key, by_arrangement] : groups) {
    std::vector<Camp> camps;
    for (auto& [value, nodes] : by_arrangement) camps.push_back(std::move(nodes));
    JudgeCamps(arrangement, key.product, std::move(camps), out);
  }
}

}  // namespace fabric::rules
