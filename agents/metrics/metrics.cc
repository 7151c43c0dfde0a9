#include "agents/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>

#include "agents/metrics/metric_families.h"

namespace fabric::agent {
namespace {

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Number(std::uint64_t value) {
  return static_cast<double>(value);
}

void AddAgent(const NodeMetrics& node, MetricFamilies& out) {
  const v1::NodeIdentity& identity = node.snapshot.node();
  out.Gauge("fabric_agent_info", "The agent and the node it runs on.",
            {{"node", identity.name()},
             {"version", identity.agent_version()},
             {"kernel_release", identity.kernel_release()}},
            1);
  if (node.agent.connected)
    out.Gauge("fabric_agent_connected", "1 while the agent is connected to the controller.", {},
              *node.agent.connected ? 1 : 0);
  if (node.agent.inspection) {
    out.Gauge("fabric_agent_inspection_duration_seconds", "Duration of the last inspection.", {},
              Seconds(*node.agent.inspection));
    out.Counter("fabric_agent_inspections_total", "Inspections since the start of the agent.", {},
                Number(node.agent.inspections));
    out.Counter("fabric_agent_messages_dropped_total",
                "Messages to the controller dropped because the queue was full.", {},
                Number(node.agent.messages_dropped));
  }
  std::map<std::string, std::uint64_t> gaps;
  for (const std::string& inspector : node.agent.inspectors) gaps[inspector] = 0;
  for (const v1::Gap& gap : node.snapshot.gaps()) ++gaps[gap.inspector()];
  for (const auto& [inspector, count] : gaps)
    out.Gauge("fabric_agent_gaps", "Data that an inspector could not read.",
              {{"inspector", inspector}}, Number(count));
}

// With the names of the controller's, so that one alert covers both.
void AddTls(const TlsMetrics& tls, MetricFamilies& out) {
  out.Gauge("fabric_tls_certificate_not_before_seconds",
            "Start of the validity of the agent's TLS certificate, seconds since 1970.", {},
            Seconds(tls.not_before.time_since_epoch()));
  out.Gauge("fabric_tls_certificate_not_after_seconds",
            "End of the validity of the agent's TLS certificate, seconds since 1970.", {},
            Seconds(tls.not_after.time_since_epoch()));
  out.Gauge("fabric_tls_files_refused",
            "1: the TLS files on disk are invalid, and the previous ones are in use.", {},
            tls.files_refused ? 1 : 0);
}

}  // namespace

std::vector<prometheus::MetricFamily> ToMetrics(const NodeMetrics& node) {
  MetricFamilies out;
  AddAgent(node, out);
  static const FieldMetrics kFields(*v1::NodeSnapshot::descriptor());
  kFields.Add(node.snapshot, out);
  AddDevices(node.snapshot, out);
  AddNetdevs(node.snapshot, out);
  AddCounters(node.snapshot, out);
  if (node.tls) AddTls(*node.tls, out);
  if (node.node_exporter) AddNodeExporter(node.snapshot, out);
  for (const ProcessStat& stat : node.process) {
    if (!stat.value) continue;
    if (stat.counter)
      out.Counter(stat.name, stat.help, {}, *stat.value);
    else
      out.Gauge(stat.name, stat.help, {}, *stat.value);
  }
  return out.Take();
}

std::string ToExposition(const NodeMetrics& node) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, ToMetrics(node));
  return text.str();
}

}  // namespace fabric::agent
