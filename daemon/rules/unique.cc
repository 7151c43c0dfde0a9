#include "daemon/rules/unique.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

struct HashValue {
  std::size_t operator()(const Value& value) const {
    return std::hash<std::string_view>()(value.text) * 31 +
           std::hash<std::uint64_t>()(value.number * 0x9e3779b97f4a7c15U);
  }
};

// Every key with those that have it: the first one, and all when there are more.
struct Index {
  std::unordered_map<Value, Holder, HashValue> first;
  std::map<Value, std::vector<Holder>> repeated;
};

bool IsSame(const Uniqueness& uniqueness, const Holder& a, const Holder& b) {
  if (a.member.node == b.member.node && a.member.port == b.member.port) return true;
  return uniqueness.same != nullptr && uniqueness.same(a, b);
}

void Enter(const Uniqueness& uniqueness, const Holder& holder, Index& index) {
  const auto [at, added] = index.first.try_emplace(holder.key, holder);
  if (added || IsSame(uniqueness, at->second, holder)) return;
  std::vector<Holder>& holders = index.repeated[holder.key];
  if (holders.empty()) holders.push_back(at->second);
  const bool known = std::any_of(holders.begin(), holders.end(),
                                 [&](const Holder& h) { return IsSame(uniqueness, h, holder); });
  if (!known) holders.push_back(holder);
}

std::string NameOf(const Member& member) {
  return member.port != nullptr ? PortName(*member.port) : member.node->node->name;
}

v1::Evidence EvidenceOf(const Uniqueness& uniqueness, const Holder& holder) {
  const std::string index = holder.index ? Format(" {}", *holder.index) : std::string();
  return ToEvidence(*holder.member.node->node,
                    {.what = Format("{}{} of {}", uniqueness.what, index, NameOf(holder.member)),
                     .expected = uniqueness.of_nodes ? "on no other node" : "on no other port",
                     .seen = uniqueness.show(holder),
                     .source = uniqueness.source(holder),
                     .basis = "rule"});
}

using Shared = std::vector<const std::vector<Holder>*>;  // All keys that the same members have

void Fail(const Uniqueness& uniqueness, const Shared& shared, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  std::vector<std::string> shown;
  for (const std::vector<Holder>* holders : shared)
    shown.push_back(uniqueness.show(holders->front()));
  const std::vector<Holder>& holders = *shared[0];
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const Holder& holder : holders) {
    names.push_back(NameOf(holder.member));
    if (evidence.size() < kListedMax) evidence.push_back(EvidenceOf(uniqueness, holder));
  }
  const Value& key = holders.front().key;
  out.Fail(std::move(subject),
           Format("{} {} is on {} {}, expected on one: {}", uniqueness.what, Listed(shown),
                  names.size(), uniqueness.of_nodes ? "nodes" : "ports", Listed(names)),
           std::move(evidence),
           uniqueness.remedies != nullptr ? uniqueness.remedies(holders.back())
                                          : std::vector<v1::Remedy>(),
           key.number == 0 ? std::string(key.text) : Format("{} {}", key.text, key.number));
}

Index IndexOf(const Uniqueness& uniqueness, const fleet::FleetView& fleet) {
  Index index;
  std::vector<Holder> holders;
  for (const fleet::NodeView& node : fleet.nodes()) {
    holders.clear();
    if (uniqueness.of_nodes) uniqueness.keys({.node = &node}, holders);
    for (const fleet::PortView& port : node.ports)
      if (!uniqueness.of_nodes) uniqueness.keys({.node = &node, .port = &port}, holders);
    for (const Holder& holder : holders) Enter(uniqueness, holder, index);
  }
  return index;
}

}  // namespace

bool IsSameNode(const Holder& a, const Holder& b) {
  return a.member.node == b.member.node;
}

void Judge(const Uniqueness& uniqueness, const fleet::FleetView& fleet, Verdicts& out) {
  const Index index = IndexOf(uniqueness, fleet);
  // A port with two addresses of another one is one fault.
  std::map<std::vector<const void*>, Shared> by_members;
  std::vector<const Shared*> order;  // By key: addresses of memory are none.
  for (const auto& [key, holders] : index.repeated) {
    std::vector<const void*> members;
    for (const Holder& holder : holders) {
      if (holder.member.port != nullptr)
        members.push_back(holder.member.port);
      else
        members.push_back(holder.member.node);
    }
    const auto [at, added] = by_members.try_emplace(std::move(members));
    if (added) order.push_back(&at->second);
    at->second.push_back(&holders);
  }
  for (const Shared* shared : order) Fail(uniqueness, *shared, out);
  for (std::size_t i = index.repeated.size(); i < index.first.size(); ++i) out.Pass();
}

}  // namespace fabric::rules
