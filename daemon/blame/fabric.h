// Input of fault localization: the fabric's endpoints and the observations of probes. Pure values.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/blame/exact_routes.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::blame {

// A port and the switch port that it is connected to.
struct Endpoint {
  std::string node;
  std::string device;
  std::uint32_t port = 0;
  std::optional<std::uint32_t> rail;
  std::string leaf;       // Leaf switch, as fleet::Sites names it. Empty: not known
  std::string leaf_port;  // Port of the leaf switch. Empty: not known
};

struct Fabric {
  std::vector<Endpoint> endpoints;  // Sorted by node, device and port; unique
  // Cables between switches from an InfiniBand topology, by switch name: "port 33 to spine-1 port
  // 4". Shown in evidence only.
  std::map<std::string, std::vector<std::string>> links_up = {};
  std::string links_known_at = {};  // Creation time of that topology
  // Paths by the forwarding tables of that topology; empty without tables.
  ExactRoutes routes = {};
  bool passes_cables = false;  // The campaign passes each cable: its pattern is CABLES
};

enum class End : std::uint8_t { kFrom, kTo };

// Result of one probe for one flow.
struct Observation {
  std::uint32_t from = 0;  // Index into Fabric::endpoints
  std::uint32_t to = 0;
  std::uint32_t round = 0;       // Faults within one round may have one transient cause
  double began_s = 0;            // Start time, by one clock for all; 0: not known
  std::uint32_t flow_label = 0;  // 0: not known
  // Packets, or whole probes, and the number lost in either direction. 0 attempts: no information
  // about loss.
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
  bool one_way = false;  // Failures are in the direction `from` to `to` only
  // The end that failed by itself: its agent was away or its adapter refused. The path is not
  // involved then. With 0 attempts the end is not blamed either: most ends failed like that, or its
  // agent was late.
  std::optional<End> failed_end = {};
  bool late = false;          // That end's host or agent was late: the probe timed out
  bool agent_silent = false;  // That end's agent stopped answering the controller
  // Relative to comparable probes; 1: equal to them. Speed is that of data from `from` to `to`,
  // latency is the round trip.
  std::optional<float> speed = {};
  std::optional<float> latency = {};
  // Standard deviation of the logarithm of comparable speeds or latencies. 0: not known, assumed to
  // be small.
  float noise = 0;
};

// "n7/mlx5_2/1"
std::string NameOf(const Endpoint& endpoint);

// Every port that has a rail, up or down. `spec`: only ports of its nodes and rails, if it has any.
Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites = {},
                const v1::CampaignSpec& spec = {});

// The same, node by node: keeps nothing of the views.
class FabricBuilder {
 public:
  explicit FabricBuilder(const v1::CampaignSpec& spec);
  void Add(const fleet::NodeView& node, const fleet::Sites& sites);
  // After the last node: cables and paths of the topology by which the nodes were added. Adds none
  // if the topology was replaced after the first node: the fabric then has leaves only.
  void AddTopology(const fleet::Sites& sites);
  Fabric Build() &&;

 private:
  struct Entry {
    Endpoint endpoint;
    std::optional<fleet::Attachment> attachment = {};
  };
  void Sort();

  std::set<std::string> nodes_;  // Of the spec; empty: all
  std::set<std::uint32_t> rails_;
  std::deque<Entry> entries_;  // Not a vector, which moves all of them when it grows
  std::optional<std::uint64_t> topology_version_;  // Of the first node
  Fabric fabric_;
};

// Index in `endpoints`. Absent: no such port.
std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port);

}  // namespace fabric::blame
