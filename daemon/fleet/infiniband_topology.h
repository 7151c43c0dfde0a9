// Cabling of InfiniBand subnets: the switch port of each adapter port, and the cables between
// switches. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::subnet {
class Subnet;
}  // namespace fabric::subnet

namespace fabric::fleet {

// One end of a cable between two switches.
struct SwitchLink {
  std::uint32_t port = 0;
  std::uint32_t other = 0;  // Index of the other switch
  std::uint32_t other_port = 0;
};

struct InfinibandSwitch {
  std::uint64_t guid = 0;
  // From the node description: "leaf-3" of "MF0;leaf-3:MQM9700/U1", "core/L01/U2" of a chassis.
  // Includes the GUID if several switches have the same name.
  std::string name;
  std::vector<SwitchLink> links;          // By port
  std::vector<std::uint8_t> routes = {};  // Port by LID; empty: not known
};

// The switch port that an adapter port is connected to.
struct Attachment {
  std::uint32_t leaf = 0;  // Index of the switch
  std::uint32_t port = 0;  // Of the switch
  std::uint32_t lid = 0;   // The adapter port's LID in the sources; 0: not reported
};

// A value; the default one is empty.
class InfinibandTopology {
 public:
  // Subnets without a common cable, such as one for each rail. Leaves out both cables of a port
  // that has two in the sources.
  static InfinibandTopology Of(std::span<const subnet::Subnet* const> subnets);

  bool empty() const { return switches_.empty(); }
  const std::vector<InfinibandSwitch>& switches() const { return switches_; }
  std::size_t ports() const { return by_node_.size(); }  // Of adapters
  bool HasPort(std::uint64_t guid) const { return by_port_guid_.contains(guid); }
  // Finds the port by its GUID, else by node GUID and port number. nullptr: not in the file.
  const Attachment* Find(const v1::RdmaDevice& device, const v1::Port& port) const;

  // Ports that are left out because the sources contradict each other: 'switch "a" port 8'.
  const std::vector<std::string>& ambiguous() const { return ambiguous_; }

  // Creation time; set by the caller.
  WallTime made_at() const { return made_at_; }
  void set_made_at(WallTime at) { made_at_ = at; }

 private:
  friend class TopologyBuilder;

  std::vector<InfinibandSwitch> switches_;
  std::map<std::uint64_t, Attachment> by_port_guid_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Attachment> by_node_;  // GUID, port number
  std::vector<std::string> ambiguous_;
  WallTime made_at_{};
};

}  // namespace fabric::fleet
