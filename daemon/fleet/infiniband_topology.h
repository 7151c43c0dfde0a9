// Parser of ibnetdiscover output: the switch port of each adapter port, and the cables between
// switches. Pure.
//
// Source: rdma-core, infiniband-diags/ibnetdiscover.c; the output without options or with -g, -f,
// -m. The format has not changed since 2006.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

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
  std::vector<SwitchLink> links;  // By port
};

// The switch port that an adapter port is connected to.
struct Attachment {
  std::uint32_t leaf = 0;  // Index of the switch
  std::uint32_t port = 0;  // Of the switch
  std::uint32_t lid = 0;   // The adapter port's LID in the file; 0: not reported
};

// A value; the default one is empty.
class InfinibandTopology {
 public:
  static constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;

  // Skips lines that cannot be parsed, and ports with two cables, and lists them in problems().
  // FAILED_PRECONDITION when no cable is left; RESOURCE_EXHAUSTED for more than kTextBytesMax.
  static Result<InfinibandTopology> Parse(std::string_view text);

  bool empty() const { return switches_.empty(); }
  const std::vector<InfinibandSwitch>& switches() const { return switches_; }
  std::size_t ports() const { return by_node_.size(); }  // Of adapters
  // Finds the port by its GUID, else by node GUID and port number. nullptr: not in the file.
  const Attachment* Find(const v1::RdmaDevice& device, const v1::Port& port) const;

  // The first 20: "line 12: ...". problem_count() is the total.
  const std::vector<std::string>& problems() const { return problems_; }
  std::size_t problem_count() const { return problem_count_; }
  // From the header, in local time of the machine that wrote it: "Tue Jun  5 14:15:10 2007". May be
  // empty.
  const std::string& generated_on() const { return generated_on_; }

  // Creation time; set by the caller.
  WallTime made_at() const { return made_at_; }
  void set_made_at(WallTime at) { made_at_ = at; }

 private:
  friend class TopologyReader;

  std::vector<InfinibandSwitch> switches_;
  std::map<std::uint64_t, Attachment> by_port_guid_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Attachment> by_node_;  // GUID, port number
  std::vector<std::string> problems_;
  std::size_t problem_count_ = 0;
  std::string generated_on_;
  WallTime made_at_{};
};

}  // namespace fabric::fleet
