// Refresh: reads what can have changed since an earlier reading. A subnet manager clears the bit
// PortStateChange within seconds, so PortInfo shows whether a link changed. A cable that moved
// between two readings while both PortInfo stayed the same shows by LinkDownedCounter, by the LID
// of an adapter, or when its turn comes.
#include <algorithm>
#include <deque>
#include <utility>

#include "agents/subnet/reader.h"

namespace fabric::agent {
namespace {

using subnet::Attribute;
using subnet::End;
using subnet::PortInfo;

std::optional<PortInfo> InfoOf(const v1::SubnetPort& port) {
  return subnet::ReadPortInfo(subnet::BytesOf(port.port_info()));
}

// Nothing if a value is unknown, or the device counts with another width now.
std::optional<bool> WentDown(const v1::SubnetPort& before, const v1::SubnetPort& now) {
  const auto downed = [](const v1::SubnetCounters& counters) -> std::optional<std::uint64_t> {
    const auto values = subnet::ReadCounters(subnet::BytesOf(counters.port_counters()),
                                             subnet::BytesOf(counters.wide_counters()));
    if (!values) return std::nullopt;
    return (*values)[static_cast<std::size_t>(subnet::Counter::kLinkDowned)];
  };
  if (!before.has_counters() || !now.has_counters() ||
      before.counters().wide_counters().empty() != now.counters().wide_counters().empty())
    return std::nullopt;
  const auto one = downed(before.counters());
  const auto other = downed(now.counters());
  if (!one || !other) return std::nullopt;
  return *one != *other;
}

// Ports by their number, as the reader keeps them.
void SpreadPorts(v1::SubnetNode& node) {
  std::uint32_t last = 0;
  for (const v1::SubnetPort& port : node.ports()) last = std::max(last, port.number());
  google::protobuf::RepeatedPtrField<v1::SubnetPort> ports;
  for (std::uint32_t number = 0; number <= last && node.ports_size() > 0; ++number)
    ports.Add()->set_number(number);
  for (v1::SubnetPort& port : *node.mutable_ports())
    ports.Mutable(static_cast<int>(port.number()))->Swap(&port);
  node.mutable_ports()->Swap(&ports);
}

}  // namespace

void SubnetReader::Resume(const EarlierReading& earlier) {
  made_ = earlier.snapshot;
  made_.clear_mads();
  made_.clear_lost();
  made_.clear_vl15_dropped();
  made_.clear_not_covered();
  made_.clear_changed();
  made_.clear_managers();
  made_.clear_contradictions();
  made_.clear_silent();
  known_before_ = static_cast<std::uint32_t>(made_.nodes_size());
  known_.resize(known_before_);
  gone_.assign(known_before_, false);
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(n));
    by_guid_.emplace(node.guid(), n);
    ports_ += node.port_count() + 1U;
    if (const auto facts = earlier.facts.find(node.guid()); facts != earlier.facts.end())
      known_[n].facts = facts->second;
    SpreadPorts(node);
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      port.clear_counters();
      port.clear_first_counters();
    }
    if (!IsSwitch(node) || node.ports().empty()) continue;
    if (const auto info = InfoOf(node.ports(0))) known_[n].lid = info->lid;
  }
  own_guid_ = earlier.own_guid;
  own_port_ = earlier.own_port;
  if (const auto own = by_guid_.find(own_guid_); own != by_guid_.end()) own_node_ = own->second;
}

// The shortest directed route to each port, over the cables that are known.
void SubnetReader::FindRoutes() {
  std::vector<bool> reached(known_.size(), false);
  for (Known& known : known_) {
    known.route.clear();
    known.routes.clear();
  }
  std::deque<std::uint32_t> next{own_node_};
  reached[own_node_] = true;
  if (own_port_ != 0) known_[own_node_].routes[own_port_] = {};
  for (; !next.empty(); next.pop_front()) {
    const v1::SubnetNode& node = made_.nodes(static_cast<int>(next.front()));
    for (const v1::SubnetPort& port : node.ports()) {
      // An adapter sends, but does not forward.
      if (port.peer() == 0 || (!IsSwitch(node) && port.number() != own_port_)) continue;
      Route route = known_[next.front()].route;
      route.push_back(static_cast<std::uint8_t>(port.number()));
      const std::uint32_t peer = port.peer() - 1;
      const bool is_switch = IsSwitch(made_.nodes(static_cast<int>(peer)));
      if (!is_switch) known_[peer].routes.emplace(port.peer_port(), route);
      if (reached[peer]) continue;
      reached[peer] = true;
      known_[peer].route = std::move(route);
      if (is_switch) next.push_back(peer);
    }
  }
  for (std::uint32_t n = 0; n < known_before_; ++n) gone_[n] = !reached[n];
}

bool SubnetReader::HasChangedBit(std::uint32_t node) const {
  const auto info =
      subnet::ReadSwitchInfo(subnet::BytesOf(made_.nodes(static_cast<int>(node)).switch_info()));
  return info && info->state_changed;
}

// Whether the other end of a cable between switches is the one whose PortInfo is read this time.
bool SubnetReader::IsOtherEnd(End end, std::uint32_t number) const {
  const v1::SubnetPort& port =
      made_.nodes(static_cast<int>(end.node)).ports(static_cast<int>(end.port));
  if (port.peer() == 0 || port.port_info().empty()) return false;
  const v1::SubnetNode& peer = made_.nodes(static_cast<int>(port.peer()) - 1);
  if (!IsSwitch(peer) || port.peer_port() >= static_cast<std::uint32_t>(peer.ports_size()) ||
      peer.ports(static_cast<int>(port.peer_port())).peer() != end.node + 1)
    return false;
  const bool first = std::pair(end.node, end.port) < std::pair(port.peer() - 1, port.peer_port());
  return first == (number % 2 == 0);
}

void SubnetReader::AskPort(End end) {
  if (asked_.insert(KeyOf(end)).second)
    Ask({.attribute = Attribute::kPortInfo, .modifier = end.port, .at = end});
}

void SubnetReader::AskBeyond(End end) {
  const Order order{.attribute = Attribute::kNodeInfo, .at = end, .beyond = true};
  if (RouteOf(order).size() <= subnet::kHopsMax && identified_.insert(KeyOf(end)).second)
    Ask(order);
}

bool SubnetReader::Contradicts(const Order& order) {
  if (again_ || order.at.node == subnet::kNoNode || !WasKnown(order.at.node)) return false;
  if (order.beyond) return HasCable(order.at);
  if (order.attribute == Attribute::kPortInfo) return !PortAt(order.at).port_info().empty();
  return order.mad_class == subnet::MadClass::kDirectedSubnet &&
         order.attribute == Attribute::kSwitchInfo &&
         !made_.nodes(static_cast<int>(order.at.node)).switch_info().empty();
}

void SubnetReader::CompareWithKnown(const subnet::NodeInfo& info, std::uint32_t index) {
  v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(index));
  if (IsSwitch(node) != (info.type == subnet::NodeType::kSwitch) ||
      node.port_count() != info.ports || gone_[index])
    contradiction_ = "a different device is at this address";
  node.set_system_guid(info.system_guid);
  node.set_device_id(info.device_id);
  node.set_vendor_id(info.vendor_id);
  node.set_revision(info.revision);
  known_[index].facts.p_keys = info.p_keys;
}

void SubnetReader::DropCable(End end) {
  const End other{PortAt(end).peer() - 1, PortAt(end).peer_port()};
  const bool mutual = PortAt(other).peer() == end.node + 1 && PortAt(other).peer_port() == end.port;
  for (const End& each : {end, other}) {
    if (each.node == other.node && each.port == other.port && !mutual) continue;
    v1::SubnetPort& port = PortAt(each);
    port.clear_peer();
    port.clear_peer_port();
    port.clear_p_keys();
    port.clear_sl_to_vl();
    port.clear_vl_arbitration();
  }
}

void SubnetReader::DropUnreachable() {
  FindRoutes();
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(n));
    if (gone_[n]) {
      node.clear_ports();
      node.clear_switch_info();
      known_[n] = {};
    }
    if (IsSwitch(node)) continue;
    // A port of an adapter that nothing leads to.
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      if (known_[n].routes.contains(port.number())) continue;
      const std::uint32_t number = port.number();
      port.Clear();
      port.set_number(number);
    }
  }
}

void SubnetReader::ForgetTables() {
  for (v1::SubnetNode& node : *made_.mutable_nodes()) {
    node.clear_routes();
    node.clear_blocks_not_read();
    node.clear_sl_to_vl_by_input();
    node.clear_tick();
    node.clear_firmware();
    node.clear_firmware_board();
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      port.clear_p_keys();
      port.clear_sl_to_vl();
      port.clear_vl_arbitration();
    }
  }
}

void SubnetReader::EraseGone() {
  if (std::ranges::find(gone_, true) == gone_.end()) return;
  auto& nodes = *made_.mutable_nodes();
  std::vector<std::uint32_t> place(known_.size());
  google::protobuf::RepeatedPtrField<v1::SubnetNode> kept;
  for (std::uint32_t n = 0; n < known_.size(); ++n) {
    place[n] = static_cast<std::uint32_t>(kept.size());
    if (WasKnown(n) && gone_[n]) continue;
    kept.Add(std::move(*nodes.Mutable(static_cast<int>(n))));
  }
  nodes.Swap(&kept);
  for (v1::SubnetNode& node : nodes)
    for (v1::SubnetPort& port : *node.mutable_ports())
      if (port.peer() != 0) port.set_peer(place[port.peer() - 1] + 1);
  for (v1::SubnetSilence& each : *made_.mutable_silent()) each.set_node(place[each.node()]);
  std::erase_if(by_guid_,
                [this](const auto& each) { return WasKnown(each.second) && gone_[each.second]; });
}

Status SubnetReader::Checked() const {
  if (!contradiction_.empty()) return Status(Code::kFailedPrecondition, contradiction_);
  if (!made_.contradictions().empty())
    return Status(Code::kFailedPrecondition, "a cable is connected to another device than before");
  return {};
}

// Ports of switches, and the port of the reader.
void SubnetReader::ForEachLinkEnd(const std::function<void(End end, const PortInfo& info)>& visit) {
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    if (gone_[n]) continue;
    const bool is_switch = IsSwitch(made_.nodes(static_cast<int>(n)));
    const int ports = made_.nodes(static_cast<int>(n)).ports_size();
    for (int p = 1; p < ports; ++p) {
      const End end{n, static_cast<std::uint32_t>(p)};
      if (!is_switch && (n != own_node_ || end.port != own_port_)) continue;
      if (const auto info = InfoOf(PortAt(end))) visit(end, *info);
    }
  }
}

Status SubnetReader::RefreshPorts(std::uint32_t number, const std::stop_token& stop) {
  std::vector<End> others;
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    const v1::SubnetNode& node = made_.nodes(static_cast<int>(n));
    if (n == own_node_ && !IsSwitch(node)) AskPort({n, own_port_});
    if (!IsSwitch(node)) continue;
    Ask({.attribute = Attribute::kSwitchInfo, .at = {n, 0}});
    for (std::uint32_t p = 0; p <= std::min<std::uint32_t>(node.port_count(), subnet::kPortsMax);
         ++p) {
      const bool known = p < static_cast<std::uint32_t>(node.ports_size());
      if (known && p != 0 && IsOtherEnd({n, p}, number))
        others.push_back({n, p});
      else
        AskPort({n, p});
    }
  }
  RETURN_IF_ERROR(Run(stop));
  for (const End& end : others) {
    const v1::SubnetPort& port = PortAt(end);
    const End peer{port.peer() - 1, port.peer_port()};
    if (port_changed_.contains(KeyOf(peer)) || HasChangedBit(end.node) || HasChangedBit(peer.node))
      AskPort(end);
  }
  RETURN_IF_ERROR(Run(stop));
  return Checked();
}

Status SubnetReader::RefreshLinks(std::uint32_t number, const std::stop_token& stop) {
  ForEachLinkEnd([this](End end, const PortInfo& info) {
    if (!info.LinkUp() && HasCable(end)) DropCable(end);
  });
  DropUnreachable();
  std::vector<bool> describe(known_before_, false);
  std::size_t cables = 0;  // Each counts once, at one of its ends.
  ForEachLinkEnd([&](End end, const PortInfo& info) {
    if (!info.LinkUp()) return;
    const v1::SubnetPort& port = PortAt(end);
    const std::uint32_t peer = port.peer() - 1;
    const bool turn = !IsOtherEnd(end, 1) && cables++ % kShares == number % kShares;
    const bool changed =
        port.peer() != 0 && (port_changed_.contains(KeyOf(end)) || HasChangedBit(end.node));
    if (changed && WasKnown(peer)) describe[peer] = true;
    if (port.peer() == 0 || changed || turn) AskBeyond(end);
  });
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    if (gone_[n]) continue;
    const v1::SubnetNode& node = made_.nodes(static_cast<int>(n));
    if (describe[n] || node.description().empty() || n % kShares == number % kShares)
      Ask({.attribute = Attribute::kNodeDescription, .at = {n, 0}});
    if (IsSwitch(node)) continue;
    for (const auto& [port, route] : known_[n].routes) AskPort({n, port});
  }
  RETURN_IF_ERROR(Run(stop));
  // Another adapter can answer behind a cable that moved.
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    if (gone_[n] || IsSwitch(made_.nodes(static_cast<int>(n)))) continue;
    for (const auto& [number_of_port, route] : known_[n].routes) {
      const v1::SubnetPort& port = PortAt({n, number_of_port});
      if (port.peer() != 0 && port_changed_.contains(KeyOf({n, number_of_port})))
        AskBeyond({port.peer() - 1, port.peer_port()});
    }
  }
  RETURN_IF_ERROR(Run(stop));
  return Checked();
}

Status SubnetReader::RefreshLinksThatWentDown(const EarlierReading& earlier,
                                              const std::stop_token& stop) {
  for (std::uint32_t n = 0; n < known_before_; ++n) {
    if (gone_[n]) continue;
    for (const v1::SubnetPort& before : earlier.snapshot.nodes(static_cast<int>(n)).ports()) {
      const End end{n, before.number()};
      if (before.has_counters() && WentDown(before, PortAt(end)).value_or(false) && HasCable(end)) {
        AskBeyond(end);
        Ask({.attribute = Attribute::kNodeDescription, .at = {PortAt(end).peer() - 1, 0}});
      }
    }
  }
  RETURN_IF_ERROR(Run(stop));
  return Checked();
}

Result<v1::SubnetSnapshot> SubnetReader::Refresh(const EarlierReading& earlier,
                                                 const RefreshOptions& refresh,
                                                 const std::stop_token& stop) {
  Resume(earlier);
  FindRoutes();
  if (std::ranges::find(gone_, true) != gone_.end())
    return Status(Code::kFailedPrecondition, "no known cable leads to a device");
  RETURN_IF_ERROR(Begin(stop));
  RETURN_IF_ERROR(Checked());
  RETURN_IF_ERROR(RefreshPorts(refresh.number, stop));
  RETURN_IF_ERROR(RefreshLinks(refresh.number, stop));
  AskManagers();
  RETURN_IF_ERROR(Run(stop));
  if (!options_.tables && refresh.needs_tables && refresh.needs_tables(made_))
    options_.tables = options_.p_keys = options_.lanes = true;
  if (options_.tables) ForgetTables();
  RETURN_IF_ERROR(ReadTables(stop));
  RETURN_IF_ERROR(ReadCounters(stop));
  RETURN_IF_ERROR(RefreshLinksThatWentDown(earlier, stop));
  RETURN_IF_ERROR(ReadSwitchesAgain(stop));
  Finish();
  return std::move(made_);
}

EarlierReading SubnetReader::AsEarlier(v1::SubnetSnapshot snapshot) const {
  EarlierReading reading{
      .snapshot = std::move(snapshot), .facts = {}, .own_guid = own_guid_, .own_port = own_port_};
  for (const auto& [guid, index] : by_guid_) reading.facts[guid] = known_[index].facts;
  return reading;
}

}  // namespace fabric::agent
