// Rails of the fabric ports of nodes.
//
// Nodes of one product have their cards in the same places, and a place has the same rail on all of
// them, also when a card of a node is missing. Other rails do not shift. Sources, the first that
// knows:
//
//   kProfile  the list of the profile
//   kGpu      the number of the nearest GPU, if the profile says so
//   kProduct  the place, on most nodes of the product
//   kNetwork  a card in another place: the subnet or switch of the rail on the other nodes
//   kPast     the place, on this node before
//   kOrder    the order of the ports; a card in another place has the rail that is left
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "daemon/fleet/port_order.h"
#include "daemon/profile/profile.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

struct NodeRecord;

enum class RailSource : std::uint8_t { kOrder, kPast, kNetwork, kProduct, kProfile, kGpu };
// "order", "past", "network", "product", "profile", "gpu"
std::string_view RailSourceName(RailSource source);

struct PortRail {
  Rail rail{0};
  RailSource source = RailSource::kOrder;
  friend bool operator==(const PortRail&, const PortRail&) = default;
};

// A rail without a port on this node.
struct MissingCard {
  Rail rail{0};
  std::string place;  // "0000:17:00.0"
  std::string slot;   // Name of the slot; empty: unknown
  friend bool operator==(const MissingCard&, const MissingCard&) = default;
};

struct NodeRails {
  std::vector<PortRail> ports;       // Of the fabric ports, in the order of PortsInOrder()
  std::vector<MissingCard> missing;  // By rail
  friend bool operator==(const NodeRails&, const NodeRails&) = default;
};

// One rail of a layout.
struct RailPlace {
  std::string place;    // OrderedPort::Place()
  std::string slot;     // Empty: unknown
  std::string network;  // Subnet or switch; empty: unknown
};
using RailPlaces = std::vector<RailPlace>;  // By rail

// Layouts of products, and the rails of each node. A value; not thread-safe.
class RailLayouts {
 public:
  // Its expectation `rail_cards` has PCI addresses or names of slots by rail: "0000:17:00.0", "3";
  // "0000:17:00.0/2" for the second port of a card. Ports that are not in the list follow. The one
  // value "gpu" selects GPU affinity. Borrows it. Call it before the first node.
  void SetProfile(const profile::Profile* profile) { profile_ = profile; }
  // Takes the node's places from its snapshot and sets `record.rails`. Returns the names of other
  // nodes of its product whose rails may change as well: call Assign() for them.
  std::vector<std::string> Put(NodeRecord& record);
  // Sets `record.rails`. Returns whether they have changed.
  bool Assign(NodeRecord& record);
  // The layout that a node had before the controller restarted. Call it before Put().
  void Remember(const std::string& node, RailPlaces past) { nodes_[node].past = std::move(past); }
  // The last complete layout of a node; empty: none.
  const RailPlaces& PastOf(const std::string& node) const;
  // Returns the names of nodes whose rails may change, as Put().
  std::vector<std::string> Remove(const std::string& node);

 private:
  using Places = std::vector<std::string>;
  struct Layout {
    RailPlaces rails;  // Of the first of its nodes by name
    std::set<std::string> nodes;
    const Layout* reference = nullptr;  // Whose rails its nodes have; nullptr: by order
  };
  using Product = std::map<Places, Layout>;
  struct Known {                         // Of a node
    std::optional<std::string> product;  // Absent: remembered only
    Places places;
    RailPlaces past;  // Complete layout that it had last; empty: none
  };

  static const Layout* ReferenceOf(const Product& product, const Places& places);
  static void Leave(Product& product, const Places& places, const std::string& node);
  static void FindReferences(Product& product, std::vector<std::string>& changed);

  NodeRails Compute(Known& node, const NodeRecord& record) const;

  const profile::Profile* profile_ = nullptr;
  std::map<std::string, Product> products_;
  std::map<std::string, Known> nodes_;
};

// For records that no Fleet owns.
void AssignRails(std::vector<NodeRecord>& records, const profile::Profile& profile = {});

}  // namespace fabric::fleet
