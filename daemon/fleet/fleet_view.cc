#include "daemon/fleet/fleet_view.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/lists.h"
#include "daemon/fleet/card_type.h"
#include "daemon/fleet/port_order.h"
#include "proto/ports.h"

namespace fabric::fleet {
namespace {

profile::Traits TraitsOf(const PortView& view) {
  return {.node = view.node->name,
          .device = view.device->name(),
          .netdev = view.port->netdev(),
          .model = view.device->model(),
          .driver = view.device->driver(),
          .rail = view.rail};
}

const v1::NetInterface* WireOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface* netdev) {
  if (netdev == nullptr || netdev->has_dcb() || !netdev->has_bond()) return netdev;
  const v1::NetInterface* first = nullptr;
  for (const std::string& member : netdev->bond().members()) {
    const v1::NetInterface* const found = FindNetdev(snapshot, member);
    if (found != nullptr && found->has_dcb()) return found;
    if (first == nullptr) first = found;
  }
  return first != nullptr ? first : netdev;
}

// nullptr for an empty message.
const v1::DcbConfig* ReportedDcb(const v1::NetInterface* wire) {
  if (wire == nullptr) return nullptr;
  const v1::DcbConfig& dcb = wire->dcb();
  const bool reported = !dcb.source().empty() || dcb.has_pfc() || dcb.has_trust() || dcb.has_ets();
  return reported ? &dcb : nullptr;
}

std::optional<Subnet> SubnetOf(const v1::NetInterface* netdev) {
  if (netdev == nullptr) return {};
  for (const std::string& address : netdev->addresses())
    if (const auto subnet = ParseSubnet(address)) return subnet;
  return {};
}

const v1::LldpNeighbor* LldpNeighborOn(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  const v1::LldpNeighbor* found = nullptr;
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors()) {
    if (neighbor.netdev() != netdev) continue;
    if (found != nullptr) return nullptr;
    found = &neighbor;
  }
  return found;
}

// IEEE 802.1AB requires a chassis id; captured data may lack it.
bool SameSwitch(const v1::LldpNeighbor& a, const v1::LldpNeighbor& b) {
  return a.chassis_id() == b.chassis_id() &&
         (!a.chassis_id().empty() || a.system_name() == b.system_name());
}

PortView ViewOf(const NodeRecord& record, const OrderedPort& ordered) {
  const v1::NodeSnapshot& snapshot = record.snapshot;
  const v1::RdmaDevice& device = *ordered.device;
  const v1::Port& port = *ordered.port;
  PortView view = {.node = &record, .device = &device, .port = &port, .netdev = ordered.netdev};
  view.fabric = ordered.fabric;
  view.roce = IsRoce(device, port);
  view.up = !port.has_state() || port.state() == v1::PORT_STATE_ACTIVE;
  view.wire = WireOf(snapshot, view.netdev);
  if (device.has_pci_address()) view.function = FindFunction(snapshot, device.pci_address());
  view.subnet = SubnetOf(view.netdev);
  view.neighbor = LldpNeighborOf(snapshot, view.netdev);
  if (view.neighbor != nullptr) view.switch_name = SwitchNameOf(*view.neighbor);
  for (const SwitchOfPort& known : record.switches) {
    if (known.port != port.number() || known.device != device.name()) continue;
    view.switch_name = known.name;
    view.switch_port = known.switch_port;
  }
  return view;
}

// The rails of the record, else by order. Then sorts the ports by rail.
void SetRails(NodeView& view) {
  std::size_t fabric = 0;
  for (const PortView& port : view.ports) fabric += port.fabric ? 1 : 0;
  const NodeRails& rails = view.node->rails;
  const bool known = rails.ports.size() == fabric;
  std::size_t next = 0;
  for (PortView& port : view.ports) {
    if (!port.fabric) continue;
    port.rail = known ? rails.ports[next].rail : Rail(static_cast<std::uint32_t>(next));
    port.rail_source = known ? rails.ports[next].source : RailSource::kOrder;
    ++next;
  }
  if (!known) return;
  view.missing_cards = rails.missing;
  const auto order = [](const PortView& a, const PortView& b) {
    if (a.rail.has_value() != b.rail.has_value()) return a.rail.has_value();
    return a.rail && a.rail->value() < b.rail->value();
  };
  if (!std::is_sorted(view.ports.begin(), view.ports.end(), order))
    std::stable_sort(view.ports.begin(), view.ports.end(), order);
}

std::uint64_t Mixed(std::uint64_t before, std::uint64_t hash) {
  return (before ^ hash) * kGoldenRatio;
}

std::uint64_t Hashed(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

// Computed once, because every rule reads it for every port.
void FindKinds(NodeView& node) {
  const std::string& product = node.node->snapshot.host().product();
  std::uint64_t rails = node.missing_cards.size();
  std::uint64_t cards = 0;
  for (PortView& port : node.ports) {
    port.model = ModelOf(node.ports, port);
    port.board = BoardOf(node.ports, port);
    port.kind = Hashed(port.model.empty() ? port.device->driver() : port.model);
    if (!port.rail) continue;
    ++rails;
    cards = Mixed(cards, port.kind);
  }
  const std::uint64_t named = Hashed(product);
  node.kind = Mixed(rails, named);
  node.product = product.empty() ? cards : Mixed(0, named);
  for (PortView& port : node.ports) port.kind = Mixed(node.kind, port.kind);
}

}  // namespace

// The neighbor of a bond's members counts only if all of them have the same switch.
const v1::LldpNeighbor* LldpNeighborOf(const v1::NodeSnapshot& snapshot,
                                       const v1::NetInterface* netdev) {
  if (snapshot.lldp_neighbors().empty() || netdev == nullptr) return nullptr;
  if (const v1::LldpNeighbor* const own = LldpNeighborOn(snapshot, netdev->name())) return own;
  const v1::LldpNeighbor* found = nullptr;
  for (const std::string& member : netdev->bond().members()) {
    const v1::LldpNeighbor* const heard = LldpNeighborOn(snapshot, member);
    if (heard == nullptr) continue;
    if (found != nullptr && !SameSwitch(*found, *heard)) return nullptr;
    if (found == nullptr) found = heard;
  }
  return found;
}

const std::string& SwitchPortOf(const v1::LldpNeighbor& neighbor) {
  constexpr std::uint32_t kPortIdIsMac = 3;  // IEEE 802.1AB, 8.5.3.2
  const bool mac = neighbor.port_id_subtype() == kPortIdIsMac;
  return mac && !neighbor.port_description().empty() ? neighbor.port_description()
                                                     : neighbor.port_id();
}

const std::string& SwitchNameOf(const v1::LldpNeighbor& neighbor) {
  return neighbor.system_name().empty() ? neighbor.chassis_id() : neighbor.system_name();
}

v1::Subject PortView::Subject() const {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_PORT);
  subject.set_node(node->name);
  subject.set_device(device->name());
  subject.set_port(port->number());
  subject.set_netdev(port->netdev());
  if (rail) subject.set_rail(rail->value());
  return subject;
}

const v1::DcbConfig* PortView::Dcb() const {
  return ReportedDcb(wire);
}

const v1::DcbConfig* DcbOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface* netdev) {
  return ReportedDcb(WireOf(snapshot, netdev));
}

CounterSetIndexes PortView::LinkCounterSets() const {
  if (port->link_layer() == v1::LINK_LAYER_ETHERNET) return {counters[2], kNoCounters, kNoCounters};
  return counters;
}

FleetView::FleetView(const Fleet& fleet, const profile::Profile& profile) {
  nodes_.reserve(fleet.nodes().size());
  for (const auto& [name, record] : fleet.nodes())
    if (record.state == v1::NODE_STATE_CONNECTED)
      nodes_.push_back(ViewOf(record, profile, expectations_));
  FillRails();
}

FleetView::FleetView(std::span<const NodeRecord> records, const profile::Profile& profile) {
  nodes_.reserve(records.size());
  for (const NodeRecord& record : records) nodes_.push_back(ViewOf(record, profile, expectations_));
  FillRails();
}

FleetView::FleetView(std::vector<NodeView> nodes) : nodes_(std::move(nodes)) {
  FillRails();
}

const Expectation* ExpectationTable::Of(const profile::Profile& profile,
                                        const profile::Traits& traits) {
  profile::Overrides overrides = profile.Match(traits);
  auto& known = known_[overrides];
  if (known == nullptr)
    known = std::make_unique<const Expectation>(
        Expectation{.profile = profile.name(), .values = profile.Expect(overrides)});
  return known.get();
}

NodeView ViewOf(const NodeRecord& record, const profile::Profile& profile,
                ExpectationTable& expectations) {
  NodeView view;
  Fill(view, record, profile, expectations);
  return view;
}

void Fill(NodeView& view, const NodeRecord& record, const profile::Profile& profile,
          ExpectationTable& expectations) {
  view.node = &record;
  view.expectation = expectations.Of(profile, {.node = record.name});
  view.ports.clear();
  view.ports.reserve(static_cast<std::size_t>(record.snapshot.rdma_devices_size()));
  view.missing_cards.clear();
  for (const OrderedPort& port : PortsInOrder(record.snapshot))
    view.ports.push_back(ViewOf(record, port));
  SetRails(view);
  bool storage = false;
  for (PortView& port : view.ports) {
    port.expectation = expectations.Of(profile, TraitsOf(port));
    if (port.expected().storage()) {
      port.rail.reset();
      port.fabric = false;
      storage = true;
    }
    port.carries_roce = port.rail && port.roce && port.up && !port.expected().unused();
  }
  if (storage)
    std::stable_partition(view.ports.begin(), view.ports.end(),
                          [](const PortView& port) { return port.rail.has_value(); });
  FindKinds(view);
  UpdateCounters(view);
}

void UpdateCounters(NodeView& node) {
  const NodeRecord& record = *node.node;
  for (PortView& port : node.ports) {
    port.counters = CounterSetsOf(record.snapshot, *port.device, *port.port);
    port.activity = record.rates.ActivityOf(port.counters);
    port.link_activity = record.rates.ActivityInHour(port.LinkCounterSets());
  }
}

void FleetView::FillRails() {
  std::sort(nodes_.begin(), nodes_.end(),
            [](const NodeView& a, const NodeView& b) { return a.node->name < b.node->name; });
  for (const NodeView& node : nodes_) {
    for (const PortView& port : node.ports) {
      if (!port.rail) continue;
      if (rails_.size() <= port.rail->value()) rails_.resize(port.rail->value() + 1);
      rails_[port.rail->value()].push_back(port);
    }
  }
}

const NodeView* FleetView::Find(std::string_view node) const {
  const auto at =
      std::lower_bound(nodes_.begin(), nodes_.end(), node,
                       [](const NodeView& a, std::string_view b) { return a.node->name < b; });
  return at != nodes_.end() && at->node->name == node ? &*at : nullptr;
}

const v1::Gid* UsableGid(const v1::RdmaDevice& device, const v1::Port& port) {
  if (port.link_layer() == v1::LINK_LAYER_INFINIBAND) {
    for (const v1::Gid& gid : port.gids())
      if (gid.index() == 0) return &gid;
    return nullptr;
  }
  if (!IsRoce(device, port)) return nullptr;
  const v1::Gid* best = nullptr;
  for (const v1::Gid& gid : port.gids()) {
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) continue;
    const bool better = best == nullptr || (best->ipv4().empty() && !gid.ipv4().empty());
    if (better) best = &gid;
  }
  return best;
}

const v1::PciFunction* FindFunction(const v1::NodeSnapshot& snapshot, std::string_view address) {
  const auto& functions = snapshot.pci_functions();
  const auto found = std::lower_bound(
      functions.begin(), functions.end(), address,
      [](const v1::PciFunction& function, std::string_view a) { return function.address() < a; });
  return found != functions.end() && found->address() == address ? &*found : nullptr;
}

bool IsRoce(const v1::RdmaDevice& device, const v1::Port& port) {
  if (port.link_layer() == v1::LINK_LAYER_INFINIBAND) return false;
  if (device.has_protocol()) return device.protocol() == v1::PROTOCOL_ROCE;
  return port.link_layer() == v1::LINK_LAYER_ETHERNET && device.node_type() == v1::NODE_TYPE_CA;
}

}  // namespace fabric::fleet
