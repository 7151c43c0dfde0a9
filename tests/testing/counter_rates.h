// LLDP neighbors and counter values of built nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

// The switch port that rail `rail` is plugged into: PFC on priority 3, RoCE on 3, frames of 9216
// bytes, not willing.
v1::LldpNeighbor& Hear(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& name,
                       const std::string& port);

// Rail r of all nodes on "leaf<r>", port "swp<number of the node>".
void WireByRail(std::vector<v1::NodeSnapshot>& nodes);
v1::LldpNeighbor& NeighborOf(v1::NodeSnapshot& node, std::uint32_t rail);

// A capture of each node, and one half a minute later in which nothing was counted.
struct Pair {
  std::vector<v1::NodeSnapshot> before;
  std::vector<v1::NodeSnapshot> after;
};
constexpr int kPairSeconds = 30;
// All counters that rules follow and a driver of this kind counts are there.
Pair PairOf(std::vector<v1::NodeSnapshot> nodes, int seconds = kPairSeconds);
// Adds to the later one; of the RDMA port, or of its netdev.
void Count(Pair& pair, std::size_t node, std::uint32_t rail, const std::string& neutral,
           std::uint64_t delta);
v1::Counter& CounterOf(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral);
// Of the RDMA port, where the netdev has one with this name too.
v1::Counter& CounterOfPort(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral);
// Adds a counter of the netdev of the rail.
void AddNetdevCounter(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& neutral);

// A port that sends and receives nearly 100 Gb/s of RDMA on priority 3, with typical other
// counters.
void Busy(Pair& pair, std::size_t node, std::uint32_t rail);

}  // namespace fabric::testing
