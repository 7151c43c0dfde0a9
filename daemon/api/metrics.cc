#include "daemon/api/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proto/affected.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "?" ? "unknown" : lower;
}

void Add(MetricFamily& family, Labels labels, double value) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = value;
  metric.counter.value = value;
}

void ControllerInfo(const MetricsInput& input, MetricFamily& family) {
  Add(family, {{"version", input.version.version()}}, 1);
}

void StartTime(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.version.started_at().seconds()));
}

void Nodes(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, int> by_state = {{"connected", 0}, {"lost", 0}};
  for (const auto& node : input.nodes.nodes())
    ++by_state[node.state() == v1::NODE_STATE_LOST ? "lost" : "connected"];
  for (const auto& [state, count] : by_state) Add(family, {{"state", state}}, count);
}

void NodeConnected(const MetricsInput& input, MetricFamily& family) {
  for (const auto& node : input.nodes.nodes())
    Add(family, {{"node", node.name()}}, node.state() == v1::NODE_STATE_LOST ? 0 : 1);
}

void Ports(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, int> by_state = {{"active", 0}, {"down", 0}};
  for (const auto& device : input.devices.devices()) ++by_state[Lower(Name(device.state()))];
  for (const auto& [state, count] : by_state) Add(family, {{"state", state}}, count);
}

// Those that another one explains do not count: one cause is one alert.
bool OpenAndFailing(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.explained_by().empty() &&
         finding.state() != v1::FINDING_STATE_RESOLVED;
}

void FindingsOpen(const MetricsInput& input, MetricFamily& family) {
  std::map<std::pair<std::string, std::string>, int> counts;
  // A rule without findings is a 0, so that an alert on it can resolve.
  for (const auto& rule : input.rules.rules()) counts[{rule.id(), Lower(Name(rule.severity()))}];
  for (const auto& finding : input.findings.findings())
    if (OpenAndFailing(finding) && !finding.has_silenced())
      ++counts[{finding.rule(), Lower(Name(finding.severity()))}];
  for (const auto& [key, count] : counts)
    Add(family, {{"rule", key.first}, {"severity", key.second}}, count);
}

void NodeFindingsOpen(const MetricsInput& input, MetricFamily& family) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const auto& finding : input.findings.findings())
    if (OpenAndFailing(finding) && !finding.has_silenced())
      for (const std::string& node : NodesOf(finding))
        ++counts[{node, Lower(Name(finding.severity()))}];
  for (const auto& [key, count] : counts)
    Add(family, {{"node", key.first}, {"severity", key.second}}, count);
}

void FindingsSilenced(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, int> counts = {{"info", 0}, {"warning", 0}, {"error", 0}, {"critical", 0}};
  for (const auto& finding : input.findings.findings())
    if (OpenAndFailing(finding) && finding.has_silenced())
      ++counts[Lower(Name(finding.severity()))];
  for (const auto& [severity, count] : counts) Add(family, {{"severity", severity}}, count);
}

void Verdicts(const MetricsInput& input, MetricFamily& family) {
  const v1::VerdictCounts& counts = input.findings.counts();
  Add(family, {{"verdict", "fail"}}, static_cast<double>(counts.fail()));
  Add(family, {{"verdict", "pass"}}, static_cast<double>(counts.pass()));
  Add(family, {{"verdict", "unknown"}}, static_cast<double>(counts.unknown()));
}

void Campaigns(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, int> by_state = {{"cancelled", 0}, {"done", 0}, {"running", 0}};
  for (const auto& campaign : input.campaigns.campaigns())
    ++by_state[Lower(Name(campaign.state()))];
  for (const auto& [state, count] : by_state) Add(family, {{"state", state}}, count);
}

void Probes(const MetricsInput& input, MetricFamily& family) {
  double ok = 0;
  double failed = 0;
  double cancelled = 0;
  for (const auto& campaign : input.campaigns.campaigns()) {
    ok += campaign.probes_ok();
    failed += campaign.probes_failed();
    cancelled += campaign.probes_cancelled();
  }
  Add(family, {{"result", "cancelled"}}, cancelled);
  Add(family, {{"result", "failed"}}, failed);
  Add(family, {{"result", "ok"}}, ok);
}

// Minimum, median and maximum over the pairs of each rail.
void Aggregate(std::map<std::uint32_t, std::vector<double>> by_rail, MetricFamily& family) {
  for (auto& [rail, values] : by_rail) {
    std::sort(values.begin(), values.end());
    const std::string name = Format("{}", rail);
    Add(family, {{"rail", name}, {"aggregate", "min"}}, values.front());
    Add(family, {{"rail", name}, {"aggregate", "median"}}, values[values.size() / 2]);
    Add(family, {{"rail", name}, {"aggregate", "max"}}, values.back());
  }
}

void Latency(const MetricsInput& input, MetricFamily& family) {
  std::map<std::uint32_t, std::vector<double>> by_rail;
  for (const auto& pair : input.newest.results())
    if (pair.result().status() == v1::PROBE_STATUS_OK && pair.result().has_latency())
      by_rail[pair.from().rail()].push_back(pair.result().latency().median_us() * 1e-6);
  Aggregate(std::move(by_rail), family);
}

void Bandwidth(const MetricsInput& input, MetricFamily& family) {
  std::map<std::uint32_t, std::vector<double>> by_rail;
  for (const auto& pair : input.newest.results())
    if (pair.result().status() == v1::PROBE_STATUS_OK && pair.result().has_bandwidth())
      by_rail[pair.from().rail()].push_back(pair.result().bandwidth().mean_bps() / 8);
  Aggregate(std::move(by_rail), family);
}

void StoreFailures(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.store_failures));
}

Labels LabelsOf(const v1::MeshLeafPair& pair) {
  return {{"from_leaf", pair.from_leaf()},
          {"to_leaf", pair.to_leaf()},
          {"rail", std::to_string(pair.rail())}};
}

void MeshPings(const MetricsInput& input, MetricFamily& family) {
  for (const v1::MeshLeafPair& pair : input.mesh.leaf_pairs()) {
    const auto add = [&](const char* result, std::uint64_t count) {
      auto labels = LabelsOf(pair);
      labels.push_back({"result", result});
      Add(family, std::move(labels), static_cast<double>(count));
    };
    add("answered", pair.sent() - pair.lost() - pair.voided());
    add("lost", pair.lost());
    add("voided", pair.voided());
  }
}

void MeshRoundTrip(const MetricsInput& input, MetricFamily& family) {
  constexpr double kMicroseconds = 1e6;
  for (const v1::MeshLeafPair& pair : input.mesh.leaf_pairs())
    if (pair.has_median_us()) Add(family, LabelsOf(pair), pair.median_us() / kMicroseconds);
}

void RuleProblems(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, input.rule_problems);
}

void TopologyPorts(const MetricsInput& input, MetricFamily& family) {
  if (!input.infiniband.known) return;
  Add(family, {{"state", "placed"}}, input.infiniband.placed - input.infiniband.lid_mismatches);
  Add(family, {{"state", "other_lid"}}, input.infiniband.lid_mismatches);
  Add(family, {{"state", "unknown"}}, input.infiniband.unknown);
}

void TopologyMadeAt(const MetricsInput& input, MetricFamily& family) {
  if (input.infiniband.known) Add(family, {}, input.infiniband.made_at_seconds);
}

void Requests(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [key, count] : input.calls.calls)
    Add(family,
        {{"method", key.method},
         {"transport", key.transport},
         {"code", std::string(CodeName(key.code))}},
        static_cast<double>(count));
}

void RequestDurations(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [key, durations] : input.calls.durations) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"method", key.first}, {"transport", key.second}};
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < durations.buckets.size(); ++i) {
      count += durations.buckets[i];
      const double bound = i < kDurationBuckets.size() ? kDurationBuckets[i]
                                                       : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({count, bound});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = durations.sum_seconds;
  }
}

struct Family {
  std::string_view name;
  MetricType type;
  std::string_view help;
  void (*fill)(const MetricsInput&, MetricFamily&);
};

constexpr Family kFamilies[] = {
    {"fabric_controller_info", MetricType::Gauge, "Version of the controller.", &ControllerInfo},
    {"fabric_controller_start_time_seconds", MetricType::Gauge,
     "Start time of the controller, seconds since 1970.", &StartTime},
    {"fabric_nodes", MetricType::Gauge, "Nodes that have reported at least once, by state.",
     &Nodes},
    {"fabric_node_connected", MetricType::Gauge,
     "1: the agent of the node is connected; 0: the node is lost.", &NodeConnected},
    {"fabric_ports", MetricType::Gauge, "RDMA ports of all nodes, by state.", &Ports},
    {"fabric_findings_open", MetricType::Gauge,
     "Open failing findings without a silence, by rule and severity.", &FindingsOpen},
    {"fabric_node_findings_open", MetricType::Gauge,
     "Open failing findings without a silence, by node and severity. A finding about several nodes "
     "counts for each. Nodes without findings have no series.",
     &NodeFindingsOpen},
    {"fabric_findings_silenced", MetricType::Gauge,
     "Open failing findings with an active silence, by severity.", &FindingsSilenced},
    {"fabric_rule_verdicts", MetricType::Gauge, "Verdicts of the newest evaluation of all rules.",
     &Verdicts},
    {"fabric_campaigns", MetricType::Gauge, "Known probe campaigns, by state.", &Campaigns},
    {"fabric_campaign_probes", MetricType::Gauge, "Probes of these campaigns, by result.", &Probes},
    {"fabric_probe_latency_seconds", MetricType::Gauge,
     "Median RDMA write latency of a pair: minimum, median and maximum over the pairs of a rail in "
     "the newest campaign.",
     &Latency},
    {"fabric_probe_bandwidth_bytes_per_second", MetricType::Gauge,
     "Mean RDMA write bandwidth of a pair: minimum, median and maximum over the pairs of a rail in "
     "the newest campaign.",
     &Bandwidth},
    {"fabric_mesh_pings", MetricType::Gauge,
     "Mesh pings in the newest windows, by pair of leaves, rail and result.", &MeshPings},
    {"fabric_mesh_round_trip_seconds", MetricType::Gauge,
     "Median network round-trip time between two leaves in the newest mesh windows.",
     &MeshRoundTrip},
    {"fabric_store_failures_total", MetricType::Counter, "Failed writes to the store.",
     &StoreFailures},
    {"fabric_rule_problems", MetricType::Gauge,
     "Problems in files of custom rules; invalid rules are skipped.", &RuleProblems},
    {"fabric_infiniband_topology_ports", MetricType::Gauge,
     "Active InfiniBand ports by their entry in the topology file: placed, other_lid (the LID "
     "differs; "
     "the file may be old), unknown.",
     &TopologyPorts},
    {"fabric_infiniband_topology_made_seconds", MetricType::Gauge,
     "Creation time of the InfiniBand topology file, seconds since 1970.", &TopologyMadeAt},
    {"fabric_api_requests_total", MetricType::Counter, "API calls.", &Requests},
    {"fabric_api_request_duration_seconds", MetricType::Histogram,
     "Processing time of API calls in the controller.", &RequestDurations},
};

}  // namespace

std::string MetricsText(const MetricsInput& input) {
  std::vector<MetricFamily> families;
  for (const Family& row : kFamilies) {
    MetricFamily family;
    family.name = row.name;
    family.help = row.help;
    family.type = row.type;
    row.fill(input, family);
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

std::string MetricsReference() {
  constexpr auto type_name = [](MetricType type) {
    return type == MetricType::Counter ? "counter"
                                       : (type == MetricType::Gauge ? "gauge" : "histogram");
  };
  std::string text = "| metric | type | meaning |\n|---|---|---|\n";
  for (const Family& row : kFamilies)
    text += Format("| `{}` | {} | {} |\n", row.name, type_name(row.type), row.help);
  return text;
}

}  // namespace fabric::api
