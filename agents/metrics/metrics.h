// What a node looks like to Prometheus. Pure, apart from the endpoint.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// The agent's own state. Only a daemon has all of it.
struct AgentMetrics {
  std::optional<bool> connected;
  std::optional<Duration> inspection;  // How long the last one took
  std::uint64_t inspections = 0;
  std::uint64_t messages_dropped = 0;
  std::vector<std::string> inspectors;  // That ran: those without a gap have zero of them.
};

struct NodeMetrics {
  v1::NodeSnapshot snapshot;
  AgentMetrics agent;
  bool node_exporter = false;  // With node_exporter's names for InfiniBand beside our own
};

// Families sorted by name. What the snapshot does not hold has no sample.
std::vector<prometheus::MetricFamily> ToMetrics(const NodeMetrics& node);

// The same in the text format of Prometheus.
std::string ToExposition(const NodeMetrics& node);

// Serves /metrics until destroyed.
class MetricsEndpoint {
 public:
  // Of `address` the host is a numeric address; with port 0 a free one is taken. `source` is called
  // from the endpoint's threads. UNAVAILABLE when the address cannot be listened on.
  static Result<std::unique_ptr<MetricsEndpoint>> Open(const HostPort& address,
                                                       std::function<NodeMetrics()> source);
  virtual ~MetricsEndpoint() = default;
  virtual HostPort address() const = 0;  // With the real port
};

}  // namespace fabric::agent
