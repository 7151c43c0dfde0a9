#include "agents/subnet/subnet_watch.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "subnet/mad/attributes.h"

namespace fabric::agent {
namespace {

// Whether the tables that were read with `one` still hold in `other`. Links, LIDs and sizes of
// tables show that a subnet manager changed them.
bool SameRoutingInputs(const v1::SubnetPort& one, const v1::SubnetPort& other) {
  const auto before = subnet::ReadPortInfo(subnet::BytesOf(one.port_info()));
  const auto after = subnet::ReadPortInfo(subnet::BytesOf(other.port_info()));
  return one.number() == other.number() && one.peer() == other.peer() &&
         one.peer_port() == other.peer_port() && before && after && before->lid == after->lid &&
         before->state == after->state && before->lanes == after->lanes;
}

bool SameRoutingInputs(const v1::SubnetNode& one, const v1::SubnetNode& other) {
  const auto before = subnet::ReadSwitchInfo(subnet::BytesOf(one.switch_info()));
  const auto after = subnet::ReadSwitchInfo(subnet::BytesOf(other.switch_info()));
  return one.guid() == other.guid() && before.has_value() == after.has_value() &&
         (!before || before->lid_top == after->lid_top) &&
         std::ranges::equal(one.ports(), other.ports(),
                            [](const v1::SubnetPort& a, const v1::SubnetPort& b) {
                              return SameRoutingInputs(a, b);
                            });
}

bool SameRoutingInputs(const v1::SubnetSnapshot& one, const v1::SubnetSnapshot& other) {
  return std::ranges::equal(
      one.nodes(), other.nodes(),
      [](const v1::SubnetNode& a, const v1::SubnetNode& b) { return SameRoutingInputs(a, b); });
}

void CopyTables(const v1::SubnetSnapshot& from, v1::SubnetSnapshot& to) {
  for (int n = 0; n < from.nodes_size(); ++n) {
    const v1::SubnetNode& source = from.nodes(n);
    v1::SubnetNode& node = *to.mutable_nodes(n);
    node.set_routes(source.routes());
    *node.mutable_blocks_not_read() = source.blocks_not_read();
    node.set_sl_to_vl_by_input(source.sl_to_vl_by_input());
    if (source.has_tick()) node.set_tick(source.tick());
    node.set_firmware(source.firmware());
    node.set_firmware_board(source.firmware_board());
    for (int p = 0; p < source.ports_size(); ++p) {
      v1::SubnetPort& port = *node.mutable_ports(p);
      port.set_p_keys(source.ports(p).p_keys());
      port.set_sl_to_vl(source.ports(p).sl_to_vl());
      port.set_vl_arbitration(source.ports(p).vl_arbitration());
    }
  }
}

// Port GUIDs of the masters.
std::set<std::uint64_t> MastersOf(const v1::SubnetSnapshot& snapshot) {
  std::set<std::uint64_t> masters;
  for (const v1::SubnetManagerState& manager : snapshot.managers())
    if (manager.state() == static_cast<std::uint32_t>(subnet::ManagerState::kMaster))
      masters.insert(manager.port_guid());
  return masters;
}

bool IsSame(const subnet::ManagerInfo& one, const subnet::ManagerInfo& other) {
  return one.port_guid == other.port_guid && one.priority == other.priority &&
         one.state == other.state;
}

// Sorts the nodes by GUID: the order of the answers differs from reading to reading.
void SortNodes(v1::SubnetSnapshot& snapshot) {
  auto& nodes = *snapshot.mutable_nodes();
  std::vector<std::uint32_t> order(static_cast<std::size_t>(nodes.size()));
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t index) { return nodes.Get(static_cast<int>(index)).guid(); });
  std::vector<std::uint32_t> place(order.size());
  google::protobuf::RepeatedPtrField<v1::SubnetNode> sorted;
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    place[order[at]] = at;
    sorted.Add(std::move(*nodes.Mutable(static_cast<int>(order[at]))));
  }
  nodes.Swap(&sorted);
  for (v1::SubnetNode& node : nodes)
    for (v1::SubnetPort& port : *node.mutable_ports())
      if (port.peer() != 0) port.set_peer(place[port.peer() - 1] + 1);
  for (v1::SubnetCable& cable : *snapshot.mutable_contradictions()) {
    cable.set_node(place[cable.node()]);
    cable.set_peer(place[cable.peer()]);
  }
  for (v1::SubnetSilence& each : *snapshot.mutable_silent()) each.set_node(place[each.node()]);
}

// Rates over seconds need no more, and equal times take no room in a compressed snapshot.
void RoundTimes(v1::SubnetSnapshot& snapshot) {
  constexpr std::int32_t kTenthOfSecond = 100'000'000;  // In nanoseconds
  for (v1::SubnetNode& node : *snapshot.mutable_nodes())
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      if (!port.has_counters()) continue;
      auto& at = *port.mutable_counters()->mutable_at();
      at.set_nanos(at.nanos() - at.nanos() % kTenthOfSecond);
    }
}

const v1::SubnetNode* FindNode(const v1::SubnetSnapshot& sorted, std::uint64_t guid) {
  const auto found = std::lower_bound(
      sorted.nodes().begin(), sorted.nodes().end(), guid,
      [](const v1::SubnetNode& node, std::uint64_t wanted) { return node.guid() < wanted; });
  return found == sorted.nodes().end() || found->guid() != guid ? nullptr : &*found;
}

void CopyFirstCounters(const v1::SubnetSnapshot& from, v1::SubnetSnapshot& to) {
  for (v1::SubnetNode& node : *to.mutable_nodes()) {
    const v1::SubnetNode* const before = FindNode(from, node.guid());
    if (before == nullptr) continue;
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      const auto same = std::ranges::find(before->ports(), port.number(), &v1::SubnetPort::number);
      if (port.has_counters() && same != before->ports().end() && same->has_counters())
        *port.mutable_first_counters() = same->counters();
    }
  }
}

}  // namespace

SubnetWatch::SubnetWatch(const Clock& clock, ReaderOptions options)
    : clock_(clock), options_(std::move(options)) {}

Result<v1::SubnetSnapshot> SubnetWatch::ReadOnce(MadTransport& transport, bool tables,
                                                 const std::stop_token& stop) {
  ReaderOptions options = options_;
  options.tables = options.p_keys = options.lanes = tables;
  Result<v1::SubnetSnapshot> snapshot = ReadUnchanged(transport, clock_, options, stop, &managers_);
  if (snapshot.ok()) SortNodes(*snapshot);
  return snapshot;
}

Result<v1::SubnetSnapshot> SubnetWatch::Read(MadTransport& transport, const std::stop_token& stop) {
  const SteadyTime now = clock_.Now().steady;
  bool tables = !last_ || now - tables_at_ >= kTablesAge || !last_->contradictions().empty();
  ASSIGN_OR_RETURN(v1::SubnetSnapshot snapshot, ReadOnce(transport, tables, stop));
  const bool other =
      last_ && (MastersOf(*last_) != MastersOf(snapshot) || !SameRoutingInputs(*last_, snapshot));
  if (!tables && other) {
    tables = true;
    ASSIGN_OR_RETURN(snapshot, ReadOnce(transport, tables, stop));
  }
  RoundTimes(snapshot);
  if (last_) CopyFirstCounters(*last_, snapshot);
  if (tables)
    tables_at_ = now;
  else
    CopyTables(*last_, snapshot);
  // The subnet manager may write other tables after a change: they are read again next time.
  if (!snapshot.changed().empty() || other) tables_at_ = {};
  last_ = snapshot;
  return snapshot;
}

Result<bool> SubnetWatch::HaveManagersChanged(MadTransport& transport,
                                              const std::stop_token& stop) const {
  Window window(transport, options_.window, [this](const Order& order, std::uint32_t transaction) {
    return MadPacket{.mad = subnet::Encode({.attribute = order.attribute,
                                            .transaction = transaction,
                                            .m_key = options_.m_key,
                                            .route = managers_[order.at.node].route})};
  });
  for (std::uint32_t i = 0; i < managers_.size(); ++i)
    (void)window.Ask({.attribute = subnet::Attribute::kSubnetManagerInfo, .at = {i, 0}});
  std::vector<Done> done;
  while (!window.idle()) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    RETURN_IF_ERROR(window.Step(clock_.Now().steady, std::chrono::milliseconds(100), done));
  }
  return std::ranges::any_of(done, [this](const Done& each) {
    const auto info = subnet::ReadManagerInfo(each.answer.data);
    return each.outcome != Outcome::kAnswered || !info ||
           !IsSame(*info, managers_[each.order.at.node].info);
  });
}

}  // namespace fabric::agent
