#include "daemon/rules/switches/switches.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// IEEE 802.1AB: 3 is a MAC address, which command lines do not accept.
constexpr std::uint32_t kPortIdIsMac = 3;

// "n1/mlx5_0/1 on swp1"
std::string Named(const Link& link) {
  return Format("{} on {}", PortName(*link.port), SwitchPort(*link.neighbor));
}

std::string Description(const LldpRule& rule, const LldpVerdict& announced) {
  if (announced.verdict == v1::VERDICT_UNKNOWN) return std::string(rule.unknown);
  return Format("{} {}, expected {}", rule.what, rule.show_seen(announced.seen),
                rule.show_expected(announced.expected));
}

v1::Evidence EvidenceOf(const LldpRule& rule, const Link& link) {
  const bool unknown = link.announced.verdict == v1::VERDICT_UNKNOWN;
  return ToEvidence(
      *link.port->node,
      {.what =
           Format("{} of {} {}", rule.what, SwitchName(*link.neighbor), SwitchPort(*link.neighbor)),
       .expected = rule.show_expected(link.announced.expected),
       .seen = unknown ? "not announced" : rule.show_seen(link.announced.seen),
       .source = Format("{} of {}", LldpSource(*link.neighbor), link.port->node->name),
       .basis = "setting of " + PortName(*link.port)});
}

// Links with the same verdict under one subject.
void ReportSame(const LldpRule& rule, const Links& links, v1::Subject subject, std::string where,
                std::string_view key, Verdicts& out) {
  std::vector<v1::Evidence> evidence;
  std::vector<v1::Subject> affected;
  for (const Link& link : links) {
    if (evidence.size() < kEvidenceMax) evidence.push_back(EvidenceOf(rule, link));
    affected.push_back(LinkSubject(*link.port, *link.neighbor));
  }
  const Link& first = links.front();
  std::string title = Format("{}: {}", where, Description(rule, first.announced));
  if (links.size() > 1) {
    std::vector<std::string> names;
    for (const Link& link : links) names.push_back(Named(link));
    title += Format(" ({})", Listed(names));
  }
  if (first.announced.verdict == v1::VERDICT_UNKNOWN) {
    out.Unknown(std::move(subject), std::move(title), std::move(evidence), key);
  } else {
    std::vector<v1::Remedy> remedies = rule.remedies(*first.port, *first.neighbor, first.announced);
    for (v1::Remedy& remedy : remedies) SetHost(first.port->node->name, remedy);
    out.Fail(std::move(subject), std::move(title), std::move(evidence), std::move(remedies), key);
  }
  out.SetAffected(std::move(affected));
}

void ReportSwitch(const LldpRule& rule, const Links& links, Verdicts& out) {
  const v1::LldpNeighbor& neighbor = *links.front().neighbor;
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_SWITCH);
  subject.set_switch_name(SwitchName(neighbor));
  ReportSame(rule, links, std::move(subject),
             Format("switch {}, {} ports", SwitchName(neighbor), links.size()),
             neighbor.chassis_id(), out);
}

void ReportNode(const LldpRule& rule, const Links& links, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(links.front().port->node->name);
  ReportSame(rule, links, std::move(subject), Format("all {} links", links.size()), {}, out);
}

void ReportLink(const LldpRule& rule, const Link& link, Verdicts& out) {
  ReportSame(rule, {link}, LinkSubject(*link.port, *link.neighbor),
             Format("switch port {} {}", SwitchName(*link.neighbor), SwitchPort(*link.neighbor)),
             {}, out);
}

// Key of links that deviate in the same way, by switch or by node.
using DeviationKey = std::tuple<std::string_view, v1::Verdict, std::uint64_t, std::uint64_t>;

DeviationKey OnSwitch(const Link& link) {
  return {link.neighbor->chassis_id(), link.announced.verdict, link.announced.seen,
          link.announced.expected};
}
DeviationKey OnNode(const Link& link) {
  return {link.port->node->name, link.announced.verdict, link.announced.seen,
          link.announced.expected};
}

// Takes groups out of `links` that are at least two links and three fourths of all of their kind.
template <class Counts, class KindOf, class ReportGroup>
void TakeGroups(Links& links, const Counts& judged, KindOf kind, ReportGroup report) {
  std::map<DeviationKey, Links> groups;
  for (const Link& link : links) groups[kind(link)].push_back(link);
  links.clear();
  for (auto& [key, group] : groups) {
    const auto all = judged.find(std::get<0>(key));
    if (group.size() > 1 && all != judged.end() && 4 * group.size() >= 3 * all->second)
      report(group);
    else
      links.insert(links.end(), group.begin(), group.end());
  }
}

}  // namespace

const std::string& SwitchName(const v1::LldpNeighbor& neighbor) {
  return neighbor.system_name().empty() ? neighbor.chassis_id() : neighbor.system_name();
}

const std::string& SwitchPort(const v1::LldpNeighbor& neighbor) {
  const bool mac = neighbor.port_id_subtype() == kPortIdIsMac;
  return mac && !neighbor.port_description().empty() ? neighbor.port_description()
                                                     : neighbor.port_id();
}

v1::Subject LinkSubject(const PortView& port, const v1::LldpNeighbor& neighbor) {
  v1::Subject subject = port.Subject();
  subject.set_scope(v1::SCOPE_LINK);
  subject.set_switch_name(SwitchName(neighbor));
  subject.set_switch_port(SwitchPort(neighbor));
  return subject;
}

namespace {

// Whether the description of the switch names the system. All if there is none.
bool MayRun(const v1::LldpNeighbor& neighbor, std::string_view system) {
  if (neighbor.system_description().empty()) return true;
  return neighbor.system_description().find(system) != std::string::npos;
}

}  // namespace

std::vector<v1::Remedy> SwitchPortRemedies(const v1::LldpNeighbor& neighbor,
                                           const SwitchPortChange& change) {
  constexpr std::string_view kInterrupts = "traffic of the switch port";
  const std::string host = "switch " + SwitchName(neighbor);
  std::vector<v1::Remedy> remedies;
  if (!change.sonic.empty() && MayRun(neighbor, "SONiC"))
    remedies.push_back(Change({.platform = "sonic",
                               .command = change.sonic,
                               .affects = v1::REMEDY_REACH_SWITCH_PORT,
                               .interrupts = kInterrupts,
                               .lasts = UntilReboot("config save"),
                               .undo = change.sonic_undo,
                               .note = change.note,
                               .host = host}));
  if (!change.cumulus.empty() && MayRun(neighbor, "Cumulus"))
    remedies.push_back(Change({.platform = "cumulus",
                               .command = change.cumulus + " && nv config apply",
                               .affects = v1::REMEDY_REACH_SWITCH_PORT,
                               .interrupts = kInterrupts,
                               .lasts = UntilReboot("nv config save"),
                               .undo = change.cumulus_undo,
                               .note = change.note,
                               .host = host}));
  if (remedies.empty())
    remedies.push_back(Advice(Format("On {}, set {}. {}", host, change.what, change.note)));
  return remedies;
}

std::string LldpSource(const v1::LldpNeighbor& neighbor) {
  return "LLDP " + neighbor.netdev();
}

Links LinksOf(const LldpRule& rule, const fleet::NodeView& node) {
  Links links;
  for (const PortView& port : node.ports) {
    if (port.neighbor == nullptr || !CarriesRoce(port)) continue;
    if (const auto announced = rule.judge(port, *port.neighbor))
      links.push_back({&port, port.neighbor, *announced});
  }
  return links;
}

void Report(const LldpRule& rule, Deviations deviations, Verdicts& out) {
  Links& links = deviations.links;
  TakeGroups(links, deviations.of_switch, OnSwitch,
             [&](const Links& group) { ReportSwitch(rule, group, out); });
  TakeGroups(links, deviations.of_node, OnNode,
             [&](const Links& group) { ReportNode(rule, group, out); });
  for (const Link& link : links) ReportLink(rule, link, out);
}

}  // namespace fabric::rules
