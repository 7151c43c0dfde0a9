// Model of one InfiniBand subnet: nodes, ports, cables, LIDs, forwarding tables and subnet
// managers. A value; what a source did not report is absent. Selene (5,007 nodes, 12,852 cables)
// takes 6 MB.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fabric::subnet {

inline constexpr std::uint32_t kPortsMax = 254;  // Port numbers of InfiniBand are 1 to 254.
inline constexpr std::uint32_t kUnicastLidMax = 0xbfff;
inline constexpr std::uint32_t kLidsOfBlock = 64;  // Entries of a block of a forwarding table
inline constexpr std::uint32_t kNoNode = 0xffffffff;

// Values of forwarding tables that are not ports.
inline constexpr std::uint8_t kNoRoute = 255;
inline constexpr std::uint8_t kUnknownRoute = 254;  // The source does not cover this LID.

enum class NodeType : std::uint8_t { kUnknown, kSwitch, kAdapter, kRouter };

// Rates of one lane, slowest first.
enum class Speed : std::uint8_t {
  kUnknown,
  kSdr,
  kDdr,
  kQdr,
  kFdr10,
  kFdr,
  kEdr,
  kHdr,
  kNdr,
  kXdr
};

struct Rate {
  std::uint8_t lanes = 0;  // 0: unknown
  Speed speed = Speed::kUnknown;

  bool known() const { return lanes != 0 && speed != Speed::kUnknown; }
  double GigabitsPerSecond() const;  // 0 if not known
  friend bool operator==(const Rate&, const Rate&) = default;
};
std::string ToString(Rate rate);  // "4xHDR", "?xHDR"
// Parses "4xHDR". Unknown lanes or speeds stay unknown; empty if the text is not a rate.
std::optional<Rate> ParseRate(std::string_view text);

enum class LinkState : std::uint8_t { kUnknown, kDown, kInit, kArmed, kActive };

// One end of a cable.
struct End {
  std::uint32_t node = kNoNode;
  std::uint32_t port = 0;

  bool present() const { return node != kNoNode; }
  friend auto operator<=>(const End&, const End&) = default;
};

// Counters of a port, in the order of the enum Counter (subnet/mad/attributes.h).
inline constexpr std::size_t kCounters = 13;
using CounterValues = std::array<std::uint64_t, kCounters>;

// Counters of forward error correction (RS-FEC) of a port. They stop at their maximum.
struct FecCounters {
  std::uint32_t corrected_symbols = 0;
  std::uint32_t uncorrectable_blocks = 0;
};

// Virtual lane of each service level. Lane 15: packets of the level are dropped.
inline constexpr std::size_t kServiceLevels = 16;
inline constexpr std::uint8_t kDropLane = 15;
using LaneOfLevel = std::array<std::uint8_t, kServiceLevels>;

// What only a reader of the subnet knows of a port.
struct PortDetails {
  std::optional<std::vector<std::uint16_t>> p_keys;
  bool enforces_partitions = false;          // Of a switch port
  std::uint16_t mtu = 0;                     // Of the link in bytes; 0: unknown
  std::uint8_t lanes = 0;                    // Operational data lanes; 0: unknown
  std::optional<LaneOfLevel> lane_of_level;  // Of packets that leave by the port
  // A bit for each lane with a weight above 0 in one of the arbitration tables; 0: not read
  std::uint16_t served_lanes = 0;
  std::optional<CounterValues> counters;
  std::optional<CounterValues> first_counters;  // Earlier by `between`
  bool wide_counters = false;                   // Of 64 bits: they have no maximum.
  // Of forward error correction, earlier and now.
  std::optional<FecCounters> first_fec;
  std::optional<FecCounters> fec;
  std::chrono::nanoseconds between{};
};

struct Port {
  static constexpr std::uint32_t kNoDetails = 0xffffffff;

  std::uint64_t guid = 0;  // 0: unknown
  std::uint32_t peer = kNoNode;
  std::uint8_t peer_port = 0;
  bool listed = false;  // A source lists this end of the cable itself, not only the far end.
  bool runs_manager = false;
  LinkState state = LinkState::kUnknown;
  Rate rate;                           // Active
  std::optional<Rate> enabled;         // Fastest rate that the port may negotiate
  std::optional<std::uint16_t> lid;    // 0 and 65535: not assigned
  std::uint8_t lmc = 0;                // The port has 2^lmc LIDs
  std::uint32_t details = kNoDetails;  // Index; see Subnet::DetailsOf

  End Peer() const { return {peer, peer_port}; }
};

struct Node {
  std::uint64_t guid = 0;
  std::uint64_t system_guid = 0;  // 0: unknown
  NodeType type = NodeType::kUnknown;
  bool listed = false;  // A source has a section of this node, so that all its cables are known.
  // Its section has lines that could not be parsed, or is the last one of a file that can be cut.
  bool can_lack_cables = false;
  std::uint32_t device_id = 0;   // 0: unknown
  std::uint32_t port_count = 0;  // 0: unknown
  std::string description;
  bool shares_name = false;          // Another node has the same name (see NameOf).
  std::vector<Port> ports;           // By number; port 0 is the management port of a switch.
  std::vector<std::uint8_t> routes;  // Linear forwarding table of a switch by LID; empty: not read
  // The lane also depends on the input port. It was read for one switch of each model.
  bool lanes_by_input = false;
  // Of a switch: PortXmitWait counts times of this many symbols, plus 1.
  std::optional<std::uint8_t> tick;
  std::string firmware;          // Of a switch: "27.2012.1010"; empty: not read
  std::string firmware_board;    // PSID; may be empty
  bool routes_complete = false;  // LIDs above the table have no route; else they are unknown.

  std::uint8_t RouteTo(std::uint32_t lid) const {
    if (lid < routes.size()) return routes[lid];
    return routes_complete ? kNoRoute : kUnknownRoute;
  }
};

struct Cable {
  End from;
  End to;
};

// A line of a source that disagrees with another line.
struct Contradiction {
  End from;
  End to;       // Far end according to `from`
  End instead;  // What `to` reports, or the far end that `from` reported before
};

enum class ManagerState : std::uint8_t { kNotActive, kDiscovering, kStandby, kMaster };

struct Manager {
  std::uint64_t port_guid = 0;
  std::uint32_t lid = 0;
  std::uint32_t priority = 0;
  std::optional<std::uint32_t> activity = {};  // ActCount: grows with what the manager does
  ManagerState state = ManagerState::kNotActive;
};

// How a subnet was read by management packets.
struct Reading {
  std::string reader = {};  // "mlx5_0 port 1"
  std::uint64_t packets = 0;
  std::uint64_t lost = 0;
  std::uint32_t vl15_dropped = 0;  // By switches, during the read
  std::vector<std::string> not_covered = {};
  std::string changed = {};      // While it was read; empty: nothing
  std::vector<End> silent = {};  // The link is up; the device behind it does not answer.
};

struct Problem {
  std::string file;
  std::size_t line = 0;  // 0: the file as a whole
  std::string message;   // "expected ..., saw ..."
};
std::string ToString(const Problem& problem);  // "FILE:LINE: message"

// The first problems of the sources; counts the others.
class Problems {
 public:
  static constexpr std::size_t kKept = 50;

  void Add(Problem problem);
  // Of each file in the order of its lines.
  void Sort();
  const std::vector<Problem>& kept() const { return kept_; }
  std::size_t count() const { return count_; }

 private:
  std::vector<Problem> kept_;
  std::size_t count_ = 0;
};

struct Source {
  std::string file;
  std::string format;   // "ibnetdiscover"
  std::string made_on;  // As written in the file; may be empty
};

class Subnet {
 public:
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(std::uint32_t index) const { return nodes_[index]; }
  const Port& port(End end) const { return nodes_[end.node].ports[end.port]; }
  // nullptr if the node has no such port.
  const Port* FindPort(End end) const;
  // kNoNode if unknown.
  std::uint32_t FindGuid(std::uint64_t guid) const;

  // Each cable once, from the lower end.
  std::vector<Cable> Cables() const;
  const std::vector<Contradiction>& contradictions() const { return contradictions_; }
  // Cables that one end lists, while the section of the other node does not.
  const std::vector<Cable>& one_sided() const { return one_sided_; }
  const std::vector<Manager>& managers() const { return managers_; }
  // The file of sminfo to which a manager did not answer; may be empty.
  const std::string& unanswered() const { return unanswered_; }
  // nullptr: no manager or more than one is master.
  const Manager* Master() const;
  // nullptr: no source has them.
  const PortDetails* DetailsOf(const Port& port) const {
    return port.details < details_.size() ? &details_[port.details] : nullptr;
  }
  // Empty: from files of other tools.
  const std::optional<Reading>& reading() const { return reading_; }
  const std::vector<Source>& sources() const { return sources_; }
  const Problems& problems() const { return problems_; }
  bool HasRoutes() const;
  // Parts that no cable joins and that use the same LIDs: files of several subnets. 0 or 1: none.
  std::size_t CountMixed() const;
  std::size_t CountNodes(NodeType type) const;

 private:
  friend class Builder;

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::vector<Contradiction> contradictions_;
  std::vector<Cable> one_sided_;
  std::vector<Manager> managers_;
  std::string unanswered_;
  std::vector<PortDetails> details_;
  std::optional<Reading> reading_;
  std::vector<Source> sources_;
  Problems problems_;
};

inline bool IsAssigned(std::optional<std::uint16_t> lid) {
  return lid && *lid != 0 && *lid <= kUnicastLidMax;
}

// Node inside a switch that reduces data (SHARP). It has no cable.
bool IsAggregationNode(const Node& node);

}  // namespace fabric::subnet
