// What rules and planner see: the connected nodes, their ports joined with netdevs, and the rails.
//
// A rail is the set of ports with the same index over the nodes. A node's ports are ordered by PCI
// address, then port number; a software device takes the PCI address of its netdev; ports without
// one come last, in the natural order of netdev and device names. What the agent classified as
// fabric counts, up or down, with or without netdev (leaving one out would shift the rails of those
// behind it); without a class, of an old agent, every RDMA port of a host adapter does. Functions
// that another one on the node stands for (VFs, sub-functions, representors), storage, management
// and NVSwitch management do not count, nor do ports of switches and routers.
//
// Borrows from the Fleet it was made of and is valid until that changes.
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

// What the profile expects of a port or node.
struct Expectation {
  std::string profile;  // Its name; empty: there is none, and nothing is expected.
  v1::Expectations values;
};

// One RDMA port with all that belongs to it, and what most rules ask of it first.
struct PortView {
  const NodeRecord* node = nullptr;
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
  const v1::NetInterface* netdev = nullptr;  // nullptr: none, or not known
  std::optional<Rail> rail;                  // Absent: does not count as a fabric port
  const Expectation* expectation = nullptr;  // Never nullptr in a FleetView
  CounterPlaces counters = {kNoCounters, kNoCounters, kNoCounters};  // For node->motion
  bool roce = false;                                                 // See IsRoce()
  bool up = false;                                                   // ACTIVE, or not known
  // Whose settings hold: the netdev, or the first member with DCB where that is a bond.
  const v1::NetInterface* wire = nullptr;     // nullptr: there is none
  const v1::PciFunction* function = nullptr;  // Of the device; nullptr: not known
  // Who was heard on its wire; on a bond also the bond, or members that all hear one switch.
  // nullptr: nobody, or several at once, of which none can be told to be the switch.
  const v1::LldpNeighbor* neighbor = nullptr;
  std::optional<Subnet> subnet;  // The first of the netdev; of live machines only
  MovedCounts moved;             // Of `counters`, within the last window
  MovedCounts moved_on_link;     // Of LinkPlaces(), within the last hour or less
  bool carries_roce = false;     // A fabric port with RoCE that is up and not unused by design
  // Equal for ports that are used alike: of machines alike, with the same model of card (or the
  // same driver, where the model is not known). Ports of one rail need not be: a fleet may hold
  // several products, and what GPU nodes and storage nodes have at one index says nothing about the
  // other.
  std::uint64_t kind = 0;

  const v1::Expectations& expected() const { return expectation->values; }
  v1::Subject Subject() const;  // Scope port, with netdev and rail
  // Of the link itself: the netdev's counters on Ethernet, where those of the RDMA port count RDMA
  // alone.
  CounterPlaces LinkPlaces() const;
};

struct NodeView {
  const NodeRecord* node = nullptr;
  std::vector<PortView> ports;               // In rail order, those without a rail last
  const Expectation* expectation = nullptr;  // Of the node as a whole
  // Equal for machines alike: of one product (or all unknown), with as many fabric ports. One that
  // lacks a card is like no other: behind the gap its rails are not those of the others.
  std::uint64_t kind = 0;
  // Equal for machines of one product, whatever cards they lack. Where the product is not known,
  // for machines with the same models of cards in the same order: nothing else tells them apart.
  std::uint64_t product = 0;

  const v1::Expectations& expected() const { return expectation->values; }
};

// What one profile expects, put together once for all ports that match the same overrides. What it
// gives lives as long as itself.
class ExpectationTable {
 public:
  const Expectation* Of(const profile::Profile& profile, const profile::Traits& traits);

 private:
  std::map<profile::Overrides, std::unique_ptr<const Expectation>> known_;
};

// Borrows from the record, and is valid until that changes.
NodeView ViewOf(const NodeRecord& record, const profile::Profile& profile,
                ExpectationTable& expectations);

// The same after the record's counters alone have changed, or how they move.
void UpdateCounters(NodeView& node);

class FleetView {
 public:
  // Lost nodes are left out: nothing is known about them now.
  explicit FleetView(const Fleet& fleet, const profile::Profile& profile = {});
  // Every node of these, whatever its state: for offline use.
  explicit FleetView(std::span<const NodeRecord> records, const profile::Profile& profile = {});
  // Of nodes that were looked at before; borrows what they borrow.
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

// The GID that probes and jobs use: on RoCE the first RoCE v2 GID that is not link-local, IPv4
// before IPv6; GID 0 on InfiniBand. nullptr when there is none.
const v1::Gid* UsableGid(const v1::RdmaDevice& device, const v1::Port& port);

// nullptr: not among the functions of the snapshot, which are sorted by address.
const v1::PciFunction* FindFunction(const v1::NodeSnapshot& snapshot, std::string_view address);

// True when traffic over the port is RoCE (not InfiniBand, not iWARP).
bool IsRoce(const v1::RdmaDevice& device, const v1::Port& port);

}  // namespace fabric::fleet
