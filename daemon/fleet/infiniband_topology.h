// An InfiniBand fabric as ibnetdiscover writes it: into which port of which switch each adapter is
// plugged, and how switches are joined. Pure.
//
// Source: rdma-core, infiniband-diags/ibnetdiscover.c, the output without options or with -g, -f,
// -m; files of 2006 and of today read alike.
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

// A cable between two switches, as one of them sees it.
struct SwitchLink {
  std::uint32_t port = 0;
  std::uint32_t other = 0;  // Index of the other switch
  std::uint32_t other_port = 0;
};

struct InfinibandSwitch {
  std::uint64_t guid = 0;
  // Of its description: "leaf-3" of "MF0;leaf-3:MQM9700/U1", "core/L01/U2" of a chassis. With the
  // GUID where several are called the same.
  std::string name;
  std::vector<SwitchLink> links;  // By port
};

// Where an adapter's port is plugged in.
struct Plug {
  std::uint32_t leaf = 0;  // Index of the switch
  std::uint32_t port = 0;  // Of the switch
  std::uint32_t lid = 0;   // That the adapter's port had then; 0: not said
};

// A value; the default one is empty.
class InfinibandTopology {
 public:
  static constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;

  // Lines that cannot be read are told in problems() and left out, as are ends of which two cables
  // are told: they contradict each other. FAILED_PRECONDITION when no cable is left.
  static Result<InfinibandTopology> Parse(std::string_view text);

  bool empty() const { return switches_.empty(); }
  const std::vector<InfinibandSwitch>& switches() const { return switches_; }
  std::size_t ports() const { return by_node_.size(); }  // Of adapters
  // The port by its GUID, else by the node's GUID and its number. nullptr: not in the file.
  const Plug* Find(const v1::RdmaDevice& device, const v1::Port& port) const;

  // "line 12: ...", the first twenty; problem_count() are all.
  const std::vector<std::string>& problems() const { return problems_; }
  std::size_t problem_count() const { return problem_count_; }
  // As its first lines say, in the local time of who made it: "Tue Jun  5 14:15:10 2007". May be
  // empty.
  const std::string& generated_on() const { return generated_on_; }

  // When it was made, which whoever reads the file knows.
  WallTime made_at() const { return made_at_; }
  void set_made_at(WallTime at) { made_at_ = at; }

 private:
  friend class TopologyReader;

  std::vector<InfinibandSwitch> switches_;
  std::map<std::uint64_t, Plug> by_port_guid_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Plug> by_node_;  // GUID, port number
  std::vector<std::string> problems_;
  std::size_t problem_count_ = 0;
  std::string generated_on_;
  WallTime made_at_{};
};

}  // namespace fabric::fleet
