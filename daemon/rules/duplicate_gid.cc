#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Holder {
  const PortView* port = nullptr;
  const v1::Gid* gid = nullptr;
};

// Every GID that must be unique, with those that have it: the first one, and all when there are
// more.
struct Index {
  std::unordered_map<std::string_view, Holder> first;
  std::map<std::string_view, std::vector<Holder>> repeated;
};

std::string_view NetdevOf(const Holder& holder) {
  return holder.gid->has_netdev() ? holder.gid->netdev() : holder.port->port->netdev();
}

// One address that shows on several devices of a node: those of a bond, or two software devices
// over one netdev.
bool IsOneAddress(const Holder& a, const Holder& b) {
  return a.port == b.port ||
         (a.port->node == b.port->node && !NetdevOf(a).empty() && NetdevOf(a) == NetdevOf(b));
}

// Link-local ones are made from the MAC and reach no further than the link.
bool MustBeUnique(const v1::Gid& gid) {
  return !gid.link_local() && !gid.gid().empty();
}

void Enter(const Holder& holder, Index& index) {
  const std::string_view gid = holder.gid->gid();
  const auto [at, added] = index.first.try_emplace(gid, holder);
  if (added || IsOneAddress(at->second, holder)) return;
  std::vector<Holder>& holders = index.repeated[gid];
  if (holders.empty()) holders.push_back(at->second);
  const bool known = std::any_of(holders.begin(), holders.end(),
                                 [&](const Holder& h) { return IsOneAddress(h, holder); });
  if (!known) holders.push_back(holder);
}

std::string Show(const v1::Gid& gid) {
  return gid.ipv4().empty() ? gid.gid() : gid.ipv4();
}

v1::Evidence EvidenceOf(const Holder& holder) {
  const std::uint32_t index = holder.gid->index();
  return ToEvidence(*holder.port->node,
                    {.what = Format("GID {} of {}", index, PortName(*holder.port)),
                     .expected = "on no other port",
                     .seen = Show(*holder.gid),
                     .source = PortFile(*holder.port, Format("gids/{}", index)),
                     .basis = "rule"});
}

// `gids`: all that the same ports have, sorted.
void Fail(const std::vector<const std::vector<Holder>*>& gids, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_FLEET);
  std::vector<std::string> shown;
  for (const std::vector<Holder>* holders : gids) shown.push_back(Show(*holders->front().gid));
  std::vector<std::string> ports;
  std::vector<v1::Evidence> evidence;
  for (const Holder& holder : *gids[0]) {
    ports.push_back(PortName(*holder.port));
    if (evidence.size() < kListedMax) evidence.push_back(EvidenceOf(holder));
  }
  out.Fail(
      std::move(subject),
      Format("GID {} is on {} ports, expected on one: {}", Listed(shown), ports.size(),
             Listed(ports)),
      std::move(evidence),
      {ToRemedy({.command = Format("ip address del {} dev {}", shown[0], NetdevOf(gids[0]->back())),
                 .interrupts_traffic = true,
                 .note = "On the one that should not have it; then give it its own."})},
      gids[0]->front().gid->gid());
}

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  Index index;
  for (const fleet::NodeView& node : fleet.nodes()) {
    for (const PortView& port : node.ports) {
      if (!IsUp(port)) continue;
      for (const v1::Gid& gid : port.port->gids())
        if (MustBeUnique(gid)) Enter({.port = &port, .gid = &gid}, index);
    }
  }
  // A port with two addresses of another one is one fault.
  std::map<std::vector<const PortView*>, std::vector<const std::vector<Holder>*>> by_ports;
  std::vector<const std::vector<const PortView*>*> order;  // By GID: addresses of memory are none.
  for (const auto& [gid, holders] : index.repeated) {
    std::vector<const PortView*> ports;
    for (const Holder& holder : holders) ports.push_back(holder.port);
    const auto [at, added] = by_ports.try_emplace(std::move(ports));
    if (added) order.push_back(&at->first);
    at->second.push_back(&holders);
  }
  for (const auto* ports : order) Fail(by_ports[*ports], out);
  for (std::size_t i = index.repeated.size(); i < index.first.size(); ++i) out.Pass();
}

}  // namespace

extern const Rule duplicate_gid = {
    .id = "duplicate_gid",
    .title = "No GID but link-local ones is on two ports of the fleet",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Two ports with one address: connections are reset, or reach the wrong node, depending "
        "on which of them answered last. It comes from cloned images and from typing errors.",
    .source = "InfiniBand specification, GID; RFC 5227 on duplicate IPv4 addresses",
    .family = "addresses",
    .needs = "gids",
    .fix = "ip address del ADDRESS dev NETDEV, on the one that should not have it",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
