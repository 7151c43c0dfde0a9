#include "subnet/changes.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/plan.h"
#include "subnet/port_counters.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr int kChangesMax = 64;

std::string Words(const PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

class Changes {
 public:
  void Add(v1::SubnetChangeKind kind, std::string before, std::string now,
           std::uint32_t flaps = 0) {
    event_.set_total(event_.total() + 1);
    if (event_.changes_size() == kChangesMax) return;
    v1::SubnetChange& change = *event_.add_changes();
    change.set_kind(kind);
    change.set_before(std::move(before));
    change.set_now(std::move(now));
    change.set_flaps(flaps);
  }
  bool empty() const { return event_.total() == 0; }
  v1::SubnetEvent Take() { return std::move(event_); }

 private:
  v1::SubnetEvent event_;
};

// GUIDs and ports behind which a device did not answer.
std::set<std::pair<std::uint64_t, std::uint32_t>> SilentEnds(const Subnet& subnet) {
  std::set<std::pair<std::uint64_t, std::uint32_t>> silent;
  if (subnet.reading())
    for (const End end : subnet.reading()->silent)
      silent.emplace(subnet.node(end.node).guid, end.port);
  return silent;
}

// nullptr: not two values of the counters.
const PortDetails* CountedTwice(const Subnet& subnet, End end) {
  const PortDetails* const details = subnet.DetailsOf(subnet.port(end));
  const bool twice = details != nullptr && details->counters && details->first_counters &&
                     details->between.count() > 0;
  return twice ? details : nullptr;
}

// Times that the link of the end was down since the reading before.
std::uint32_t FlapsOf(const Subnet& subnet, End end) {
  const PortDetails* const details = CountedTwice(subnet, end);
  if (details == nullptr) return 0;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(Increase(*details, Counter::kLinkDowned), 0xffffffff));
}

// 0: none, or more than one.
std::uint64_t MasterOf(const Subnet& subnet) {
  const Manager* const master = subnet.Master();
  return master == nullptr ? 0 : master->port_guid;
}

// Empty: none, or more than one.
std::string MasterWords(const Subnet& subnet) {
  const Manager* const master = subnet.Master();
  return master == nullptr ? std::string() : PortGuidWords(subnet, master->port_guid);
}

// Switches whose tables differ, with the number of LIDs.
std::vector<std::string> OtherRoutes(const Subnet& before, const Subnet& now) {
  std::vector<std::string> switches;
  for (const Node& node : now.nodes()) {
    const Node& old = before.node(before.FindGuid(node.guid));
    if (old.routes == node.routes || old.routes.empty() || node.routes.empty()) continue;
    std::size_t lids = 0;
    for (std::uint32_t lid = 1; lid < std::max(old.routes.size(), node.routes.size()); ++lid) {
      const std::uint8_t was = old.RouteTo(lid);
      const std::uint8_t is = node.RouteTo(lid);
      lids += was != is && was != kUnknownRoute && is != kUnknownRoute ? 1 : 0;
    }
    if (lids > 0) switches.push_back(Format("{} ({})", NodeWords(node), Plural(lids, "LID")));
  }
  return switches;
}

constexpr int kCountsMax = 4;

// Errors of another link, and load, are not those of the port.
bool IsErrorOfPort(Counter counter) {
  return counter != Counter::kReceiveRemotePhysicalErrors &&
         counter != Counter::kReceiveSwitchRelayErrors && counter != Counter::kVl15Dropped &&
         counter != Counter::kTransmitWait;
}

// Without counts: no errors, or not known.
v1::SubnetPortErrors ErrorsOf(const Subnet& subnet, End end) {
  v1::SubnetPortErrors errors;
  const PortDetails* const details = CountedTwice(subnet, end);
  if (details == nullptr) return errors;
  for (const CounterField& field : CounterFields()) {
    const std::uint64_t increase = Increase(*details, field.counter);
    if (increase == 0 || !IsErrorOfPort(field.counter)) continue;
    v1::SubnetErrorCount& count = *errors.add_counts();
    count.set_counter(std::string(field.name));
    count.set_increase(increase);
  }
  if (errors.counts().empty()) return errors;
  std::ranges::stable_sort(*errors.mutable_counts(), std::greater(),
                           [](const v1::SubnetErrorCount& count) { return count.increase(); });
  while (errors.counts_size() > kCountsMax) errors.mutable_counts()->RemoveLast();
  errors.set_switch_name(NameOf(subnet.node(end.node)));
  errors.set_port(end.port);
  const End peer = subnet.port(end).Peer();
  if (peer.present()) errors.set_peer(NameOf(subnet.node(peer.node)));
  errors.set_seconds(std::chrono::duration<double>(details->between).count());
  return errors;
}

double RateOf(const v1::SubnetPortErrors& errors) {
  double sum = 0;
  for (const v1::SubnetErrorCount& count : errors.counts())
    sum += static_cast<double>(count.increase());
  return sum / errors.seconds();
}

}  // namespace

bool HaveSameLinks(const Subnet& before, const Subnet& now) {
  if (before.nodes().size() != now.nodes().size()) return false;
  for (const Node& node : now.nodes()) {
    const std::uint32_t index = before.FindGuid(node.guid);
    if (index == kNoNode) return false;
    const auto same = [&](const Port& a, const Port& b) {
      const bool connected = b.peer != kNoNode;
      return a.state == b.state && a.lid == b.lid && (a.peer != kNoNode) == connected &&
             (!connected ||
              (a.peer_port == b.peer_port && before.node(a.peer).guid == now.node(b.peer).guid));
    };
    if (!std::ranges::equal(before.node(index).ports, node.ports, same)) return false;
  }
  return true;
}

v1::SubnetEvent ChangesBetween(const Subnet& before, const Subnet& now, bool settled) {
  Changes changes;
  const PlanComparison found = Compare(PlanOf({}, before), now);
  for (const Miswired& each : found.miswired)
    changes.Add(v1::SUBNET_CHANGE_KIND_MOVED, Words(each.planned),
                CableWords(now, {each.end, each.actual}));
  const auto silent = SilentEnds(now);
  for (const auto& [planned, from, to] : found.missing)
    if (!silent.contains({planned.from.guid, planned.from.port}) &&
        !silent.contains({planned.to.guid, planned.to.port}))
      changes.Add(v1::SUBNET_CHANGE_KIND_GONE, Words(planned), {});
  for (const Cable& each : found.unplanned)
    changes.Add(v1::SUBNET_CHANGE_KIND_NEW, {}, CableWords(now, each));
  for (const Cable& each : now.Cables())
    if (const std::uint32_t flaps = std::max(FlapsOf(now, each.from), FlapsOf(now, each.to));
        flaps > 0)
      changes.Add(v1::SUBNET_CHANGE_KIND_FLAPPED, {}, CableWords(now, each), flaps);
  if (before.reading() && now.reading() && MasterOf(before) != MasterOf(now))
    changes.Add(v1::SUBNET_CHANGE_KIND_MASTER, MasterWords(before), MasterWords(now));
  if (settled && changes.empty() && HaveSameLinks(before, now))
    if (const std::vector<std::string> switches = OtherRoutes(before, now); !switches.empty())
      changes.Add(v1::SUBNET_CHANGE_KIND_ROUTES, {}, ListSome(switches, 4));
  return changes.Take();
}

std::vector<v1::SubnetPortErrors> WorstPorts(const Subnet& subnet, std::size_t ports_max) {
  std::vector<v1::SubnetPortErrors> ports;
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) {
    if (subnet.node(node).type != NodeType::kSwitch) continue;
    for (std::uint32_t port = 1; port < subnet.node(node).ports.size(); ++port)
      if (v1::SubnetPortErrors errors = ErrorsOf(subnet, {node, port}); errors.counts_size() > 0)
        ports.push_back(std::move(errors));
  }
  std::ranges::stable_sort(ports, std::greater(), RateOf);
  if (ports.size() > ports_max) ports.resize(ports_max);
  return ports;
}

}  // namespace fabric::subnet
