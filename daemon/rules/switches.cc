#include "daemon/rules/switches.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/lossless.h"
#include "daemon/rules/product.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// IEEE 802.1AB: 3 is a MAC address, which no command line takes.
constexpr std::uint32_t kPortIdIsMac = 3;

struct Link {
  const PortView* port = nullptr;
  const v1::LldpNeighbor* neighbor = nullptr;
  Announced announced;
};
using Links = std::vector<Link>;

// "n1/mlx5_0/1 on swp1"
std::string Named(const Link& link) {
  return Format("{} on {}", PortName(*link.port), SwitchPort(*link.neighbor));
}

const v1::LldpNeighbor* HeardOn(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  const v1::LldpNeighbor* found = nullptr;
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors()) {
    if (neighbor.netdev() != netdev) continue;
    if (found != nullptr) return nullptr;
    found = &neighbor;
  }
  return found;
}

std::string Said(const Announcement& announcement, const Announced& announced) {
  if (announced.verdict == v1::VERDICT_UNKNOWN) return std::string(announcement.unknown);
  return Format("{} {}, expected {}", announcement.what, announcement.show_seen(announced.seen),
                announcement.show_expected(announced.expected));
}

v1::Evidence EvidenceOf(const Announcement& announcement, const Link& link) {
  const bool unknown = link.announced.verdict == v1::VERDICT_UNKNOWN;
  return ToEvidence(
      *link.port->node,
      {.what = Format("{} of {} {}", announcement.what, SwitchName(*link.neighbor),
                      SwitchPort(*link.neighbor)),
       .expected = announcement.show_expected(link.announced.expected),
       .seen = unknown ? "not announced" : announcement.show_seen(link.announced.seen),
       .source = Format("{} of {}", LldpSource(*link.neighbor), link.port->node->name),
       .basis = "what " + PortName(*link.port) + " has"});
}

// Links with one verdict under one subject.
void Report(const Announcement& announcement, const Links& links, v1::Subject subject,
            std::string where, std::string_view key, Verdicts& out) {
  std::vector<v1::Evidence> evidence;
  for (const Link& link : links)
    if (evidence.size() < kListedMax) evidence.push_back(EvidenceOf(announcement, link));
  const Link& first = links.front();
  std::string title = Format("{}: {}", where, Said(announcement, first.announced));
  if (links.size() > 1) {
    std::vector<std::string> names;
    for (const Link& link : links) names.push_back(Named(link));
    title += Format(" ({})", Listed(names));
  }
  if (first.announced.verdict == v1::VERDICT_UNKNOWN)
    return out.Unknown(std::move(subject), std::move(title), std::move(evidence), key);
  out.Fail(std::move(subject), std::move(title), std::move(evidence),
           announcement.remedies(*first.port, *first.neighbor, first.announced), key);
}

void ReportSwitch(const Announcement& announcement, const Links& links, Verdicts& out) {
  const v1::LldpNeighbor& neighbor = *links.front().neighbor;
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_SWITCH);
  subject.set_switch_name(SwitchName(neighbor));
  Report(announcement, links, std::move(subject),
         Format("switch {}, {} ports", SwitchName(neighbor), links.size()), neighbor.chassis_id(),
         out);
}

void ReportNode(const Announcement& announcement, const Links& links, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(links.front().port->node->name);
  Report(announcement, links, std::move(subject), Format("all {} links", links.size()), {}, out);
}

void ReportLink(const Announcement& announcement, const Link& link, Verdicts& out) {
  Report(announcement, {link}, LinkSubject(*link.port, *link.neighbor),
         Format("switch port {} {}", SwitchName(*link.neighbor), SwitchPort(*link.neighbor)), {},
         out);
}

// What deviates alike, by switch or by node.
using Alike = std::tuple<std::string_view, v1::Verdict, std::uint64_t, std::uint64_t>;

Alike OnSwitch(const Link& link) {
  return {link.neighbor->chassis_id(), link.announced.verdict, link.announced.seen,
          link.announced.expected};
}
Alike OnNode(const Link& link) {
  return {link.port->node->name, link.announced.verdict, link.announced.seen,
          link.announced.expected};
}

// Takes groups that are at least two links and three fourths of all of their kind out of `links`.
template <class Counts, class KindOf, class ReportGroup>
void TakeGroups(Links& links, const Counts& judged, KindOf kind, ReportGroup report) {
  std::map<Alike, Links> groups;
  for (const Link& link : links) groups[kind(link)].push_back(link);
  links.clear();
  for (auto& [alike, group] : groups) {
    const auto all = judged.find(std::get<0>(alike));
    if (group.size() > 1 && all != judged.end() && 4 * group.size() >= 3 * all->second)
      report(group);
    else
      links.insert(links.end(), group.begin(), group.end());
  }
}

// Ports whose value is not that of their rail; found when first asked.
class OddPorts {
 public:
  OddPorts(PortValue value, const fleet::FleetView& fleet) : value_(value), fleet_(fleet) {}

  bool Contain(const PortView& port) {
    const auto own = value_ == nullptr ? std::nullopt : value_(port);
    if (!own || !port.rail) return false;
    if (camps_.empty())
      for (const std::vector<PortView>& rail : fleet_.rails()) camps_.emplace_back(rail, value_);
    return camps_[port.rail->value()].Deviates(*own);
  }

 private:
  const PortValue value_;
  const fleet::FleetView& fleet_;
  std::vector<Camps> camps_;
};

// Calls `take` for each link that is judged.
template <class Take>
void ForLinks(const Announcement& announcement, const fleet::FleetView& fleet, OddPorts& odd,
              Take take) {
  for (const fleet::NodeView& node : fleet.nodes()) {
    if (node.node->snapshot.lldp_neighbors().empty()) continue;
    for (const PortView& port : node.ports) {
      if (!CarriesRoce(port)) continue;
      const v1::LldpNeighbor* const neighbor = NeighborOf(port);
      if (neighbor == nullptr) continue;
      const auto announced = announcement.judge(port, *neighbor);
      if (!announced) continue;
      const bool passes = announced->verdict == v1::VERDICT_PASS;
      if (passes || !odd.Contain(port)) take(Link{&port, neighbor, *announced});
    }
  }
}

}  // namespace

const v1::LldpNeighbor* NeighborOf(const PortView& port) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  if (snapshot.lldp_neighbors().empty() || port.netdev == nullptr) return nullptr;
  if (const v1::LldpNeighbor* const own = HeardOn(snapshot, port.netdev->name())) return own;
  for (const std::string& member : port.netdev->bond().members())
    if (const v1::LldpNeighbor* const heard = HeardOn(snapshot, member)) return heard;
  return nullptr;
}

std::string SwitchName(const v1::LldpNeighbor& neighbor) {
  return neighbor.system_name().empty() ? neighbor.chassis_id() : neighbor.system_name();
}

std::string SwitchPort(const v1::LldpNeighbor& neighbor) {
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

std::string LldpSource(const v1::LldpNeighbor& neighbor) {
  return "LLDP " + neighbor.netdev();
}

void Judge(const Announcement& announcement, const fleet::FleetView& fleet, Verdicts& out) {
  OddPorts odd(announcement.agreed, fleet);
  Links links;  // That deviate
  ForLinks(announcement, fleet, odd, [&](const Link& link) {
    if (link.announced.verdict == v1::VERDICT_PASS)
      out.Pass();
    else
      links.push_back(link);
  });
  if (links.empty()) return;
  std::map<std::string_view, std::size_t> of_switch;
  std::map<std::string_view, std::size_t> of_node;
  ForLinks(announcement, fleet, odd, [&](const Link& link) {
    ++of_switch[link.neighbor->chassis_id()];
    ++of_node[link.port->node->name];
  });
  TakeGroups(links, of_switch, OnSwitch,
             [&](const Links& group) { ReportSwitch(announcement, group, out); });
  TakeGroups(links, of_node, OnNode,
             [&](const Links& group) { ReportNode(announcement, group, out); });
  for (const Link& link : links) ReportLink(announcement, link, out);
}

std::uint64_t ReadsOf(const Announcement& announcement, const fleet::NodeView& node) {
  if (node.node->snapshot.lldp_neighbors().empty()) return 0;
  Mix mix;
  for (const PortView& port : node.ports) {
    if (announcement.agreed != nullptr && port.rail)
      mix.Add(announcement.agreed(port).value_or(~0U));
    if (!CarriesRoce(port)) continue;
    const v1::LldpNeighbor* const neighbor = NeighborOf(port);
    if (neighbor == nullptr) continue;
    const auto announced = announcement.judge(port, *neighbor);
    if (!announced) continue;
    mix.Add(PortName(port)).Add(port.port->netdev()).Add(port.rail ? port.rail->value() + 1U : 0U);
    mix.Add(neighbor->chassis_id()).Add(SwitchName(*neighbor)).Add(SwitchPort(*neighbor));
    mix.Add(static_cast<std::uint64_t>(announced->verdict));
    mix.Add(announced->seen).Add(announced->expected);
  }
  return mix.value();
}

}  // namespace fabric::rules
