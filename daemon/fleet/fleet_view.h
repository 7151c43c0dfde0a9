// Read-only view of the fleet for rules and the planner: connected nodes, their RDMA ports joined
// with netdevs, and the rails.
//
// A rail is the set of ports with the same index on all nodes: that of the record (rails.h), else
// the index in the order of the ports (port_order.h).
//
// A port gets a rail if the agent classified its device as fabric, whether the port is up or down,
// with or without a netdev: skipping one would shift the rails of the ports after it. Without a
// classification (old agents) every RDMA port of a host adapter gets a rail. These get none: VFs,
// sub-functions, representors, storage, management, NVSwitch management, ports of switches and
// routers.
//
// Borrows from the Fleet; valid until the Fleet changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/subnet.h"
#include "daemon/profile/profile.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::fleet {

// The profile's expectations of a port or node.
struct Expectation {
  std::string profile;  // Name of the profile; empty: no profile, no expectations
  v1::Expectations values;
};

// One RDMA port with related objects and the properties that most rules need.
struct PortView {
  const NodeRecord* node = nullptr;
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
  const v1::NetInterface* netdev = nullptr;  // nullptr: none, or not known
  std::optional<Rail> rail;                  // Absent: does not count as a fabric port
  RailSource rail_source = RailSource::kOrder;
  const Expectation* expectation = nullptr;  // Never nullptr in a FleetView
  CounterSetIndexes counters = {kNoCounters, kNoCounters, kNoCounters};  // For node->rates
  bool fabric = false;                                                   // Has a rail
  bool roce = false;                                                     // See IsRoce()
  bool up = false;                                                       // ACTIVE, or not known
  // The netdev that has the DCB settings: `netdev`, or the first member with DCB of a bond.
  const v1::NetInterface* wire = nullptr;     // nullptr: none
  const v1::PciFunction* function = nullptr;  // Of the device; nullptr: not known
  // LLDP neighbor of the netdev. On a bond also a neighbor of the members, if all members have the
  // same one. nullptr: no neighbor, or several.
  const v1::LldpNeighbor* neighbor = nullptr;
  // Switch of the port: by LLDP or the InfiniBand topology, now or before its link went down.
  // Empty: unknown.
  std::string_view switch_name;
  std::string_view switch_port;   // Likewise: "swp5"
  std::optional<Subnet> subnet;   // First IPv4 subnet of the netdev; live machines only
  CounterActivity activity;       // Of `counters`, within the last window
  CounterActivity link_activity;  // Of LinkCounterSets(), within the last hour or less
  bool carries_roce = false;      // A fabric port with RoCE that is up and not unused by design
  // By card_type.h. Empty: unknown.
  std::string_view model;
  std::string_view board;
  // Equal for comparable ports: nodes of the same kind, and the same adapter model (or driver, if
  // the model is not known). Ports of one rail may differ: in a fleet of several products, the
  // ports of GPU nodes and storage nodes at one index are not comparable.
  std::uint64_t kind = 0;

  const v1::Expectations& expected() const { return expectation->values; }
  v1::Subject Subject() const;  // Scope port, with netdev and rail
  // DCB settings of the link, those of `wire`; nullptr when not reported.
  const v1::DcbConfig* Dcb() const;
  // Counters of the link: on Ethernet the netdev's, because those of the RDMA port cover RDMA only.
  // On InfiniBand the port's; of the IPoIB netdev, those that the port does not have.
  CounterSetIndexes LinkCounterSets() const;
};

struct NodeView {
  const NodeRecord* node = nullptr;
  std::vector<PortView> ports;               // In rail order, those without a rail last
  std::vector<MissingCard> missing_cards;    // Known from equal nodes, the past or the profile
  const Expectation* expectation = nullptr;  // Of the node as a whole
  // Equal for comparable nodes: the same product (or all unknown) and the same number of rails,
  // including those of missing cards.
  std::uint64_t kind = 0;
  // Equal for nodes of one product, including nodes that lack a card. If the product is not known:
  // equal for nodes with the same adapter models in the same order.
  std::uint64_t product = 0;

  const v1::Expectations& expected() const { return expectation->values; }
};

// Cache of the expectations of one profile, by the overrides that match. Returned pointers are
// valid for the lifetime of the table.
class ExpectationTable {
 public:
  const Expectation* Of(const profile::Profile& profile, const profile::Traits& traits);

 private:
  std::map<profile::Overrides, std::unique_ptr<const Expectation>> known_;
};

// The view borrows from the record and is valid until the record changes.
NodeView ViewOf(const NodeRecord& record, const profile::Profile& profile,
                ExpectationTable& expectations);

// The same as `view = ViewOf(...)`, but reuses the memory of `view`.
void Fill(NodeView& view, const NodeRecord& record, const profile::Profile& profile,
          ExpectationTable& expectations);

// Updates the view after only counters or rates of its record changed.
void UpdateCounters(NodeView& node);

class FleetView {
 public:
  // Leaves out lost nodes.
  explicit FleetView(const Fleet& fleet, const profile::Profile& profile = {});
  // All of these nodes, in any state: for offline use.
  explicit FleetView(std::span<const NodeRecord> records, const profile::Profile& profile = {});
  // From existing node views; borrows from the same records.
  explicit FleetView(std::vector<NodeView> nodes);

  std::span<const NodeView> nodes() const { return nodes_; }  // By name
  // Ports of rail r, by node name. Rails are 0 .. rails().size() - 1.
  std::span<const std::vector<PortView>> rails() const { return rails_; }

  const NodeView* Find(std::string_view node) const;

 private:
  void FillRails();

  std::vector<NodeView> nodes_;
  std::vector<std::vector<PortView>> rails_;
  ExpectationTable expectations_;  // Pointed to from ports and nodes
};

// The GID that probes and jobs use. RoCE: the first RoCE v2 GID that is not link-local, IPv4 before
// IPv6. InfiniBand: GID 0. nullptr: none.
const v1::Gid* UsableGid(const v1::RdmaDevice& device, const v1::Port& port);

// DCB settings of a netdev: its own, or those of the first member with DCB when it is a bond.
// nullptr when not reported.
const v1::DcbConfig* DcbOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface* netdev);

// LLDP neighbor of a netdev, or the common one of the members of a bond. nullptr: none, or several.
const v1::LldpNeighbor* LldpNeighborOf(const v1::NodeSnapshot& snapshot,
                                       const v1::NetInterface* netdev);
// System name, else chassis id.
const std::string& SwitchNameOf(const v1::LldpNeighbor& neighbor);
// "swp5": the id, or the description where the id is a MAC address.
const std::string& SwitchPortOf(const v1::LldpNeighbor& neighbor);

// Binary search: the snapshot's functions are sorted by address. nullptr: not found.
const v1::PciFunction* FindFunction(const v1::NodeSnapshot& snapshot, std::string_view address);

// True when traffic over the port is RoCE (not InfiniBand, not iWARP).
bool IsRoce(const v1::RdmaDevice& device, const v1::Port& port);

}  // namespace fabric::fleet
