// Metrics of the controller, computed from answers of the API. Pure except for the text serializer.
// No series per pair of nodes.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/api/call_metrics.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {

// InfiniBand topology file.
struct TopologyInput {
  bool known = false;                // The file was read.
  std::uint32_t placed = 0;          // InfiniBand ports that are up
  std::uint32_t lid_mismatches = 0;  // Of these, with another LID in the file
  std::uint32_t unknown = 0;
  double made_at_seconds = 0;  // Since 1970
};

struct MetricsInput {
  v1::GetVersionResponse version;
  v1::ListNodesResponse nodes;
  v1::ListDevicesResponse devices;
  v1::ListFindingsResponse findings;
  v1::ListRulesResponse rules;
  v1::ListCampaignsResponse campaigns;
  v1::Campaign newest;  // The newest campaign with its results; empty when there is none.
  v1::MeshStatus mesh;
  std::uint64_t store_failures = 0;
  std::uint32_t rule_problems = 0;
  TopologyInput infiniband;
  CallMetrics::Counts calls;
};

// Prometheus text exposition format.
std::string MetricsText(const MetricsInput& input);

// Markdown table of all metrics, for the reference page.
std::string MetricsReference();

}  // namespace fabric::api
