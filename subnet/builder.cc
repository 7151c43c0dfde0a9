#include "subnet/builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

bool HasCable(const Node& node) {
  return std::ranges::any_of(node.ports, [](const Port& port) { return port.peer != kNoNode; });
}

}  // namespace

std::uint32_t Builder::NodeOf(NodeType type, std::uint64_t guid) {
  if (const auto at = made_.by_guid_.find(guid); at != made_.by_guid_.end()) {
    Node& known = made_.nodes_[at->second];
    if (known.type == NodeType::kUnknown) known.type = type;
    return at->second;
  }
  if (made_.nodes_.size() >= kNodesMax) return kNoNode;
  const auto index = static_cast<std::uint32_t>(made_.nodes_.size());
  made_.by_guid_.emplace(guid, index);
  Node node;
  node.guid = guid;
  node.type = type;
  made_.nodes_.push_back(std::move(node));
  return index;
}

Port* Builder::PortOf(End end) {
  if (end.node >= made_.nodes_.size() || end.port > kPortsMax) return nullptr;
  std::vector<Port>& ports = made_.nodes_[end.node].ports;
  if (end.port >= ports.size()) {
    const std::size_t more = end.port + 1 - ports.size();
    if (ports_ + more > kPortsInAllMax) return nullptr;
    ports_ += more;
    ports.resize(end.port + 1);
  }
  return &ports[end.port];
}

void Builder::AddCable(End from, End to) {
  if (PortOf(to) == nullptr) return;
  Port* const port = PortOf(from);
  if (port == nullptr) return;
  if (port->listed && port->Peer() != to) {
    made_.contradictions_.push_back({.from = from, .to = to, .instead = port->Peer()});
    return;
  }
  port->listed = true;
  port->peer = to.node;
  port->peer_port = static_cast<std::uint8_t>(to.port);
}

void Builder::BeginTable(std::uint32_t node, const TableSource& source) {
  Node& made = made_.nodes_[node];
  if (!made.routes.empty()) {
    EarlierTable& earlier = earlier_.emplace_back();
    earlier.node = node;
    earlier.source = table_sources_[node];
    earlier.table.routes = std::exchange(made.routes, {});
    earlier.table.routes_complete = std::exchange(made.routes_complete, false);
  }
  table_sources_[node] = source;
}

bool Builder::AddRoute(std::uint32_t node, std::uint32_t lid, std::uint8_t port) {
  std::vector<std::uint8_t>& routes = made_.nodes_[node].routes;
  if (lid >= routes.size()) {
    const std::size_t size = (lid / kLidsOfBlock + 1) * kLidsOfBlock;
    if (route_bytes_ + size - routes.size() > kRouteBytesMax) return false;
    route_bytes_ += size - routes.size();
    routes.resize(size, kUnknownRoute);
  }
  routes[lid] = port;
  return true;
}

void Builder::CompleteRoutes(std::uint32_t node) {
  made_.nodes_[node].routes_complete = true;
  std::ranges::replace(made_.nodes_[node].routes, kUnknownRoute, kNoRoute);
}

void Builder::CompleteRoutes(std::uint32_t node, std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t lid = first; lid <= last; ++lid)
    if (made_.nodes_[node].RouteTo(lid) == kUnknownRoute && !AddRoute(node, lid, kNoRoute)) return;
}

void Builder::ForgetRoutes(std::uint64_t guid, std::uint32_t first, std::uint32_t last) {
  if (unread_.size() < kNodesMax) unread_.push_back({.guid = guid, .first = first, .last = last});
}

void Builder::ForgetUnread() {
  for (const Unread& unread : unread_) {
    const auto at = made_.by_guid_.find(unread.guid);
    if (at == made_.by_guid_.end()) continue;
    std::vector<std::uint8_t>& routes = made_.nodes_[at->second].routes;
    for (std::uint32_t lid = unread.first; lid <= unread.last && lid < routes.size(); ++lid)
      routes[lid] = kUnknownRoute;
  }
}

// A file that is cut, or has bad lines, can lack the cable of a port that packets leave by.
void Builder::ForgetRoutesToUnknownCables() {
  for (Node& node : made_.nodes_) {
    if (node.listed && !node.can_lack_cables) continue;
    for (std::uint8_t& port : node.routes)
      if (port != 0 && port < kUnknownRoute &&
          (port >= node.ports.size() || node.ports[port].peer == kNoNode))
        port = kUnknownRoute;
  }
}

PortDetails* Builder::DetailsOf(End end) {
  Port* const port = PortOf(end);
  if (port == nullptr) return nullptr;
  if (port->details == Port::kNoDetails) {
    port->details = static_cast<std::uint32_t>(made_.details_.size());
    made_.details_.emplace_back();
  }
  return &made_.details_[port->details];
}

void Builder::AddManager(const Manager& manager) {
  for (Manager& known : made_.managers_)
    if (known.port_guid == manager.port_guid) {
      known = manager;
      return;
    }
  made_.managers_.push_back(manager);
}

// Both ends that list a cable must agree.
void Builder::CompareEnds(End from) {
  const Port& port = made_.port(from);
  if (!port.listed) return;
  const Port& far = made_.port(port.Peer());
  if (far.listed && far.Peer() != from)
    made_.contradictions_.push_back({.from = from, .to = port.Peer(), .instead = far.Peer()});
}

// The far end that no source lists gets its cable from this end.
void Builder::AdoptEnds(End from) {
  const Port& port = made_.port(from);
  if (!port.listed) return;
  const End to = port.Peer();
  Port& far = made_.nodes_[to.node].ports[to.port];
  if (far.listed) return;
  if (far.peer != kNoNode) {
    if (far.Peer() != from)
      made_.contradictions_.push_back({.from = from, .to = to, .instead = far.Peer()});
    return;
  }
  far.peer = from.node;
  far.peer_port = static_cast<std::uint8_t>(from.port);
  if (made_.nodes_[to.node].listed) made_.one_sided_.push_back({.from = from, .to = to});
}

void Builder::SetName(std::uint64_t guid, std::string_view name) {
  if (names_.size() < kNodesMax) names_.emplace_back(guid, name);
}

void Builder::SetNames() {
  for (const auto& [guid, name] : names_)
    if (const auto at = made_.by_guid_.find(guid); at != made_.by_guid_.end())
      made_.nodes_[at->second].description = name;
}

void Builder::FindSharedNames() {
  std::unordered_map<std::string, Node*> by_name;
  for (Node& node : made_.nodes_) {
    const auto [at, first] = by_name.emplace(BaseName(node), &node);
    if (!first) node.shares_name = at->second->shares_name = true;
  }
}

// Tables of two times are not mixed: all of a source whose tables another source changes.
void Builder::DropEarlierTables() {
  const auto differ = [](const Node& a, const Node& b) {
    const std::size_t lids = std::max(a.routes.size(), b.routes.size());
    for (std::uint32_t lid = 1; lid < lids; ++lid)
      if (a.RouteTo(lid) != b.RouteTo(lid) && a.RouteTo(lid) != kUnknownRoute &&
          b.RouteTo(lid) != kUnknownRoute)
        return true;
    return false;
  };
  std::map<TableSource, TableSource> replaced;  // By the later ones
  for (const EarlierTable& earlier : earlier_)
    if (differ(earlier.table, made_.nodes_[earlier.node]))
      replaced.emplace(earlier.source, table_sources_[earlier.node]);
  earlier_.clear();
  const bool all = !doubt_.reason.empty() && (doubt_.of_several || replaced.empty());
  bool dropped = false;
  for (const auto& [node, source] : table_sources_)
    if (all || replaced.contains(source)) {
      made_.nodes_[node].routes = {};
      made_.nodes_[node].routes_complete = false;
      dropped = true;
    }
  if (all && dropped) return AddProblem({"forwarding tables", 0, doubt_.reason});
  for (const auto& [source, later] : replaced)
    AddProblem({source.file, source.line,
                Format("expected tables of one time, saw other tables of the same switches in {}: "
                       "used those, because they are the last ones",
                       later.line == 0 ? later.file : Format("{}:{}", later.file, later.line))});
}

// A table of a switch that no cable reaches is of another subnet, or of a damaged GUID.
void Builder::DropLooseTables() {
  std::vector<std::string> dropped;
  for (Node& node : made_.nodes_) {
    if (node.routes.empty() || HasCable(node)) continue;
    node.routes.clear();
    node.routes.shrink_to_fit();
    node.routes_complete = false;
    dropped.push_back(GuidText(node.guid));
  }
  if (!dropped.empty())
    AddProblem({"forwarding tables", 0,
                Format("expected tables of switches with cables, saw tables of {}: not used",
                       ListSome(dropped, 3))});
}

Subnet Builder::Finish() {
  for (std::uint32_t node = 0; node < made_.nodes_.size(); ++node)
    for (std::uint32_t port = 1; port < made_.nodes_[node].ports.size(); ++port)
      CompareEnds({node, port});
  for (std::uint32_t node = 0; node < made_.nodes_.size(); ++node)
    for (std::uint32_t port = 1; port < made_.nodes_[node].ports.size(); ++port)
      AdoptEnds({node, port});
  DropEarlierTables();
  ForgetUnread();
  if (std::ranges::any_of(made_.nodes_, HasCable)) {
    DropLooseTables();
    ForgetRoutesToUnknownCables();
  }
  SetNames();
  FindSharedNames();
  made_.problems_.Sort();
  return std::move(made_);
}

}  // namespace fabric::subnet
