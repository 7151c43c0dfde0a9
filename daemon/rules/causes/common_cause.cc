#include "daemon/rules/causes/common_cause.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/rules/causes/port_map.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

std::string SimilarityKey(const v1::Finding& finding) {
  const v1::Scope scope = finding.subject().scope();
  const bool grouped = IsOfPort(finding) || scope == v1::SCOPE_NODE || scope == v1::SCOPE_RAIL;
  if (!grouped || finding.verdict() != v1::VERDICT_FAIL || finding.evidence().empty()) return {};
  std::string key = Format("{}/{}", finding.rule(), static_cast<int>(scope));
  // A finding about a rail has one evidence for each value.
  const int lines = scope == v1::SCOPE_RAIL ? finding.evidence_size() : 1;
  for (int i = 0; i < lines; ++i) {
    const v1::Evidence& evidence = finding.evidence(i);
    key += Format("\n{}\n{}\n{}", evidence.what(), evidence.expected(), evidence.seen());
  }
  return key;
}

namespace {

constexpr std::size_t kRemediesMax = 16;  // One of each port of a node

bool BySubject(const v1::Finding* a, const v1::Finding* b) {
  const auto key = [](const v1::Finding& finding) {
    const v1::Subject& subject = finding.subject();
    return std::tie(subject.node(), subject.device(), finding.id());
  };
  const auto place = [](const v1::Finding& finding) {
    return std::pair(finding.subject().rail(), finding.subject().port());
  };
  if (a->subject().node() != b->subject().node()) return a->subject().node() < b->subject().node();
  if (place(*a) != place(*b)) return place(*a) < place(*b);
  return key(*a) < key(*b);
}

std::string NameOf(const v1::Finding& finding) {
  const v1::Subject& subject = finding.subject();
  if (subject.scope() == v1::SCOPE_RAIL) return Format("rail {}", subject.rail());
  if (subject.device().empty()) return subject.node();
  return Format("{}/{}/{}", subject.node(), subject.device(), subject.port());
}

// "all 8 ports of rail 3"
std::string AllOf(const v1::Subject& whole, const v1::Finding& member, std::size_t count) {
  const v1::Scope scope = member.subject().scope();
  const std::string_view what = scope == v1::SCOPE_RAIL   ? "rails"
                                : scope == v1::SCOPE_NODE ? "nodes"
                                                          : "ports";
  std::string all = Format("all {} {}", count, what);
  if (whole.scope() == v1::SCOPE_SWITCH) all += Format(" behind {}", whole.switch_name());
  if (whole.scope() == v1::SCOPE_RAIL) all += Format(" of rail {}", whole.rail());
  return all;
}

// Keeps a title that all members have. Others name something of the member.
std::string TitleOf(const std::vector<const v1::Finding*>& members, const std::string& all) {
  const v1::Finding& first = *members[0];
  const v1::Evidence& evidence = first.evidence(0);
  const bool same = std::ranges::all_of(
      members, [&](const v1::Finding* member) { return member->title() == first.title(); });
  if (same || evidence.expected().empty() || evidence.seen().empty())
    return Format("{}, on {}", first.title(), all);
  return Format("{} {}, expected {}, on {}", evidence.what(), evidence.seen(), evidence.expected(),
                all);
}

void AddRemedies(const v1::Finding& member, v1::Finding& group) {
  for (const v1::Remedy& remedy : member.remedies()) {
    const bool known =
        std::any_of(group.remedies().begin(), group.remedies().end(), [&](const v1::Remedy& each) {
          return each.platform() == remedy.platform() && each.command() == remedy.command();
        });
    if (!known && static_cast<std::size_t>(group.remedies_size()) < kRemediesMax)
      *group.add_remedies() = remedy;
  }
}

}  // namespace

v1::Finding CommonCause(v1::Subject subject, std::vector<const v1::Finding*> members) {
  std::sort(members.begin(), members.end(), BySubject);
  const v1::Finding& first = *members[0];
  const std::string all = AllOf(subject, first, members.size());
  v1::Finding group;
  group.set_verdict(first.verdict());
  group.set_common_cause(true);
  group.set_title(TitleOf(members, all));
  for (const v1::Evidence& evidence : first.evidence()) *group.add_evidence() = evidence;
  std::vector<std::string> names;
  std::vector<v1::Subject> affected;
  std::size_t all_affected = 0;
  for (const v1::Finding* member : members) {
    names.push_back(NameOf(*member));
    all_affected += std::max<std::size_t>(member->affected_total(),
                                          static_cast<std::size_t>(member->affected_size()));
    for (const v1::Subject& each : member->affected())
      if (affected.size() < kAffectedMax) affected.push_back(each);
    group.add_explains(member->id());
    // The commands are the same on other nodes.
    if (member->subject().node() == first.subject().node()) AddRemedies(*member, group);
  }
  v1::Evidence& found = *group.add_evidence();
  found.set_what("the same on");
  found.set_seen(ListedAll(names));
  found.set_source("findings of this rule");
  found.set_basis(all);
  *found.mutable_read_at() = first.evidence(0).read_at();
  SetAffected(group, std::move(affected), all_affected);
  // Part of the key, as the fingerprint of a subject does not contain its switch.
  const std::string key = Format("all {} {}", first.evidence(0).what(), subject.switch_name());
  *group.mutable_subject() = std::move(subject);
  Verdicts verdicts(first.rule(), first.severity());
  verdicts.Add(std::move(group), key);
  return std::move(verdicts.findings()[0]);
}

}  // namespace fabric::rules
