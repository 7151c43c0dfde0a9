#include "agents/subnet/subnet_watch.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "subnet/mad/attributes.h"

namespace fabric::agent {
namespace {

// Links, LIDs and sizes of tables: if they are the same, a subnet manager has no reason to change
// the tables.
std::vector<std::uint64_t> RoutingInputs(const v1::SubnetSnapshot& snapshot) {
  std::vector<std::uint64_t> inputs;
  for (const v1::SubnetNode& node : snapshot.nodes()) {
    const auto of_switch = subnet::ReadSwitchInfo(subnet::BytesOf(node.switch_info()));
    inputs.insert(inputs.end(), {node.guid(), of_switch ? of_switch->lid_top + 1U : 0U});
    for (const v1::SubnetPort& port : node.ports()) {
      const auto info = subnet::ReadPortInfo(subnet::BytesOf(port.port_info()));
      if (!info && port.peer() == 0) continue;
      inputs.insert(inputs.end(), {port.number(), port.peer_port()});
      if (port.peer() != 0)
        inputs.push_back(snapshot.nodes(static_cast<int>(port.peer()) - 1).guid());
      if (info)
        inputs.insert(inputs.end(),
                      {info->lid, static_cast<std::uint64_t>(info->state), info->lanes});
    }
  }
  return inputs;
}

// Port GUIDs of the masters.
std::set<std::uint64_t> MastersOf(const v1::SubnetSnapshot& snapshot) {
  std::set<std::uint64_t> masters;
  for (const v1::SubnetManagerState& manager : snapshot.managers())
    if (manager.state() == static_cast<std::uint32_t>(subnet::ManagerState::kMaster))
      masters.insert(manager.port_guid());
  return masters;
}

bool HasOtherRouting(const v1::SubnetSnapshot& before, const v1::SubnetSnapshot& now) {
  return MastersOf(before) != MastersOf(now) || RoutingInputs(before) != RoutingInputs(now);
}

bool IsSame(const subnet::ManagerInfo& one, const subnet::ManagerInfo& other) {
  return one.port_guid == other.port_guid && one.priority == other.priority &&
         one.state == other.state;
}

// Sorts by GUID: the order of the answers differs from reading to reading.
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
  std::ranges::sort(*snapshot.mutable_silent(), {}, [](const v1::SubnetSilence& each) {
    return std::pair(each.node(), each.port());
  });
  std::ranges::sort(*snapshot.mutable_managers(), {}, &v1::SubnetManagerState::port_guid);
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

Result<SubnetWatch::Reading> SubnetWatch::ReadOnce(MadTransport& transport,
                                                   const EarlierReading* before, bool tables,
                                                   const std::stop_token& stop) {
  ReaderOptions options = options_;
  options.tables = options.p_keys = options.lanes = before == nullptr || tables;
  SubnetReader reader(transport, clock_, options);
  const RefreshOptions refresh{.number = number_,
                               .needs_tables = [before](const v1::SubnetSnapshot& now) {
                                 return HasOtherRouting(before->snapshot, now);
                               }};
  Result<v1::SubnetSnapshot> snapshot =
      before == nullptr ? reader.Read(stop) : reader.Refresh(*before, refresh, stop);
  mads_ += reader.sent();
  RETURN_IF_ERROR(snapshot.status());
  SortNodes(*snapshot);
  RoundTimes(*snapshot);
  return Reading{.reading = reader.AsEarlier(*std::move(snapshot)),
                 .managers = reader.managers(),
                 .switches = reader.switches(),
                 .complete = before == nullptr,
                 .tables = reader.has_tables()};
}

Result<SubnetWatch::Reading> SubnetWatch::ReadUnchanged(MadTransport& transport,
                                                        const EarlierReading* before, bool tables,
                                                        const std::stop_token& stop) {
  Result<Reading> read = ReadOnce(transport, before, tables, stop);
  for (int i = 1; i < kReadingsMax && read.ok() && read->HasChanged(); ++i) {
    const Reading changed = *std::move(read);
    read = ReadOnce(transport, before == nullptr ? nullptr : &changed.reading, true, stop);
  }
  return read;
}

Result<v1::SubnetSnapshot> SubnetWatch::Read(MadTransport& transport, const std::stop_token& stop) {
  const SteadyTime now = clock_.Now().steady;
  const bool complete = !last_ || now - complete_at_ >= kDiscoveryAge ||
                        !last_->reading.snapshot.contradictions().empty();
  const bool tables = now - tables_at_ >= kTablesAge;
  mads_ = 0;
  ++number_;
  Result<Reading> read =
      ReadUnchanged(transport, complete ? nullptr : &last_->reading, tables, stop);
  if (!complete && read.status().code() == Code::kFailedPrecondition)
    read = ReadUnchanged(transport, nullptr, true, stop);
  RETURN_IF_ERROR(read.status());
  v1::SubnetSnapshot& snapshot = read->reading.snapshot;
  snapshot.set_mads(mads_);
  const bool other = last_ && HasOtherRouting(last_->reading.snapshot, snapshot);
  if (last_) CopyFirstCounters(last_->reading.snapshot, snapshot);
  if (read->complete) complete_at_ = now;
  if (read->tables) tables_at_ = now;
  // The subnet manager may write other tables after a change: they are read again next time.
  if (read->HasChanged() || other) tables_at_ = {};
  last_ = *std::move(read);
  return last_->reading.snapshot;
}

SubnetWatch::Seen SubnetWatch::Compare(const Done& done) {
  const std::uint32_t index = done.order.at.node;
  const bool answered = done.outcome == Outcome::kAnswered;
  if (index < last_->managers.size()) {
    const auto info = subnet::ReadManagerInfo(done.answer.data);
    return answered && info && IsSame(*info, last_->managers[index].info) ? Seen::kNothing
                                                                          : Seen::kManager;
  }
  subnet::SwitchInfo& before = last_->switches[index - last_->managers.size()].info;
  const auto info = subnet::ReadSwitchInfo(done.answer.data);
  if (!answered || !info || info->lid_top != before.lid_top ||
      (info->state_changed && !before.state_changed))
    return Seen::kSwitch;
  before = *info;
  return Seen::kNothing;
}

Result<SubnetWatch::Seen> SubnetWatch::Look(MadTransport& transport, const std::stop_token& stop) {
  if (!last_) return Seen::kNothing;
  const std::size_t managers = last_->managers.size();
  Window window(transport, options_.window, [&](const Order& order, std::uint32_t transaction) {
    const std::uint32_t index = order.at.node;
    return MadPacket{.mad = subnet::Encode(
                         {.attribute = order.attribute,
                          .transaction = transaction,
                          .m_key = options_.m_key,
                          .route = index < managers ? last_->managers[index].route
                                                    : last_->switches[index - managers].route})};
  });
  for (std::uint32_t i = 0; i < managers + last_->switches.size(); ++i)
    (void)window.Ask({.attribute = i < managers ? subnet::Attribute::kSubnetManagerInfo
                                                : subnet::Attribute::kSwitchInfo,
                      .at = {i, 0}});
  Seen seen = Seen::kNothing;
  for (std::vector<Done> done; !window.idle(); done.clear()) {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    RETURN_IF_ERROR(window.Step(clock_.Now().steady, std::chrono::milliseconds(100), done));
    for (const Done& each : done) seen = std::max(seen, Compare(each));
  }
  return seen;
}

}  // namespace fabric::agent
