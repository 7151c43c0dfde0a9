// Dense view of a subnet for route analysis: switches by index, the far end of each of their ports,
// and the destinations. Refers to the Subnet, which must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "subnet/model.h"

namespace fabric::subnet {

inline constexpr std::uint32_t kNoSwitch = 0xffffffff;

// A LID and the switch port that leads to it; port 0: the switch itself.
struct Destination {
  std::uint16_t lid = 0;
  End owner;
  std::uint32_t target = kNoSwitch;  // Switch that the owner is connected to
  std::uint8_t port = 0;
  bool adapter = false;
};

class Graph {
 public:
  explicit Graph(const Subnet& subnet);

  const Subnet& subnet() const { return subnet_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(switches_.size()); }
  std::uint32_t stride() const { return stride_; }  // Ports of the largest switch, and port 0
  std::uint32_t NodeOf(std::uint32_t index) const { return switches_[index]; }
  // kNoSwitch if the node is not a switch.
  std::uint32_t IndexOf(std::uint32_t node) const { return index_[node]; }
  End EndOf(std::uint32_t index, std::uint32_t port) const { return {switches_[index], port}; }

  // The switch behind a port; kNoSwitch if there is none.
  std::uint32_t Next(std::uint32_t index, std::uint32_t port) const {
    return next_[index * stride_ + port];
  }
  // Adapter ports with a LID on the switch: the sources of traffic.
  std::uint32_t SourcesAt(std::uint32_t index) const { return sources_[index]; }
  const std::vector<Destination>& destinations() const { return destinations_; }  // By LID
  const Destination* Find(std::uint32_t lid) const;

  // Number of cables between the two switches on a shortest path; 255: none.
  std::uint8_t Distance(std::uint32_t from, std::uint32_t to) const {
    return distance_[static_cast<std::size_t>(to) * size() + from];
  }

 private:
  void AddDestinations(std::uint32_t node);
  void ReadDistances();

  const Subnet& subnet_;
  std::uint32_t stride_ = 1;
  std::vector<std::uint32_t> switches_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> sources_;
  std::vector<Destination> destinations_;
  std::vector<std::uint8_t> distance_;  // By destination, then source
};

}  // namespace fabric::subnet
