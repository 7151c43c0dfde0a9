// A simulated Clos fabric: nodes with a port on each rail, leaves of one rail each, spines that
// connect all leaves; ECMP by a hash of pair and flow label. Simulates probe results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"
#include "tests/sim/random.h"

namespace fabric::sim {

constexpr double kCampaignStart_s = 1e9;

struct Shape {
  std::string name;
  std::uint32_t nodes = 64;
  std::uint32_t rails = 2;
  std::uint32_t ports_per_leaf = 16;
  std::uint32_t spines = 4;  // Also the number of uplinks per leaf.
  bool lldp = true;          // False: the leaves are unknown.
};

struct Port {
  std::uint32_t node = 0;  // 0-based; its name is "n<node + 1>"
  std::uint32_t rail = 0;

  friend bool operator==(const Port&, const Port&) = default;
};

enum class Where { kPort, kHost, kLeaf, kUplink, kSpine, kLeafPair, kRail, kPair, kFabric };

// A fault of one part: traffic through it is lost, slowed or delayed.
struct Fault {
  Where where = Where::kPort;
  Port port;               // Of a port, a host (node alone), a rail (rail alone), a pair
  Port other;              // Of a pair
  std::uint32_t leaf = 0;  // Of leaf, uplink, pair of leaves
  std::uint32_t other_leaf = 0;
  std::uint32_t spine = 0;  // Of an uplink: to which
  double loss = 0;
  double speed = 1;
  double latency = 1;
  bool out = true;                                  // Affects traffic that leaves the part
  bool in = true;                                   // Affects traffic that enters it
  std::uint32_t period = 1;                         // In rounds ...
  std::uint32_t present = 1;                        // ... of which it is present in this many.
  bool agent_lost = false;                          // For a host: its agent is disconnected.
  std::optional<std::uint32_t> traffic_class = {};  // Affects only packets of this class.
  double share = 1;                                 // Of the flows, by a hash
  double small_loss = 1;  // Loss of pings relative to that of large packets
  double frozen = 0;      // For a host: share of the probes during which it is paused
};

// Disturbances of a healthy fabric.
struct Noise {
  double loss = 5e-6;         // Of each packet
  double burst = 2e-4;        // Of a pair's probe, that it loses up to 30 pings
  double odd_failure = 1e-4;  // Of a pair's probe, that it fails
  double stall = 3e-4;        // Of a host's round, that it is late, slow and loses
  double speed_jitter = 0.03;
  double latency_jitter = 0.08;
  double host_load = 0;  // Of the logarithm of what all probes of a host in a round have in common
  // Hosts in groups of this size stand still together, in this part of the rounds.
  std::uint32_t pause_group = 0;
  double pause = 0;
  // Share of a round's probes that time out because the controller's machine is loaded, in every
  // third round.
  double controller_late = 0;
  double collision = 0;  // Of a pair across leaves in a round, that it shares its path with others
  double scatter = 0;    // Of the logarithm of a pair's speed: machines that share their processors
  // In this time of the campaign all machines are slow: each flow is late with this probability,
  // and some lose.
  double slow_from_s = 0;
  double slow_to_s = 0;
  double slow_flows = 0;
};

class Clos {
 public:
  Clos(const Shape& shape, std::uint64_t seed)
      : shape_(shape), random_(seed), hash_(SplitMix(seed)) {}

  const Shape& shape() const { return shape_; }
  std::uint32_t leaves() const;
  std::uint32_t LeafOf(const Port& port) const;
  Port PluggedAs(const Port& port) const;  // Into the switch port of which port it is
  std::string LeafName(std::uint32_t leaf) const;
  // Cables of two ports are plugged in the wrong way round; LLDP says so.
  void Swap(const Port& a, const Port& b) { swapped_.emplace_back(a, b); }
  bool swapped() const { return !swapped_.empty(); }
  const std::vector<std::pair<Port, Port>>& swaps() const { return swapped_; }
  void Add(const Fault& fault) { faults_.push_back(fault); }
  const std::vector<Fault>& faults() const { return faults_; }
  void ForgetFaults() { faults_.clear(); }

  v1::NodeSnapshot Snapshot(std::uint32_t node) const;
  // A ping with several flow labels and a bandwidth both ways.
  void Probe(const v1::ProbePort& from, const v1::ProbePort& to, std::uint32_t round,
             google::protobuf::RepeatedPtrField<v1::PairResult>& out);
  // Time of the probes from now on.
  void SetTime(double now_s) { now_s_ = now_s; }
  // Class of the packets from now on.
  void SetTrafficClass(std::uint32_t traffic_class) { traffic_class_ = traffic_class; }
  // `count` pings over one flow.
  v1::FlowSummary Flow(const v1::ProbePort& from, const v1::ProbePort& to, std::uint32_t label,
                       std::uint32_t count, std::uint32_t round);

  Noise noise;
  bool tells_ways = false;  // Pings report the direction of losses.

 private:
  struct Way {
    double loss = 0;
    double speed = 1;
    double latency = 1;
  };
  struct Traffic {
    std::uint32_t label = 0;
    std::uint32_t round = 0;
    bool large = false;  // Packets
  };
  Way WayOf(const Port& from, const Port& to, const Traffic& traffic) const;
  // Returns whether the probe timed out because of the controller.
  bool Delay(const Port& from, const Port& to, std::uint32_t round, v1::ProbeResult& result);
  bool Hits(const Fault& fault, const Port& from, const Port& to, std::uint32_t label) const;
  bool Stalls(std::uint32_t node, std::uint32_t round) const;
  double LoadOf(const Port& from, const Port& to, std::uint32_t round) const;
  bool IsSlow() const {
    const double since_s = now_s_ - kCampaignStart_s;
    return since_s >= noise.slow_from_s && since_s < noise.slow_to_s;
  }
  void SlowFlow(v1::FlowSummary& flow);
  // Returns whether one of the hosts is paused during the probe.
  bool Freeze(const Port& from, const Port& to, bool ping, v1::ProbeResult& result);
  std::optional<std::uint32_t> Lost(const Port& from, const Port& to) const;
  v1::ProbeResult Ping(const Port& from, const Port& to, std::uint32_t round);
  v1::ProbeResult Bandwidth(const Port& from, const Port& to, std::uint32_t round);

  Shape shape_;
  Random random_;
  std::uint64_t hash_;
  std::uint32_t traffic_class_ = 0;
  double now_s_ = kCampaignStart_s;
  std::vector<Fault> faults_;
  std::vector<std::pair<Port, Port>> swapped_;
};

}  // namespace fabric::sim
