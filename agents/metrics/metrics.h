// Prometheus metrics of a node, and their HTTP endpoint.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process_stats.h"
#include "base/settings.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// State of the agent. Complete only in a daemon.
struct AgentMetrics {
  std::optional<bool> connected;
  std::optional<Duration> inspection;  // Duration of the last one
  std::uint64_t inspections = 0;
  std::uint64_t messages_dropped = 0;
  std::vector<std::string> inspectors;  // Inspectors that ran; reported also without gaps
};

// Of the agent's TLS certificate.
struct TlsMetrics {
  WallTime not_before = {};
  WallTime not_after = {};
  bool files_refused = false;  // The files on disk are invalid, and the previous ones are in use.
};

struct NodeMetrics {
  v1::NodeSnapshot snapshot;
  AgentMetrics agent;
  bool node_exporter = false;             // Also export node_exporter's InfiniBand metrics
  std::vector<ProcessStat> process = {};  // Of a daemon
  std::optional<TlsMetrics> tls = {};     // Absent: no TLS
};

// Families sorted by name, without samples for absent data. Pure.
std::vector<prometheus::MetricFamily> ToMetrics(const NodeMetrics& node);

// ToMetrics() in the text format of Prometheus.
std::string ToExposition(const NodeMetrics& node);

// Serves /metrics until destroyed.
class MetricsEndpoint {
 public:
  // `address` has a numeric host; port 0 selects a free port. Calls `source` from the endpoint's
  // threads. UNAVAILABLE when it cannot listen on the address.
  static Result<std::unique_ptr<MetricsEndpoint>> Open(const HostPort& address,
                                                       std::function<NodeMetrics()> source);
  virtual ~MetricsEndpoint() = default;
  virtual HostPort address() const = 0;  // With the actual port
};

}  // namespace fabric::agent
