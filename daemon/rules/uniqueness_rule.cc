#include "daemon/rules/uniqueness_rule.h"

#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::string NameOf(const Member& member) {
  return member.port != nullptr ? PortName(*member.port) : member.node->node->name;
}

v1::Evidence EvidenceOf(const UniquenessRule& uniqueness, const KeyHolder& holder) {
  const std::string index = holder.index ? Format(" {}", *holder.index) : std::string();
  return ToEvidence(*holder.member.node->node,
                    {.what = Format("{}{} of {}", uniqueness.what, index, NameOf(holder.member)),
                     .expected = uniqueness.of_nodes ? "on no other node" : "on no other port",
                     .seen = uniqueness.show(holder),
                     .source = uniqueness.source(holder),
                     .basis = "rule"});
}

}  // namespace

bool IsOnOneNode(const KeyHolder&, const KeyHolder&) {
  return true;
}

void FailShared(const UniquenessRule& uniqueness, const std::vector<std::vector<KeyHolder>>& shared,
                Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  std::vector<std::string> shown;
  for (const std::vector<KeyHolder>& holders : shared)
    shown.push_back(uniqueness.show(holders.front()));
  const std::vector<KeyHolder>& holders = shared[0];
  std::vector<std::string> names;
  std::vector<v1::Subject> affected;
  std::vector<v1::Evidence> evidence;
  for (const KeyHolder& holder : holders) {
    if (affected.size() < kAffectedMax) affected.push_back(SubjectOf(holder.member));
    names.push_back(NameOf(holder.member));
    if (evidence.size() < kEvidenceMax) evidence.push_back(EvidenceOf(uniqueness, holder));
  }
  const Value& key = holders.front().key;
  std::vector<v1::Remedy> remedies;
  if (uniqueness.remedies != nullptr) remedies = uniqueness.remedies(holders.back());
  for (v1::Remedy& remedy : remedies) SetHost(holders.back().member.node->node->name, remedy);
  out.Fail(std::move(subject),
           Format("{} {} is on {} {}, expected on one: {}", uniqueness.what, Listed(shown),
                  names.size(), uniqueness.of_nodes ? "nodes" : "ports", Listed(names)),
           std::move(evidence), std::move(remedies),
           key.number == 0 ? std::string(key.text) : Format("{} {}", key.text, key.number));
  out.SetAffected(std::move(affected), names.size());
}

}  // namespace fabric::rules
