#include "agents/subnet/reader.h"

#include <algorithm>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::agent {
namespace {

using subnet::Attribute;
using subnet::End;
using subnet::kLidsOfBlock;
using subnet::kNoNode;
using subnet::MadClass;
using subnet::MadData;

constexpr std::chrono::milliseconds kProgressEvery(500);

v1::SubnetNodeType TypeOf(subnet::NodeType type) {
  switch (type) {
    case subnet::NodeType::kSwitch: return v1::SUBNET_NODE_TYPE_SWITCH;
    case subnet::NodeType::kAdapter: return v1::SUBNET_NODE_TYPE_ADAPTER;
    case subnet::NodeType::kRouter: return v1::SUBNET_NODE_TYPE_ROUTER;
    case subnet::NodeType::kUnknown: break;
  }
  return v1::SUBNET_NODE_TYPE_UNSPECIFIED;
}

std::string TextOf(const MadData& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// What an order reads, for the list of what was not covered.
std::string_view KindOf(const Order& order) {
  if (order.mad_class == MadClass::kNvidia) return "firmware of switches";
  if (order.mad_class == MadClass::kPerformance) {
    if (order.attribute == Attribute::kClassPortInfo) return "counters: capabilities";
    if (order.attribute == Attribute::kPortExtendedSpeedsCounters) return "counters of FEC";
    return order.attribute == Attribute::kPortSamplesControl ? "unit of PortXmitWait" : "counters";
  }
  switch (order.attribute) {
    case Attribute::kNodeDescription: return "node descriptions";
    case Attribute::kSwitchInfo: return "SwitchInfo";
    case Attribute::kPortInfo: return "PortInfo";
    case Attribute::kPKeyTable: return "P_Key tables";
    case Attribute::kSlToVl: return "SL-to-VL tables";
    case Attribute::kVlArbitration: return "VL arbitration tables";
    case Attribute::kForwardingTable: return "blocks of forwarding tables";
    case Attribute::kSubnetManagerInfo: return "states of subnet managers";
    default: return "nodes";
  }
}

}  // namespace

SubnetReader::SubnetReader(MadTransport& transport, const Clock& clock, ReaderOptions options)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      window_(transport, options_.window, [this](const Order& order, std::uint32_t transaction) {
        return Compose(order, transaction);
      }) {}

SubnetReader::Route SubnetReader::RouteOf(const Order& order) const {
  if (order.at.node == kNoNode) return {};
  const Known& known = known_[order.at.node];
  const auto own = known.routes.find(order.at.port);
  Route route = own != known.routes.end() ? own->second : known.route;
  if (order.beyond) route.push_back(static_cast<std::uint8_t>(order.at.port));
  return route;
}

MadPacket SubnetReader::Compose(const Order& order, std::uint32_t transaction) const {
  subnet::MadRequest request{.mad_class = order.mad_class,
                             .attribute = order.attribute,
                             .modifier = order.modifier,
                             .transaction = transaction,
                             .m_key = options_.m_key,
                             .port = static_cast<std::uint8_t>(order.at.port)};
  if (order.mad_class != MadClass::kDirectedSubnet)
    return {.lid = known_[order.at.node].lid, .mad = Encode(request)};
  const Route route = RouteOf(order);
  request.route = route;
  return {.mad = Encode(request)};
}

void SubnetReader::NotCovered(std::string text) {
  if (made_.not_covered_size() < static_cast<int>(kNotCoveredMax))
    made_.add_not_covered(std::move(text));
}

void SubnetReader::Ask(const Order& order) {
  if (!window_.Ask(order)) ++lost_by_kind_[Format("{}: the queue was full", KindOf(order))];
}

void SubnetReader::Progress() {
  if (!options_.on_progress) return;
  const SteadyTime now = clock_.Now().steady;
  if (now - progress_at_ < kProgressEvery) return;
  progress_at_ = now;
  options_.on_progress(made_, window_.sent());
}

Status SubnetReader::Run(const std::stop_token& stop) {
  std::vector<Done> done;
  while (!window_.idle()) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    done.clear();
    RETURN_IF_ERROR(window_.Step(clock_.Now().steady, std::chrono::milliseconds(100), done));
    for (const Done& each : done) OnDone(each);
    Progress();
  }
  return {};
}

Status SubnetReader::WaitUntil(SteadyTime until, const std::stop_token& stop) {
  std::vector<Done> done;
  for (SteadyTime now = clock_.Now().steady; now < until; now = clock_.Now().steady) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    const Duration wait = std::min<Duration>(until - now, std::chrono::milliseconds(100));
    RETURN_IF_ERROR(window_.Step(now, wait, done));
  }
  return {};
}

Status SubnetReader::Begin(const std::stop_token& stop) {
  made_.set_schema("fabric.v1.SubnetSnapshot");
  *made_.mutable_started_at() = ToProto(clock_.Now().wall);
  made_.set_reader(transport_.name());
  Ask({.attribute = Attribute::kNodeInfo, .at = {kNoNode, 0}});
  RETURN_IF_ERROR(Run(stop));
  if (!own_answered_)
    return Status(Code::kUnavailable,
                  Format("{}: the port does not answer NodeInfo", transport_.name()));
  return {};
}

Status SubnetReader::ReadTables(const std::stop_token& stop) {
  if (options_.tables) AskTables();
  if (options_.p_keys) AskPartitions();
  if (options_.lanes) AskLanes();
  return Run(stop);
}

Status SubnetReader::ReadCounters(const std::stop_token& stop) {
  if (!options_.counters) return {};
  if (!own_active_) {
    NotCovered("counters: the port of the reader is not ACTIVE");
    return {};
  }
  AskCapabilities();
  RETURN_IF_ERROR(Run(stop));
  const SteadyTime first_at = clock_.Now().steady;
  if (options_.tables) AskTicks();
  AskCounters();
  RETURN_IF_ERROR(Run(stop));
  if (options_.rate_interval > Duration(0)) {
    RETURN_IF_ERROR(WaitUntil(first_at + options_.rate_interval, stop));
    KeepFirstCounters();
    AskCounters();
    RETURN_IF_ERROR(Run(stop));
  }
  return options_.tables ? ReadFirmware(stop) : Status();
}

Status SubnetReader::ReadSwitchesAgain(const std::stop_token& stop) {
  again_ = true;
  AskSwitches();
  return Run(stop);
}

Result<v1::SubnetSnapshot> SubnetReader::Read(const std::stop_token& stop) {
  RETURN_IF_ERROR(Begin(stop));
  AskManagers();
  RETURN_IF_ERROR(ReadTables(stop));
  RETURN_IF_ERROR(ReadCounters(stop));
  RETURN_IF_ERROR(ReadSwitchesAgain(stop));
  Finish();
  return std::move(made_);
}

v1::SubnetPort& SubnetReader::PortAt(End end) {
  v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(end.node));
  while (node.ports_size() <= static_cast<int>(end.port)) {
    const auto number = static_cast<std::uint32_t>(node.ports_size());
    node.add_ports()->set_number(number);
  }
  return *node.mutable_ports(static_cast<int>(end.port));
}

bool SubnetReader::HasCable(End end) {
  return PortAt(end).peer() != 0;
}

std::uint32_t SubnetReader::AddNode(const subnet::NodeInfo& info, Route route) {
  if (known_.size() >= kNodesMax || ports_ + info.ports + 1 > kPortsMax) {
    ++lost_by_kind_["nodes: the subnet is too large"];
    return kNoNode;
  }
  const auto index = static_cast<std::uint32_t>(known_.size());
  by_guid_.emplace(info.guid, index);
  ports_ += info.ports + 1U;
  v1::SubnetNode& node = *made_.add_nodes();
  node.set_guid(info.guid);
  node.set_system_guid(info.system_guid);
  node.set_type(TypeOf(info.type));
  node.set_port_count(info.ports);
  node.set_device_id(info.device_id);
  node.set_vendor_id(info.vendor_id);
  node.set_revision(info.revision);
  known_.push_back({.route = std::move(route), .facts = {.p_keys = info.p_keys}});
  Ask({.attribute = Attribute::kNodeDescription, .at = {index, 0}});
  if (!IsSwitch(node)) return index;
  Ask({.attribute = Attribute::kSwitchInfo, .at = {index, 0}});
  for (std::uint32_t port = 0; port <= std::min<std::uint32_t>(info.ports, subnet::kPortsMax);
       ++port)
    Ask({.attribute = Attribute::kPortInfo, .modifier = port, .at = {index, port}});
  return index;
}

void SubnetReader::Connect(End from, End to) {
  v1::SubnetPort& port = PortAt(from);
  if (port.peer() == to.node + 1 && port.peer_port() == to.port) return;
  if (port.peer() == 0) {
    port.set_peer(to.node + 1);
    port.set_peer_port(to.port);
    return;
  }
  v1::SubnetCable& cable = *made_.add_contradictions();
  cable.set_node(from.node);
  cable.set_port(from.port);
  cable.set_peer(to.node);
  cable.set_peer_port(to.port);
}

void SubnetReader::KnowOwn(End own, std::uint64_t guid) {
  if (known_before_ > 0 && (guid != own_guid_ || own.port != own_port_))
    contradiction_ = "the port of the reader belongs to another device";
  own_answered_ = true;
  own_node_ = own.node;
  own_port_ = own.port;
  own_guid_ = guid;
}

// A device answered: this node itself, or one behind a port.
void SubnetReader::OnNodeInfo(const Order& order, const subnet::NodeInfo& info) {
  const std::uint32_t port = info.local_port;
  if (port > subnet::kPortsMax || (info.type != subnet::NodeType::kSwitch && port == 0)) {
    ++lost_by_kind_["nodes: wrong port number in NodeInfo"];
    return;
  }
  Route route = RouteOf(order);
  const auto at = by_guid_.find(info.guid);
  if (at != by_guid_.end() && WasKnown(at->second)) CompareWithKnown(info, at->second);
  const std::uint32_t node = at != by_guid_.end() ? at->second : AddNode(info, route);
  if (node == kNoNode) return;
  const bool is_switch = IsSwitch(made_.nodes(static_cast<int>(node)));
  if (!order.beyond) KnowOwn({node, is_switch ? 0 : port}, info.guid);
  PortAt({node, is_switch ? 0 : port}).set_guid(info.port_guid);
  if (!is_switch && known_[node].routes.emplace(port, std::move(route)).second)
    Ask({.attribute = Attribute::kPortInfo, .modifier = port, .at = {node, port}});
  if (!order.beyond) return;
  Connect(order.at, {node, port});
  if (port != 0) Connect({node, port}, order.at);
}

void SubnetReader::OnPortInfo(const Order& order, const MadData& data) {
  const auto info = subnet::ReadPortInfo(data);
  MadData kept = data;
  std::fill_n(kept.begin(), 8, std::uint8_t{0});  // The M_Key is not for others.
  v1::SubnetPort& port = PortAt(order.at);
  if (std::string text = TextOf(kept); text != port.port_info()) {
    port.set_port_info(std::move(text));
    port_changed_.insert(KeyOf(order.at));
  }
  const bool is_switch = IsSwitch(made_.nodes(static_cast<int>(order.at.node)));
  const bool own = order.at.node == own_node_ && order.at.port == own_port_;
  if (is_switch && order.at.port == 0) {
    known_[order.at.node].lid = info->lid;
    if (own) own_active_ = info->state != subnet::LinkState::kDown;
    return;
  }
  if (own) own_active_ = info->state == subnet::LinkState::kActive;
  if ((!is_switch && !own) || WasKnown(order.at.node)) return;
  if (!info->LinkUp() || HasCable(order.at) || RouteOf(order).size() >= subnet::kHopsMax) return;
  Ask({.attribute = Attribute::kNodeInfo, .at = order.at, .beyond = true});
}

void SubnetReader::OnSwitchInfo(const Order& order, const MadData& data) {
  v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(order.at.node));
  if (!again_) {
    node.set_switch_info(TextOf(data));
    return;
  }
  const auto before = subnet::ReadSwitchInfo(subnet::BytesOf(node.switch_info()));
  const auto now = subnet::ReadSwitchInfo(data);
  if (!before || !now) return;
  switches_.push_back({.route = RouteOf(order), .info = *now});
  const std::string name =
      node.description().empty() ? Format("{:016x}", node.guid()) : node.description();
  if (now->lid_top != before->lid_top)
    changed_.push_back(Format("switch {}: size of the forwarding table", name));
  else if (now->state_changed && !before->state_changed)
    changed_.push_back(Format("switch {}: state of a port", name));
}

void SubnetReader::OnBlock(const Order& order, const MadData& data) {
  v1::SubnetNode& node = *made_.mutable_nodes(static_cast<int>(order.at.node));
  std::string& routes = *node.mutable_routes();
  const std::size_t at = std::size_t{order.modifier} * kLidsOfBlock;
  if (at >= routes.size()) return;
  const std::size_t size = std::min<std::size_t>(kLidsOfBlock, routes.size() - at);
  routes.replace(at, size, TextOf(data), 0, size);
}

void SubnetReader::OnPKeys(const Order& order, const MadData& data) {
  std::string& keys = *PortAt(order.at).mutable_p_keys();
  const std::size_t at = (order.modifier & 0xffff) * subnet::kMadDataBytes;
  if (keys.size() < at + data.size()) keys.resize(at + data.size(), '\0');
  keys.replace(at, data.size(), TextOf(data));
}

void SubnetReader::OnManager(const Order& order, const MadData& data) {
  const auto info = subnet::ReadManagerInfo(data);
  const auto port = subnet::ReadPortInfo(subnet::BytesOf(PortAt(order.at).port_info()));
  if (!info || info->port_guid == 0) return;
  v1::SubnetManagerState& manager = *made_.add_managers();
  manager.set_port_guid(info->port_guid);
  manager.set_lid(port ? port->lid : 0);
  manager.set_priority(info->priority);
  manager.set_state(info->state);
  manager.set_activity(info->activity);
  managers_.push_back({.route = RouteOf(order), .info = *info});
}

void SubnetReader::OnFailure(const Done& done) {
  const Order& order = done.order;
  if (Contradicts(order)) contradiction_ = "a device no longer answers";
  if (order.beyond) {
    v1::SubnetSilence& silence = *made_.add_silent();
    silence.set_node(order.at.node);
    silence.set_port(order.at.port);
    return;
  }
  if (again_) return;
  if (order.at.node == kNoNode) return;
  if (order.attribute == Attribute::kForwardingTable)
    made_.mutable_nodes(static_cast<int>(order.at.node))->add_blocks_not_read(order.modifier);
  const char* const why = done.outcome == Outcome::kRefused ? "refused"
                          : done.outcome == Outcome::kLost  ? "no answer"
                                                            : "skipped, the device does not answer";
  ++lost_by_kind_[Format("{}: {}", KindOf(order), why)];
}

void SubnetReader::OnDone(const Done& done) {
  const Order& order = done.order;
  if (done.outcome != Outcome::kAnswered) return OnFailure(done);
  const MadData& data = done.answer.data;
  if (order.mad_class == MadClass::kPerformance) return OnPerformance(order, done.answer);
  if (order.mad_class == MadClass::kNvidia) return OnFirmware(order, data);
  switch (order.attribute) {
    case Attribute::kNodeInfo: return OnNodeInfo(order, *subnet::ReadNodeInfo(data));
    case Attribute::kNodeDescription:
      return made_.mutable_nodes(static_cast<int>(order.at.node))
          ->set_description(subnet::ReadNodeDescription(data));
    case Attribute::kPortInfo: return OnPortInfo(order, data);
    case Attribute::kSwitchInfo: return OnSwitchInfo(order, data);
    case Attribute::kForwardingTable: return OnBlock(order, data);
    case Attribute::kPKeyTable: return OnPKeys(order, data);
    case Attribute::kSlToVl: return OnSlToVl(order, data);
    case Attribute::kVlArbitration: return OnArbitration(order, data);
    case Attribute::kSubnetManagerInfo: return OnManager(order, data);
    default: return;
  }
}

Result<v1::SubnetSnapshot> ReadUnchanged(MadTransport& transport, const Clock& clock,
                                         const ReaderOptions& options,
                                         const std::stop_token& stop) {
  for (int i = 1;; ++i) {
    Result<v1::SubnetSnapshot> snapshot = SubnetReader(transport, clock, options).Read(stop);
    if (i == kReadingsMax || !snapshot.ok() || snapshot->changed().empty()) return snapshot;
  }
}

}  // namespace fabric::agent
