#include "daemon/rules/grouping.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::size_t kPortsMin = 2;      // Of a node
constexpr std::size_t kNodesMin = 3;      // Of anything larger
constexpr std::size_t kRailsMin = 2;      // That nobody is blamed on
constexpr std::size_t kRemediesMax = 16;  // One of each port of a node

std::string SwitchOf(const fleet::PortView& port) {
  if (port.netdev == nullptr) return {};
  for (const v1::LldpNeighbor& neighbor : port.node->snapshot.lldp_neighbors())
    if (neighbor.netdev() == port.netdev->name())
      return neighbor.has_system_name() ? neighbor.system_name() : neighbor.chassis_id();
  return {};
}

bool IsOfPort(const v1::Finding& finding) {
  return finding.subject().scope() == v1::SCOPE_PORT || finding.subject().scope() == v1::SCOPE_LINK;
}

// Findings of one rule that say the same of different subjects have the same. Empty: of a kind
// that is not grouped, or that explains others itself.
std::string Alike(const v1::Finding& finding) {
  const v1::Scope scope = finding.subject().scope();
  const bool grouped = IsOfPort(finding) || scope == v1::SCOPE_NODE || scope == v1::SCOPE_RAIL;
  if (!grouped || finding.evidence().empty()) return {};
  std::string key = Format("{}/{}/{}", finding.rule(), static_cast<int>(finding.verdict()),
                           static_cast<int>(scope));
  // What of a rail differs is said in several lines.
  const int lines = scope == v1::SCOPE_RAIL ? finding.evidence_size() : 1;
  for (int i = 0; i < lines; ++i) {
    const v1::Evidence& evidence = finding.evidence(i);
    key += Format("\n{}\n{}\n{}", evidence.what(), evidence.expected(), evidence.seen());
  }
  return key;
}

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

std::string TitleOf(const v1::Finding& member, const std::string& all) {
  const v1::Evidence& evidence = member.evidence(0);
  const bool both = !evidence.expected().empty() && !evidence.seen().empty();
  if (member.verdict() != v1::VERDICT_FAIL || !both || member.subject().scope() == v1::SCOPE_RAIL)
    return Format("{} ({})", member.title(), all);
  return Format("{} {}, expected {} on {}", evidence.what(), evidence.seen(), evidence.expected(),
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

v1::Finding GroupOf(v1::Subject whole, const std::vector<const v1::Finding*>& members) {
  const v1::Finding& first = *members[0];
  const std::string all = AllOf(whole, first, members.size());
  v1::Finding group;
  group.set_verdict(first.verdict());
  group.set_title(TitleOf(first, all));
  for (const v1::Evidence& evidence : first.evidence()) *group.add_evidence() = evidence;
  std::vector<std::string> names;
  for (const v1::Finding* member : members) {
    names.push_back(NameOf(*member));
    group.add_explains(member->id());
    // Of others nodes the same commands do.
    if (member->subject().node() == first.subject().node()) AddRemedies(*member, group);
  }
  v1::Evidence& found = *group.add_evidence();
  found.set_what("the same on");
  found.set_seen(Listed(names));
  found.set_source("findings of this rule");
  found.set_basis(all);
  *found.mutable_read_at() = first.evidence(0).read_at();
  // The fingerprint knows nothing of switches by itself.
  const std::string key = Format("all {} {}", first.evidence(0).what(), whole.switch_name());
  *group.mutable_subject() = std::move(whole);
  Verdicts verdicts(first.rule(), first.severity());
  verdicts.Add(std::move(group), key);
  return std::move(verdicts.findings()[0]);
}

void Explain(v1::Finding& finding, const std::string& by, std::set<std::string>& changed) {
  if (finding.explained_by() == by) return;
  finding.set_explained_by(by);
  changed.insert(finding.id());
}

}  // namespace

std::vector<Grouping::Extent> Grouping::ExtentsOf(const std::string& node, const Port& port) {
  std::vector<Extent> extents = {{.scope = v1::SCOPE_FLEET, .node = {}, .switch_name = {}}};
  if (!port.switch_name.empty())
    extents.push_back({.scope = v1::SCOPE_SWITCH, .node = {}, .switch_name = port.switch_name});
  extents.push_back({.scope = v1::SCOPE_RAIL, .node = {}, .rail = port.rail, .switch_name = {}});
  extents.push_back({.scope = v1::SCOPE_NODE, .node = node, .switch_name = {}});
  return extents;
}

void Grouping::CountIn(const std::string& node, const Ports& ports) {
  for (const Port& port : ports)
    for (const Extent& extent : ExtentsOf(node, port)) {
      Count& count = extents_[extent];
      ++count.all;
      count.up += port.up ? 1U : 0U;
    }
}

void Grouping::CountOut(const std::string& node, const Ports& ports) {
  for (const Port& port : ports)
    for (const Extent& extent : ExtentsOf(node, port)) {
      Count& count = extents_[extent];
      --count.all;
      count.up -= port.up ? 1U : 0U;
      if (count.all == 0) extents_.erase(extent);
    }
}

void Grouping::Put(const fleet::NodeView& node) {
  Ports ports;
  for (const fleet::PortView& port : node.ports)
    if (port.rail)
      ports.push_back({.device = port.device->name(),
                       .number = port.port->number(),
                       .rail = port.rail->value(),
                       .switch_name = SwitchOf(port),
                       .up = port.port->state() == v1::PORT_STATE_ACTIVE});
  const std::string& name = node.node->name;
  const auto [known, added] = nodes_.try_emplace(name);
  if (!added && known->second == ports) return;
  CountOut(name, known->second);
  CountIn(name, ports);
  known->second = std::move(ports);
  extents_changed_ = true;
}

void Grouping::Remove(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  CountOut(node, known->second);
  nodes_.erase(known);
  extents_changed_ = true;
}

const Grouping::Port* Grouping::FindPort(const v1::Subject& subject) const {
  const auto node = nodes_.find(subject.node());
  if (node == nodes_.end()) return nullptr;
  for (const Port& port : node->second)
    if (port.device == subject.device() && port.number == subject.port()) return &port;
  return nullptr;
}

bool Grouping::IsWhole(const Extent& extent, const Covered& covered) const {
  const auto count = extents_.find(extent);
  if (count == extents_.end()) return false;
  if (extent.scope == v1::SCOPE_NODE ? covered.ports.all < kPortsMin
                                     : covered.nodes.size() < kNodesMin)
    return false;
  const Count& there = count->second;
  return there.up > 0 ? covered.ports.up == there.up : covered.ports.all == there.all;
}

Grouping::Wholes Grouping::WholesOf(const Bucket& bucket, const Findings& findings) const {
  const v1::Finding& first = findings.at(*bucket.members.begin());
  const Extent fleet{.scope = v1::SCOPE_FLEET, .node = {}, .switch_name = {}};
  const std::vector<std::string> all(bucket.members.begin(), bucket.members.end());
  if (first.subject().scope() == v1::SCOPE_NODE)
    return all.size() >= kNodesMin && all.size() == nodes_.size() ? Wholes{{fleet, all}} : Wholes{};
  if (first.subject().scope() == v1::SCOPE_RAIL) {
    const auto rails = std::count_if(extents_.begin(), extents_.end(), [](const auto& each) {
      return each.first.scope == v1::SCOPE_RAIL;
    });
    const bool whole = all.size() >= kRailsMin && std::cmp_equal(all.size(), rails);
    return whole ? Wholes{{fleet, all}} : Wholes{};
  }
  std::map<Extent, Covered> covered;
  for (const std::string& id : all) {
    const v1::Subject& subject = findings.at(id).subject();
    const Port* const port = FindPort(subject);
    if (port == nullptr) continue;
    for (const Extent& extent : ExtentsOf(subject.node(), *port)) {
      Covered& each = covered[extent];
      ++each.ports.all;
      each.ports.up += port->up ? 1U : 0U;
      each.nodes.insert(subject.node());
    }
  }
  Wholes wholes;
  for (const std::string& id : all) {
    const v1::Subject& subject = findings.at(id).subject();
    const Port* const port = FindPort(subject);
    if (port == nullptr) continue;
    for (const Extent& extent : ExtentsOf(subject.node(), *port)) {
      if (!IsWhole(extent, covered[extent])) continue;
      wholes[extent].push_back(id);
      break;  // The largest
    }
  }
  return wholes;
}

void Grouping::Judge(Bucket& bucket, Findings& findings, std::set<std::string>& changed) const {
  const std::set<std::string> before = std::exchange(bucket.groups, {});
  std::map<std::string, std::string> explained;
  if (!bucket.members.empty()) {
    for (const auto& [extent, ids] : WholesOf(bucket, findings)) {
      v1::Subject whole;
      whole.set_scope(extent.scope);
      whole.set_node(extent.node);
      whole.set_switch_name(extent.switch_name);
      if (extent.scope == v1::SCOPE_RAIL) whole.set_rail(extent.rail);
      std::vector<const v1::Finding*> members;
      for (const std::string& id : ids) members.push_back(&findings.at(id));
      std::sort(members.begin(), members.end(), BySubject);
      v1::Finding group = GroupOf(std::move(whole), members);
      for (const std::string& id : ids) explained[id] = group.id();
      bucket.groups.insert(group.id());
      const auto known = findings.find(group.id());
      const bool same =
          known != findings.end() && known->second.SerializeAsString() == group.SerializeAsString();
      if (same) continue;
      changed.insert(group.id());
      findings.insert_or_assign(group.id(), std::move(group));
    }
  }
  for (const std::string& id : bucket.members) {
    const auto by = explained.find(id);
    Explain(findings.at(id), by == explained.end() ? std::string() : by->second, changed);
  }
  for (const std::string& id : before) {
    if (bucket.groups.contains(id)) continue;
    findings.erase(id);
    changed.insert(id);
  }
}

void Grouping::Update(Findings& findings, std::set<std::string>& changed) {
  std::set<std::string> touched;
  for (const std::string& id : changed) {
    if (const auto old = bucket_of_.find(id); old != bucket_of_.end()) {
      buckets_[old->second].members.erase(id);
      touched.insert(old->second);
      bucket_of_.erase(old);
    }
    const auto found = findings.find(id);
    if (found == findings.end() || found->second.explains_size() > 0) continue;
    std::string alike = Alike(found->second);
    if (alike.empty()) continue;
    buckets_[alike].members.insert(id);
    touched.insert(alike);
    bucket_of_[id] = std::move(alike);
  }
  if (std::exchange(extents_changed_, false))
    for (const auto& [alike, bucket] : buckets_) touched.insert(alike);
  for (const std::string& alike : touched) {
    Bucket& bucket = buckets_.at(alike);
    Judge(bucket, findings, changed);
    if (bucket.members.empty()) buckets_.erase(alike);
  }
}

}  // namespace fabric::rules
