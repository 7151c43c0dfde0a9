// Where in the fabric ports are: as they hear it by LLDP, else as the InfiniBand topology that the
// operator gives has it, else as the profile says. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/infiniband_topology.h"
#include "daemon/profile/places.h"

namespace fabric::fleet {

using profile::Site;

// How far the InfiniBand topology covers the InfiniBand ports of the fabric that are up.
struct TopologyCover {
  std::uint32_t placed = 0;
  std::uint32_t unknown = 0;  // Not in the file, or contradictory there
  // Of those placed: have another LID than in the file, which is then older than the fabric's
  // state.
  std::uint32_t other_lid = 0;

  friend bool operator==(const TopologyCover&, const TopologyCover&) = default;
};

class Sites {
 public:
  Sites() = default;  // What is heard, and nothing else.
  explicit Sites(profile::Places places) : places_(std::move(places)) {}

  const InfinibandTopology& infiniband() const { return infiniband_; }
  void set_infiniband(InfinibandTopology topology) { infiniband_ = std::move(topology); }

  // The leaf is the switch that the port's neighbour is, by its system name, else by its chassis
  // id; where nobody was heard, the switch of the InfiniBand topology; else the one that the
  // profile names. The pod is always the profile's.
  Site Of(const PortView& port) const;
  // The leaf's port: of LLDP, or its number in the InfiniBand topology. Empty: not known.
  std::string LeafPort(const PortView& port) const;

  TopologyCover Cover(const FleetView& fleet) const;

 private:
  const Plug* PlugOf(const PortView& port) const;

  profile::Places places_;
  InfinibandTopology infiniband_;
};

}  // namespace fabric::fleet
