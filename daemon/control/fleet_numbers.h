// Numbers about the fleet for /metrics. The controller keeps them up to date, so that reading them
// costs a copy and does not wait for its lock.
//
// Their size depends on the number of nodes, rails and leaves only: pairs of nodes or leaves are
// summed, and of these only the worst are listed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Values with their extremes, and their median within 1 %. Its size does not depend on their
// number.
class Distribution {
 public:
  void Add(double value);  // Ignores values that are not finite and positive.
  std::uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double Median() const;  // 0 without values

 private:
  std::map<std::int32_t, std::uint64_t> buckets_;  // By the logarithm of the value
  std::uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
};

// Of a campaign, over the pairs of a rail.
struct RailResults {
  Distribution latency_us;
  Distribution bandwidth_bps;
};
using CampaignNumbers = std::map<std::uint32_t, RailResults>;  // By rail
void AddResult(const v1::PairResult& result, CampaignNumbers& numbers);

// Fabric ports of connected nodes on a rail. Keys without ports are absent.
struct RailPorts {
  static constexpr std::uint32_t kRailsMax = 256;  // Higher rails are not counted.

  std::map<v1::PortState, std::uint64_t> states;
  // Of active ports, because others report rates that do not count.
  std::map<std::uint64_t, std::uint64_t> rates_bps;
  std::map<std::uint64_t, std::uint64_t> mtus_bytes;  // Active path MTU

  friend bool operator==(const RailPorts&, const RailPorts&) = default;
};
using RailNumbers = std::map<std::uint32_t, RailPorts>;  // By rail

struct PingCounts {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t voided = 0;
};

// Of the mesh.
struct MeshNumbers {
  static constexpr std::size_t kLeavesMax = 1'000;
  static constexpr std::size_t kRailsMax = 64;
  static constexpr std::size_t kWorstMax = 10;
  static constexpr std::size_t kNameBytesMax = 64;

  struct Rail {
    PingCounts pings;
    Distribution round_trip_us;  // Of the medians of its pairs of leaves
  };
  struct Pair {
    std::string from_leaf, to_leaf;
    std::uint32_t rail = 0;
    double value = 0;
  };
  std::map<std::uint32_t, Rail> rails;
  std::map<std::string, PingCounts> leaves;  // Pings from or to the leaf
  std::uint64_t leaves_omitted = 0;
  std::vector<Pair> worst_loss;        // Share of lost pings; only pairs with loss
  std::vector<Pair> worst_round_trip;  // Median, in microseconds
};
MeshNumbers NumbersOf(const std::vector<v1::MeshLeafPair>& pairs);

// Failing findings without silence, by rule and severity
using FindingCounts = std::map<std::pair<std::string, v1::Severity>, std::uint64_t>;

struct NodeNumbers {
  bool connected = false;
  FindingCounts findings = {};
};

// InfiniBand topology file.
struct TopologyNumbers {
  bool known = false;                // The file was read.
  std::uint32_t placed = 0;          // InfiniBand ports that are up
  std::uint32_t lid_mismatches = 0;  // Of these, with another LID in the file
  std::uint32_t unknown = 0;
  double made_at_seconds = 0;  // Since 1970
};

struct FleetNumbers {
  std::string version;
  std::int64_t started_at_seconds = 0;
  std::map<std::string, NodeNumbers> nodes;
  std::map<v1::PortState, std::uint64_t> ports;
  RailNumbers rails;
  // By rule and severity; a rule without findings has 0.
  FindingCounts findings_open;
  std::map<v1::Severity, std::uint64_t> findings_silenced;
  v1::VerdictCounts verdicts;
  std::map<v1::CampaignState, std::uint64_t> campaigns;
  std::uint64_t probes_ok = 0;
  std::uint64_t probes_failed = 0;
  std::uint64_t probes_cancelled = 0;
  CampaignNumbers newest;  // Newest campaign with results since the start
  MeshNumbers mesh;
  TopologyNumbers infiniband;
  std::vector<v1::SubnetInfo> subnets;
  // Messages and sessions of agents, by bound or status code. Their number is that of the bounds
  // and codes.
  std::map<std::string, std::uint64_t> refused;
  std::uint64_t store_failures = 0;
  std::string store_failure;  // Reason of the last failed write. Empty: all writes are in the file.
  std::uint64_t store_pending = 0;
  std::uint64_t store_dropped = 0;
  std::uint64_t store_damaged_rows = 0;
};

}  // namespace fabric::control
