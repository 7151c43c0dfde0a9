// Analysis of the forwarding tables: each destination from each switch. Pure.
//
// A pair is a source (adapter port) and a destination LID of another adapter port. The cost is the
// number of switches times the number of LIDs; traffic is added up from the farthest switch on, so
// that a pair costs nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "subnet/routing/graph.h"

namespace fabric::subnet {

enum class BadRoute : std::uint8_t {
  kMissing,   // No entry for the LID
  kNoCable,   // The port has no cable, or does not exist
  kWrongEnd,  // The port leads to an adapter that does not have the LID, or to the switch itself
};

// Entries of one switch with the same port and fault. Traffic that meets them does not arrive.
struct BadEntries {
  std::uint32_t index = 0;  // Of the switch
  std::uint8_t port = 0;
  BadRoute kind = BadRoute::kMissing;
  std::uint64_t lids = 0;
  std::uint64_t pairs = 0;
  std::vector<std::uint16_t> some_lids;  // The first kLidsKept
};

// Switches that pass a LID round; the packet does not arrive.
struct RouteLoop {
  std::uint16_t lid = 0;
  std::vector<End> ports;  // The ports out, in the order of the loop
  // The entry that leads away from the destination, if only one does.
  std::optional<End> culprit;
  std::uint64_t pairs = 0;
};

// Entries of one switch and port that arrive, but do not lead closer to the destination.
struct Detours {
  std::uint32_t index = 0;
  std::uint8_t port = 0;
  std::uint64_t lids = 0;
  std::vector<std::uint16_t> some_lids;
};

// Bit sets of ports, one for each channel: 64 ports a word.
class ChannelSets {
 public:
  ChannelSets(std::size_t channels, std::uint32_t ports)
      : words_((ports + 63) / 64), bits_(channels * words_) {}
  void Add(std::size_t channel, std::uint32_t port) {
    bits_[channel * words_ + port / 64] |= std::uint64_t{1} << (port % 64);
  }
  bool Has(std::size_t channel, std::uint32_t port) const {
    return (bits_[channel * words_ + port / 64] >> (port % 64) & 1) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

struct RouteReport {
  static constexpr std::size_t kLidsKept = 4;
  static constexpr std::size_t kLoopsKept = 100;

  explicit RouteReport(const Graph& graph);

  std::uint64_t pairs = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t unknown = 0;  // A table on the way was not read
  // Pairs that arrive, by the number of switches on the way, and by switches above the minimum
  std::map<std::uint32_t, std::uint64_t> pairs_by_hops;
  std::map<std::uint32_t, std::uint64_t> pairs_by_extra_hops;
  // LIDs that more than half of the switches with tables have no entry for, and at how many
  std::map<std::uint16_t, std::uint32_t> unrouted;
  std::vector<BadEntries> bad;
  std::vector<RouteLoop> loops;
  std::uint64_t loop_count = 0;
  std::vector<Detours> detours;
  std::uint32_t tables = 0;  // Switches with a table
  // By channel (switch * stride + port out), over switches
  std::vector<std::uint32_t> channel_pairs;
  // By channel: table entries for LIDs of adapters, whether traffic meets them or not
  std::vector<std::uint32_t> channel_entries;
  // Ports of the next switch that traffic on this channel continues on
  ChannelSets continues;
};

RouteReport AnalyseRoutes(const Graph& graph);

// A path by the tables: the port out of each switch.
struct Path {
  std::vector<End> ports;
  bool arrives = false;
  std::string why_not;  // One line
};
Path FollowRoute(const Graph& graph, std::uint32_t from_switch, const Destination& to);

}  // namespace fabric::subnet
