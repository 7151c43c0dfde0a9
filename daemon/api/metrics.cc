#include "daemon/api/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/api/metric_values.h"
#include "daemon/api/metrics_durations.h"
#include "daemon/api/metrics_outputs.h"
#include "daemon/api/metrics_rails.h"
#include "daemon/api/metrics_subnets.h"
#include "proto/names.h"

namespace fabric::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void ControllerInfo(const MetricsInput& input, MetricFamily& family) {
  Add(family, {{"version", input.fleet.version}}, 1);
}

void StartTime(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.started_at_seconds));
}

void Nodes(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, int> by_state = {{"connected", 0}, {"lost", 0}};
  for (const auto& [name, node] : input.fleet.nodes)
    ++by_state[node.connected ? "connected" : "lost"];
  for (const auto& [state, count] : by_state) Add(family, {{"state", state}}, count);
}

void NodeConnected(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [name, node] : input.fleet.nodes)
    Add(family, {{"node", name}}, node.connected ? 1 : 0);
}

void Ports(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, std::uint64_t> by_state = {{"active", 0}, {"down", 0}};
  for (const auto& [state, count] : input.fleet.ports) by_state[LowerName(Name(state))] += count;
  for (const auto& [state, count] : by_state)
    Add(family, {{"state", state}}, static_cast<double>(count));
}

void FindingsOpen(const MetricsInput& input, MetricFamily& family) {
  // A rule without findings is a 0, so that an alert on it can resolve.
  for (const auto& [key, count] : input.fleet.findings_open)
    Add(family, {{"rule", key.first}, {"severity", LowerName(Name(key.second))}},
        static_cast<double>(count));
}

void NodeFindingsOpen(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [name, node] : input.fleet.nodes)
    for (const auto& [key, count] : node.findings)
      Add(family, {{"node", name}, {"rule", key.first}, {"severity", LowerName(Name(key.second))}},
          static_cast<double>(count));
}

void FindingsSilenced(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, std::uint64_t> counts = {
      {"info", 0}, {"warning", 0}, {"error", 0}, {"critical", 0}};
  for (const auto& [severity, count] : input.fleet.findings_silenced)
    counts[LowerName(Name(severity))] += count;
  for (const auto& [severity, count] : counts)
    Add(family, {{"severity", severity}}, static_cast<double>(count));
}

void Verdicts(const MetricsInput& input, MetricFamily& family) {
  const v1::VerdictCounts& counts = input.fleet.verdicts;
  Add(family, {{"verdict", "fail"}}, static_cast<double>(counts.fail()));
  Add(family, {{"verdict", "pass"}}, static_cast<double>(counts.pass()));
  Add(family, {{"verdict", "unknown"}}, static_cast<double>(counts.unknown()));
}

void Campaigns(const MetricsInput& input, MetricFamily& family) {
  std::map<std::string, std::uint64_t> by_state = {{"cancelled", 0}, {"done", 0}, {"running", 0}};
  for (const auto& [state, count] : input.fleet.campaigns)
    by_state[LowerName(Name(state))] += count;
  for (const auto& [state, count] : by_state)
    Add(family, {{"state", state}}, static_cast<double>(count));
}

void Probes(const MetricsInput& input, MetricFamily& family) {
  Add(family, {{"result", "cancelled"}}, static_cast<double>(input.fleet.probes_cancelled));
  Add(family, {{"result", "failed"}}, static_cast<double>(input.fleet.probes_failed));
  Add(family, {{"result", "ok"}}, static_cast<double>(input.fleet.probes_ok));
}

void StoreFailures(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.store_failures));
}

void StorePending(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.store_pending));
}

void StoreDropped(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.store_dropped));
}

void StoreDamaged(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.fleet.store_damaged_rows));
}

void RefusedMessages(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [reason, count] : input.fleet.refused)
    Add(family, {{"reason", reason}}, static_cast<double>(count));
}

void RuleProblems(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, input.rule_problems);
}

void TlsStart(const MetricsInput& input, MetricFamily& family) {
  if (input.tls) Add(family, {}, static_cast<double>(input.tls->not_before_seconds));
}

void TlsExpiry(const MetricsInput& input, MetricFamily& family) {
  if (input.tls) Add(family, {}, static_cast<double>(input.tls->not_after_seconds));
}

void TlsRefused(const MetricsInput& input, MetricFamily& family) {
  if (input.tls) Add(family, {}, input.tls->files_refused ? 1 : 0);
}

void Requests(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [key, count] : input.calls.calls)
    Add(family,
        {{"method", key.method},
         {"transport", key.transport},
         {"code", std::string(CodeName(key.code))}},
        static_cast<double>(count));
}

void Refused(const MetricsInput& input, MetricFamily& family) {
  Add(family, {{"reason", "denied"}}, static_cast<double>(input.access.denied));
  Add(family, {{"reason", "limit"}}, static_cast<double>(input.access.limited));
  Add(family, {{"reason", "unauthenticated"}}, static_cast<double>(input.access.unauthenticated));
}

void AuditPending(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.access.audit_pending));
}

void AuditDropped(const MetricsInput& input, MetricFamily& family) {
  Add(family, {}, static_cast<double>(input.access.audit_dropped));
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
    {"fabric_rail_ports", MetricType::Gauge,
     "Fabric ports of connected nodes, by rail (0 to 255) and state.", &RailPortStates},
    {"fabric_rail_port_rate_bytes_per_second", MetricType::Gauge,
     "Link rate of the active ports of a rail: minimum and maximum.", &RailPortRates},
    {"fabric_rail_port_mtu_bytes", MetricType::Gauge,
     "Active path MTU of the active ports of a rail: minimum and maximum.", &RailPortMtus},
    {"fabric_findings_open", MetricType::Gauge,
     "Open failing findings without a silence, by rule and severity.", &FindingsOpen},
    {"fabric_node_findings_open", MetricType::Gauge,
     "Open failing findings without a silence, by node, rule and severity. A finding about "
     "several nodes counts for each. Nodes without findings have no series.",
     &NodeFindingsOpen},
    {"fabric_findings_silenced", MetricType::Gauge,
     "Open failing findings with an active silence, by severity.", &FindingsSilenced},
    {"fabric_rule_verdicts", MetricType::Gauge, "Verdicts of the newest evaluation of all rules.",
     &Verdicts},
    {"fabric_campaigns", MetricType::Gauge, "Known probe campaigns, by state.", &Campaigns},
    {"fabric_campaign_probes", MetricType::Gauge, "Probes of these campaigns, by result.", &Probes},
    {"fabric_probe_latency_seconds", MetricType::Gauge,
     "Median RDMA write latency of a pair: minimum, median (within 1 %) and maximum over the pairs "
     "of a rail in the newest campaign since the start.",
     &Latency},
    {"fabric_probe_bandwidth_bytes_per_second", MetricType::Gauge,
     "Mean RDMA write bandwidth of a pair: minimum, median (within 1 %) and maximum over the pairs "
     "of a rail in the newest campaign since the start.",
     &Bandwidth},
    {"fabric_mesh_pings", MetricType::Gauge,
     "Mesh pings in the newest windows, by rail and result.", &MeshPings},
    {"fabric_mesh_round_trip_seconds", MetricType::Gauge,
     "Median network round-trip time between two leaves in the newest mesh windows: minimum, "
     "median (within 1 %) and maximum over the pairs of leaves of a rail.",
     &MeshRoundTrip},
    {"fabric_mesh_leaf_pings", MetricType::Gauge,
     "Mesh pings from or to a leaf in the newest windows, by leaf and result.", &MeshLeafPings},
    {"fabric_mesh_leaves_omitted", MetricType::Gauge,
     "Number of leaves without a series because there are more than 1,000.", &MeshLeavesOmitted},
    {"fabric_mesh_worst_loss_ratio", MetricType::Gauge,
     "Share of lost mesh pings of the 10 pairs of leaves with the largest share. `fabricctl mesh` "
     "has all pairs.",
     &MeshWorstLoss},
    {"fabric_mesh_worst_round_trip_seconds", MetricType::Gauge,
     "Median network round-trip time of the 10 slowest pairs of leaves.", &MeshWorstRoundTrip},
    {"fabric_store_failures_total", MetricType::Counter, "Failed writes to the store.",
     &StoreFailures},
    {"fabric_store_pending_writes", MetricType::Gauge,
     "Writes that the controller keeps in memory because the disk refuses them.", &StorePending},
    {"fabric_store_dropped_writes_total", MetricType::Counter,
     "Writes that were lost because the disk refused too many.", &StoreDropped},
    {"fabric_store_damaged_rows", MetricType::Gauge,
     "Rows of the state file that could not be decoded at the start and are skipped.",
     &StoreDamaged},
    {"fabric_agent_messages_refused_total", MetricType::Counter,
     "Messages and sessions of agents that the controller refused or slowed down, by reason: the "
     "exceeded bound (docs/reference/BOUNDS.md), else the status code.",
     &RefusedMessages},
    {"fabric_controller_turn_seconds", MetricType::Histogram,
     "Time for which a turn of the controller held its lock, by kind of turn.", &TurnLengths},
    {"fabric_controller_turn_wait_seconds", MetricType::Histogram,
     "Time for which a turn of the controller waited for its lock, by kind of turn.", &TurnWaits},
    {"fabric_controller_longest_turn_seconds", MetricType::Gauge,
     "Longest turn by kind: since the start, and within the last minute.", &LongestTurns},
    {"fabric_controller_longest_turn_wait_seconds", MetricType::Gauge,
     "Longest wait of a turn by kind: since the start, and within the last minute.", &LongestWaits},
    {"fabric_rule_problems", MetricType::Gauge,
     "Problems in files of custom rules; invalid rules are skipped.", &RuleProblems},
    {"fabric_tls_certificate_not_before_seconds", MetricType::Gauge,
     "Start of the validity of the controller's TLS certificate, seconds since 1970.", &TlsStart},
    {"fabric_tls_certificate_not_after_seconds", MetricType::Gauge,
     "End of the validity of the controller's TLS certificate, seconds since 1970.", &TlsExpiry},
    {"fabric_tls_files_refused", MetricType::Gauge,
     "1: the TLS files on disk are invalid, and the previous ones are in use.", &TlsRefused},
    {"fabric_infiniband_topology_ports", MetricType::Gauge,
     "Active InfiniBand ports by their entry in the topology file: placed, other_lid (the LID "
     "differs; the file may be old), unknown.",
     &TopologyPorts},
    {"fabric_infiniband_topology_made_seconds", MetricType::Gauge,
     "Creation time of the InfiniBand topology file, seconds since 1970.", &TopologyMadeAt},
    {"fabric_subnet_nodes", MetricType::Gauge, "Switches and adapters of an InfiniBand subnet.",
     &SubnetNodes},
    {"fabric_subnet_cables", MetricType::Gauge, "Cables of an InfiniBand subnet.", &SubnetCables},
    {"fabric_subnet_read_seconds", MetricType::Gauge,
     "End of the last reading of an InfiniBand subnet, seconds since 1970.", &SubnetReadAt},
    {"fabric_subnet_read_problem", MetricType::Gauge,
     "1: no agent can read the InfiniBand subnet now, and its findings are those of the last "
     "reading.",
     &SubnetProblem},
    {"fabric_subnet_port_errors_per_second", MetricType::Gauge,
     "Increase of error counters between the last two readings of an InfiniBand subnet, for the 16 "
     "switch ports with the most errors.",
     &SubnetErrors},
    {"fabric_api_requests_total", MetricType::Counter, "API calls.", &Requests},
    {"fabric_api_request_duration_seconds", MetricType::Histogram,
     "Processing time of API calls in the controller.", &RequestDurations},
    {"fabric_access_refused_total", MetricType::Counter,
     "Calls, pages and agents that were refused: unauthenticated (no valid credential), denied "
     "(without the role), limit (more than the limits of the role).",
     &Refused},
    {"fabric_audit_pending_entries", MetricType::Gauge,
     "Entries of the audit log that the disk refuses; changes are refused until they are written.",
     &AuditPending},
    {"fabric_audit_dropped_total", MetricType::Counter,
     "Entries of the audit log that were lost because the disk refused too many.", &AuditDropped},
    {"fabric_notifications_total", MetricType::Counter,
     "Notifications of findings by receiver (webhook or syslog) and result.", &Notifications},
    {"fabric_notifications_pending", MetricType::Gauge,
     "Notifications that wait for their receiver.", &NotificationsPending},
    {"fabric_otlp_exports_total", MetricType::Counter,
     "Requests to the OTLP collector, by signal and outcome: ok, partial (it rejected a part), "
     "retry (to be repeated), refused (not repeated).",
     &OtlpExports},
    {"fabric_otlp_dropped_total", MetricType::Counter,
     "Data points (signal metrics) and events (signal logs) that did not reach the OTLP collector.",
     &OtlpDropped},
};

}  // namespace

std::vector<MetricFamily> CollectMetrics(const MetricsInput& input) {
  std::vector<MetricFamily> families;
  for (const Family& row : kFamilies) {
    MetricFamily family;
    family.name = row.name;
    family.help = row.help;
    family.type = row.type;
    row.fill(input, family);
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  for (const ProcessStat& stat : input.process) {
    if (!stat.value) continue;
    MetricFamily& family = families.emplace_back();
    family.name = stat.name;
    family.help = stat.help;
    family.type = stat.counter ? MetricType::Counter : MetricType::Gauge;
    Add(family, {}, *stat.value);
  }
  return families;
}

std::string MetricsText(const MetricsInput& input) {
  return prometheus::TextSerializer().Serialize(CollectMetrics(input));
}

std::string MetricsReference() {
  constexpr auto type_name = [](MetricType type) {
    return type == MetricType::Counter ? "counter"
                                       : (type == MetricType::Gauge ? "gauge" : "histogram");
  };
  std::string text = "| metric | type | meaning |\n|---|---|---|\n";
  for (const Family& row : kFamilies)
    text += Format("| `{}` | {} | {} |\n", row.name, type_name(row.type), row.help);
  for (const ProcessStat& stat : ReadProcessStats({}))
    text +=
        Format("| `{}` | {} | {} |\n", stat.name, stat.counter ? "counter" : "gauge", stat.help);
  return text;
}

}  // namespace fabric::api
