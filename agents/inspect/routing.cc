#include <algorithm>
#include <map>
#include <tuple>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/route_texts.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRoutingName = "routing";
constexpr std::size_t kEntriesMax = 1024;  // Of each list

// What a source has. Absent: it could not be read.
struct Tables {
  std::optional<std::vector<v1::IpRoute>> routes;
  std::optional<std::vector<v1::IpRule>> rules;
  std::optional<std::vector<v1::IpNeighbor>> neighbors;
  std::string source;
};

using NetdevNames = std::map<std::uint32_t, std::string>;  // By index

v1::IpRoute ToRoute(const host::RouteInfo& info, const NetdevNames& names) {
  v1::IpRoute route;
  route.set_destination(info.destination);
  if (info.netdev_index) {
    const auto found = names.find(*info.netdev_index);
    route.set_netdev(found == names.end() ? Format("#{}", *info.netdev_index) : found->second);
  }
  if (info.gateway) route.set_gateway(*info.gateway);
  route.set_table(info.table);
  if (info.metric) route.set_metric(*info.metric);
  if (info.source) route.set_source(*info.source);
  if (info.mtu_bytes) route.set_mtu_bytes(*info.mtu_bytes);
  if (info.hop_limit) route.set_hop_limit(*info.hop_limit);
  route.set_type(info.type);
  if (!info.scope.empty()) route.set_scope(info.scope);
  return route;
}

v1::IpRule ToRule(const host::RuleInfo& info) {
  v1::IpRule rule;
  rule.set_priority(info.priority);
  rule.set_from(info.from);
  rule.set_to(info.to);
  if (info.table) rule.set_table(*info.table);
  rule.set_input_netdev(info.input_netdev);
  rule.set_output_netdev(info.output_netdev);
  if (info.mark) rule.set_mark(*info.mark);
  rule.set_ipv6(info.ipv6);
  rule.set_action(info.action);
  return rule;
}

v1::NeighborState ToState(host::NeighborKind kind) {
  switch (kind) {
    case host::NeighborKind::kResolved: return v1::NEIGHBOR_STATE_RESOLVED;
    case host::NeighborKind::kFailed: return v1::NEIGHBOR_STATE_FAILED;
    case host::NeighborKind::kPermanent: return v1::NEIGHBOR_STATE_PERMANENT;
    case host::NeighborKind::kNoArp: return v1::NEIGHBOR_STATE_NOARP;
  }
  return v1::NEIGHBOR_STATE_UNSPECIFIED;
}

std::vector<v1::IpNeighbor> ToNeighbors(const std::vector<host::NeighborInfo>& infos,
                                        const NetdevNames& names) {
  std::vector<v1::IpNeighbor> neighbors;
  for (const host::NeighborInfo& info : infos) {
    const auto netdev = names.find(info.netdev_index);
    if (netdev == names.end()) continue;
    v1::IpNeighbor& neighbor = neighbors.emplace_back();
    neighbor.set_address(info.address);
    neighbor.set_netdev(netdev->second);
    if (!info.mac.empty()) neighbor.set_mac(info.mac);
    neighbor.set_state(ToState(info.kind));
  }
  return neighbors;
}

Tables FromNetlink(const Host& host, const v1::NodeSnapshot& out, const Gaps& gaps) {
  NetdevNames names;
  for (const v1::NetInterface& netdev : out.net_interfaces())
    if (netdev.has_index()) names[netdev.index()] = netdev.name();
  Tables tables{.source = "netlink"};
  if (const auto routes = host.addresses.Routes(); routes.ok()) {
    tables.routes.emplace();
    for (const host::RouteInfo& info : *routes)
      if (!IsLocalDestination(info.destination)) tables.routes->push_back(ToRoute(info, names));
  } else {
    gaps.Add("netlink routes", routes.status());
  }
  if (const auto rules = host.addresses.Rules(); rules.ok()) {
    tables.rules.emplace();
    for (const host::RuleInfo& info : *rules) tables.rules->push_back(ToRule(info));
  } else {
    gaps.Add("netlink rules", rules.status());
  }
  if (const auto neighbors = host.addresses.Neighbors(); neighbors.ok())
    tables.neighbors = ToNeighbors(*neighbors, names);
  else
    gaps.Add("netlink neighbors", neighbors.status());
  return tables;
}

// Output of a command in a captured tree: its words joined by "_", as sosreport names it.
std::optional<std::string> Output(const Host& host, const std::string& command) {
  for (const std::string directory : {"sos_commands/networking/", ""})
    if (Result<std::string> text = host.root.Whole(directory + command); text.ok())
      return *std::move(text);
  return std::nullopt;
}

template <class T>
void Append(std::optional<std::vector<T>>& list, std::vector<T> more) {
  if (!list) list.emplace();
  list->insert(list->end(), more.begin(), more.end());
}

Tables FromCommands(const Host& host) {
  Tables tables{.source = "ip"};
  const auto text = host.root.Whole("etc/iproute2/rt_tables");
  const TableNames names = ParseTableNames(text.ok() ? *text : std::string());
  if (const auto routes = Output(host, "ip_route_show_table_all"))
    Append(tables.routes, ParseIpRoutes(*routes, false, names));
  if (const auto routes = Output(host, "ip_-6_route_show_table_all"))
    Append(tables.routes, ParseIpRoutes(*routes, true, names));
  if (const auto rules = Output(host, "ip_-4_rule_list"))
    Append(tables.rules, ParseIpRules(*rules, false, names));
  if (const auto rules = Output(host, "ip_-6_rule_list"))
    Append(tables.rules, ParseIpRules(*rules, true, names));
  if (const auto neighbors = Output(host, "ip_neigh_show"))
    Append(tables.neighbors, ParseIpNeighbors(*neighbors));
  return tables;
}

// The kernel's own files lack rules and the tables that those choose.
void FromProc(const Host& host, Tables& tables) {
  if (!tables.routes) {
    if (const auto text = host.root.Whole("proc/net/route"); text.ok())
      Append(tables.routes, ParseProcRoutes(*text));
    if (const auto text = host.root.Whole("proc/net/ipv6_route"); text.ok())
      Append(tables.routes, ParseProcRoutes6(*text));
    if (tables.routes) tables.source = "proc";
  }
  if (tables.neighbors) return;
  if (const auto text = host.root.Whole("proc/net/arp"); text.ok())
    Append(tables.neighbors, ParseProcArp(*text));
}

// Netdevs of containers are not in the snapshot, and there are thousands of routes to them.
bool IsKept(const v1::NodeSnapshot& out, const v1::IpRoute& route) {
  return !route.type().empty() || route.destination().ends_with("/0") ||
         FindNetdev(out, route.netdev()) != nullptr;
}

template <class T, class Key>
void SortAndCut(google::protobuf::RepeatedPtrField<T>& list, v1::Routing& routing, Key key) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const T& a, const T& b) { return key(a) < key(b); });
  if (list.size() <= static_cast<int>(kEntriesMax)) return;
  list.DeleteSubrange(kEntriesMax, list.size() - static_cast<int>(kEntriesMax));
  routing.set_limited(true);
}

void Store(Tables tables, v1::NodeSnapshot& out) {
  v1::Routing& routing = *out.mutable_routing();
  routing.set_source(tables.source);
  routing.set_routes_known(tables.routes.has_value());
  routing.set_rules_known(tables.rules.has_value());
  routing.set_neighbors_known(tables.neighbors.has_value());
  if (tables.routes)
    for (v1::IpRoute& route : *tables.routes)
      if (IsKept(out, route)) out.add_ip_routes()->Swap(&route);
  if (tables.rules)
    for (v1::IpRule& rule : *tables.rules) out.add_ip_rules()->Swap(&rule);
  if (tables.neighbors)
    for (v1::IpNeighbor& neighbor : *tables.neighbors)
      if (CarriesRdma(out, neighbor.netdev()) && !IsLocalDestination(neighbor.address()))
        out.add_ip_neighbors()->Swap(&neighbor);
  SortAndCut(*out.mutable_ip_routes(), routing, [](const v1::IpRoute& route) {
    return std::tuple(route.destination(), route.table(), route.netdev(), route.metric(),
                      route.gateway());
  });
  SortAndCut(*out.mutable_ip_rules(), routing, [](const v1::IpRule& rule) {
    return std::tuple(rule.ipv6(), rule.priority(), rule.from(), rule.to());
  });
  SortAndCut(*out.mutable_ip_neighbors(), routing, [](const v1::IpNeighbor& neighbor) {
    return std::tuple(neighbor.netdev(), neighbor.address());
  });
}

Status InspectRouting(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kRoutingName, .subject = ""};
  Tables tables = host.captured ? FromCommands(host) : FromNetlink(host, out, gaps);
  if (host.captured) {
    FromProc(host, tables);
    if (!tables.routes) {
      gaps.Add("proc/net/route", Status(Code::kNotFound, "not in the captured tree"));
      return {};
    }
  }
  Store(std::move(tables), out);
  return {};
}

}  // namespace

extern const Inspector routing = {
    .name = kRoutingName,
    .doc = "IP routes, policy rules, and neighbors of RDMA netdevs.",
    .inspect = InspectRouting,
};

}  // namespace fabric::inspect
