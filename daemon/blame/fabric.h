// The ports of a fleet with their places in the fabric, as blame counts them. Pure values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::blame {

// A port and where it is plugged in.
struct Place {
  std::string node;
  std::string device;
  std::uint32_t port = 0;
  std::optional<std::uint32_t> rail;
  std::string leaf;       // The switch, as Sites names it. Empty: not known
  std::string leaf_port;  // The switch's port id. Empty: not known
};

struct Fabric {
  std::vector<Place> places;  // By node, device and port, each of them once
};

// "n7/mlx5_2/1"
std::string NameOf(const Place& place);

// Every port that has a rail, up or down.
Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites = {});

// Its index in places. Absent: no such port.
std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port);

}  // namespace fabric::blame
