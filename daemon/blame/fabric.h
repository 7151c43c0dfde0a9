// The ports of a fleet with their places in the fabric, as blame counts them. Pure values.
#pragma once

#include <cstdint>
#include <map>
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
  std::string leaf_port;  // As Sites names it. Empty: not known
};

struct Fabric {
  std::vector<Place> places;  // By node, device and port, each of them once
  // Of the switches of an InfiniBand topology, by name: their cables to other switches, "port 33 to
  // spine-1 port 4". For people: no path is known by them.
  std::map<std::string, std::vector<std::string>> links_up = {};
  std::string links_known_at = {};  // When that topology was made
};

// "n7/mlx5_2/1"
std::string NameOf(const Place& place);

// Every port that has a rail, up or down.
Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites = {});

// Its index in places. Absent: no such port.
std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port);

}  // namespace fabric::blame
