#include "daemon/fleet/rails.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "daemon/fleet/fleet.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/port_order.h"
#include "daemon/fleet/subnet.h"

namespace fabric::fleet {
namespace {

// Machines without a product name may be of any kind. With more layouts than this, rails follow the
// order of the ports.
constexpr std::size_t kLayoutsMax = 16;

std::string SlotOf(const v1::NodeSnapshot& snapshot, const OrderedPort& port) {
  const v1::PciFunction* const function = FindFunction(snapshot, port.device->pci_address());
  return function != nullptr ? function->slot() : std::string();
}

// Subnet of the port, else the name of its switch. Empty: unknown.
std::string NetworkOf(const v1::NodeSnapshot& snapshot, const OrderedPort& port) {
  constexpr std::string_view kDefaultPrefix = "fe80:0000:0000:0000";
  if (port.port->has_subnet_prefix() && port.port->subnet_prefix() != kDefaultPrefix)
    return port.port->subnet_prefix();
  if (port.netdev == nullptr) return {};
  for (const std::string& address : port.netdev->addresses())
    if (const auto subnet = ParseSubnet(address)) return ToString(*subnet);
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors())
    if (neighbor.netdev() == port.netdev->name()) return neighbor.system_name();
  return {};
}

RailPlaces PlacesOf(const v1::NodeSnapshot& snapshot) {
  RailPlaces places;
  for (const OrderedPort& port : PortsInOrder(snapshot))
    if (port.fabric)
      places.push_back({.place = port.Place(),
                        .slot = SlotOf(snapshot, port),
                        .network = NetworkOf(snapshot, port)});
  return places;
}

std::vector<std::string> NamesOf(const RailPlaces& places) {
  std::vector<std::string> names;
  for (const RailPlace& place : places) names.push_back(place.place);
  return names;
}

// Both are sets of places; half of `places` are in `layout`.
template <class Layout>
bool IsSimilar(const std::vector<std::string>& places, const Layout& layout) {
  const auto common = std::count_if(places.begin(), places.end(), [&](const std::string& place) {
    return std::find(layout.begin(), layout.end(), place) != layout.end();
  });
  return 2 * static_cast<std::size_t>(common) >= places.size();
}

// The rail whose network the port has, if it is free and no other rail has this network.
std::optional<std::size_t> RailOfNetwork(const RailPlaces& layout, const std::vector<bool>& taken,
                                         const std::string& network) {
  std::optional<std::size_t> found;
  for (std::size_t rail = 0; rail < layout.size(); ++rail) {
    if (network.empty() || layout[rail].network != network) continue;
    if (found) return {};
    found = rail;
  }
  return found && !taken[*found] ? found : std::nullopt;
}

// The rails of `ports` by their places in `layout`.
NodeRails RailsBy(const RailPlaces& layout, RailSource source, const RailPlaces& ports) {
  std::vector<std::optional<PortRail>> rails(ports.size());
  std::vector<bool> taken(layout.size(), false);
  const auto take = [&](std::size_t port, std::size_t rail, RailSource by) {
    if (rail >= taken.size()) taken.resize(rail + 1, false);
    taken[rail] = true;
    rails[port] = PortRail{.rail = Rail(static_cast<std::uint32_t>(rail)), .source = by};
  };
  for (std::size_t i = 0; i < ports.size(); ++i)
    for (std::size_t rail = 0; rail < layout.size(); ++rail)
      if (layout[rail].place == ports[i].place) take(i, rail, source);
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (!rails[i])
      if (const auto rail = RailOfNetwork(layout, taken, ports[i].network))
        take(i, *rail, RailSource::kNetwork);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (rails[i]) continue;
    const auto free = std::find(taken.begin(), taken.end(), false);
    take(i, static_cast<std::size_t>(free - taken.begin()), RailSource::kOrder);
  }
  NodeRails result;
  for (const auto& rail : rails) result.ports.push_back(*rail);
  for (std::size_t rail = 0; rail < layout.size(); ++rail)
    if (!taken[rail])
      result.missing.push_back(
          {.rail = Rail(static_cast<std::uint32_t>(rail)),
           .place = layout[rail].place.substr(0, layout[rail].place.rfind('/')),
           .slot = layout[rail].slot});
  return result;
}

// By the list of the profile.
NodeRails RailsOfCards(const google::protobuf::RepeatedPtrField<std::string>& cards,
                       const v1::NodeSnapshot& snapshot) {
  RailPlaces layout;
  for (const std::string& card : cards)
    layout.push_back({.place = card.find('/') == std::string::npos ? card + "/1" : card,
                      .slot = {},
                      .network = {}});
  RailPlaces places = PlacesOf(snapshot);
  for (RailPlace& place : places) {
    const std::string in_slot = place.slot + place.place.substr(place.place.rfind('/'));
    const auto is_listed = [&](const RailPlace& each) { return each.place == in_slot; };
    if (std::any_of(layout.begin(), layout.end(), is_listed)) place.place = in_slot;
  }
  return RailsBy(layout, RailSource::kProfile, places);
}

// Value of `rail_cards` for GPU affinity.
constexpr std::string_view kByGpu = "gpu";

// UNSPECIFIED: not known.
v1::PciDistance DistanceOf(const v1::NodeSnapshot& snapshot, const std::string& gpu,
                           const std::string& device) {
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths())
    if (path.gpu() == gpu && path.device() == device) return path.distance();
  return v1::PCI_DISTANCE_UNSPECIFIED;
}

// No GPU is nearer to the device.
bool IsNearest(const v1::NodeSnapshot& snapshot, v1::PciDistance distance,
               const std::string& device) {
  return distance != v1::PCI_DISTANCE_UNSPECIFIED &&
         std::none_of(snapshot.gpu_nic_paths().begin(), snapshot.gpu_nic_paths().end(),
                      [&](const v1::GpuNicPath& path) {
                        return path.device() == device && path.distance() < distance &&
                               path.distance() != v1::PCI_DISTANCE_UNSPECIFIED;
                      });
}

// Each GPU, by PCI address, takes the nearest port that no other GPU is nearer to. Its number is
// the rail, so that a missing card shifts no other one. Ports without a GPU follow.
NodeRails RailsOfGpus(const v1::NodeSnapshot& snapshot) {
  std::vector<OrderedPort> ports;
  for (const OrderedPort& port : PortsInOrder(snapshot))
    if (port.fabric) ports.push_back(port);
  std::set<std::string> gpus;
  for (const v1::Gpu& gpu : snapshot.gpus()) gpus.insert(gpu.pci_address());
  NodeRails rails;
  rails.ports.resize(ports.size());
  std::vector<bool> taken(ports.size(), false);
  std::uint32_t next = 0;
  for (const std::string& gpu : gpus) {
    std::optional<std::pair<v1::PciDistance, std::size_t>> best;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const v1::PciDistance distance = DistanceOf(snapshot, gpu, ports[i].device->name());
      const std::pair candidate(distance, i);
      if (!taken[i] && IsNearest(snapshot, distance, ports[i].device->name()) &&
          (!best || candidate < *best))
        best = candidate;
    }
    if (best) {
      taken[best->second] = true;
      rails.ports[best->second] = {.rail = Rail(next), .source = RailSource::kGpu};
    }
    ++next;
  }
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (!taken[i]) rails.ports[i] = {.rail = Rail(next++), .source = RailSource::kOrder};
  return rails;
}

}  // namespace

std::string_view RailSourceName(RailSource source) {
  switch (source) {
    case RailSource::kPast: return "past";
    case RailSource::kNetwork: return "network";
    case RailSource::kProduct: return "product";
    case RailSource::kProfile: return "profile";
    case RailSource::kGpu: return "gpu";
    case RailSource::kOrder: break;
  }
  return "order";
}

// The similar layout that most nodes have; with equal counts, the one with most rails. A layout
// half as frequent as that is a configuration of its own.
const RailLayouts::Layout* RailLayouts::ReferenceOf(const Product& product, const Places& places) {
  const Layout& own = product.at(places);
  const Layout* best = &own;
  const auto rank = [](const Layout& each) {
    return std::pair(each.nodes.size(), each.rails.size());
  };
  for (const auto& [other, layout] : product)
    if (rank(layout) > rank(*best) && IsSimilar(places, other)) best = &layout;
  const bool is_common = own.nodes.size() >= 2 && 2 * own.nodes.size() >= best->nodes.size();
  return is_common ? &own : best;
}

void RailLayouts::Leave(Product& product, const Places& places, const std::string& node) {
  const auto left = product.find(places);
  if (left == product.end()) return;
  left->second.nodes.erase(node);
  if (!left->second.nodes.empty()) return;
  for (auto& [other, layout] : product)
    if (layout.reference == &left->second) layout.reference = nullptr;
  product.erase(left);
}

void RailLayouts::FindReferences(Product& product, std::vector<std::string>& changed) {
  for (auto& [places, layout] : product) {
    const Layout* const reference =
        product.size() > kLayoutsMax ? nullptr : ReferenceOf(product, places);
    // The second node of a layout confirms it.
    if (std::exchange(layout.reference, reference) != reference || layout.nodes.size() <= 2)
      changed.insert(changed.end(), layout.nodes.begin(), layout.nodes.end());
  }
}

NodeRails RailLayouts::Compute(Known& node, const NodeRecord& record) const {
  if (profile_ != nullptr && !profile_->name().empty()) {
    const v1::Expectations expected = profile_->Expect(profile_->Match({.node = record.name}));
    if (expected.rail_cards_size() == 1 && expected.rail_cards(0) == kByGpu)
      return RailsOfGpus(record.snapshot);
    if (!expected.rail_cards().empty()) return RailsOfCards(expected.rail_cards(), record.snapshot);
  }
  const Product& product = products_.at(*node.product);
  const Layout& own = product.at(node.places);
  const RailPlaces ports = PlacesOf(record.snapshot);
  // Without cards, now and before: a head node may have the product of the compute nodes.
  const bool may_be_head_node = ports.empty() && record.snapshot.gpus().empty();
  // The cards that it had: all of them, or if equal nodes still have them or there are none.
  const bool all_gone = ports.empty() && !node.past.empty();
  const bool by_past =
      all_gone || ((own.reference == nullptr || own.reference == &own) &&
                   node.past.size() > ports.size() && IsSimilar(node.places, NamesOf(node.past)) &&
                   (own.nodes.size() == 1 || product.contains(NamesOf(node.past))));
  // Two machines without a product name may be of different kinds.
  const std::size_t nodes_min = node.product->empty() || own.reference == &own ? 2 : 1;
  NodeRails rails;
  if (by_past)
    rails = RailsBy(node.past, RailSource::kPast, ports);
  else if (!may_be_head_node && own.reference != nullptr &&
           own.reference->nodes.size() >= nodes_min)
    rails = RailsBy(own.reference->rails, RailSource::kProduct, ports);
  else
    rails = RailsBy({}, RailSource::kOrder, ports);
  if (!rails.missing.empty() || ports.empty()) return rails;
  node.past.assign(ports.size(), {});
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (const auto rail = rails.ports[i].rail.value(); rail < node.past.size())
      node.past[rail] = ports[i];
  return rails;
}

bool RailLayouts::Assign(NodeRecord& record) {
  const auto known = nodes_.find(record.name);
  if (known == nodes_.end()) return false;
  NodeRails rails = Compute(known->second, record);
  if (rails == record.rails) return false;
  record.rails = std::move(rails);
  return true;
}

std::vector<std::string> RailLayouts::Put(NodeRecord& record) {
  RailPlaces ports = PlacesOf(record.snapshot);
  Places places = NamesOf(ports);
  const std::string& product = record.snapshot.host().product();
  Known& node = nodes_[record.name];
  std::vector<std::string> others;
  if (node.places != places || node.product != product) {
    if (node.product) Leave(products_[*node.product], node.places, record.name);
    if (node.product && node.product != product) FindReferences(products_[*node.product], others);
    node.places = std::move(places);
    node.product = product;
    Layout& layout = products_[product][node.places];
    layout.nodes.insert(record.name);
    if (*layout.nodes.begin() == record.name) layout.rails = std::move(ports);
    FindReferences(products_[product], others);
    std::erase(others, record.name);
  }
  (void)Assign(record);
  return others;
}

const RailPlaces& RailLayouts::PastOf(const std::string& node) const {
  static const RailPlaces kNone;
  const auto known = nodes_.find(node);
  return known == nodes_.end() ? kNone : known->second.past;
}

std::vector<std::string> RailLayouts::Remove(const std::string& node) {
  std::vector<std::string> others;
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return others;
  if (known->second.product) {
    Product& product = products_[*known->second.product];
    Leave(product, known->second.places, node);
    FindReferences(product, others);
    if (product.empty()) products_.erase(*known->second.product);
  }
  nodes_.erase(known);
  return others;
}

void AssignRails(std::vector<NodeRecord>& records, const profile::Profile& profile) {
  RailLayouts layouts;
  layouts.SetProfile(&profile);
  for (NodeRecord& record : records) (void)layouts.Put(record);
  for (NodeRecord& record : records) (void)layouts.Assign(record);
}

}  // namespace fabric::fleet
