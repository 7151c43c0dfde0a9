// Leaf switch and pod of each port. Sources in order: LLDP, the operator's InfiniBand topology
// file, the profile. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/infiniband_topology.h"
#include "daemon/profile/places.h"

namespace fabric::fleet {

using profile::Site;

// Coverage of the active InfiniBand fabric ports by the InfiniBand topology.
struct TopologyCoverage {
  std::uint32_t placed = 0;
  std::uint32_t unknown = 0;  // Not in the file, or ambiguous there
  // Ports among `placed` whose LID differs from the file: the file is out of date.
  std::uint32_t lid_mismatches = 0;

  friend bool operator==(const TopologyCoverage&, const TopologyCoverage&) = default;
};

class Sites {
 public:
  Sites() = default;  // LLDP only
  explicit Sites(profile::Places places) : places_(std::move(places)) {}

  void set_places(profile::Places places) { places_ = std::move(places); }
  const InfinibandTopology& infiniband() const { return infiniband_; }
  void set_infiniband(InfinibandTopology topology) {
    infiniband_ = std::move(topology);
    ++infiniband_version_;
  }
  // Differs after each set_infiniband. Indexes of switches are valid for one version only.
  std::uint64_t infiniband_version() const { return infiniband_version_; }

  // Leaf: system name of the LLDP neighbor, else its chassis id, else the switch in the InfiniBand
  // topology, else the profile's leaf. Pod: always the profile's.
  Site Of(const PortView& port) const;
  // Port of the leaf, by LLDP, else its number in the InfiniBand topology. Empty: not known.
  std::string LeafPort(const PortView& port) const;

  TopologyCoverage Cover(const NodeView& node) const;

 private:
  const Attachment* AttachmentOf(const PortView& port) const;

  profile::Places places_;
  InfinibandTopology infiniband_;
  std::uint64_t infiniband_version_ = 0;
};

}  // namespace fabric::fleet
