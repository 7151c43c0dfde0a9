// Metrics of the controller, for a scrape and for the export by OTLP. Pure.
//
// The number of series depends on the number of nodes, rules, rails and leaves, never on the number
// of their pairs.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process_stats.h"
#include "daemon/access/gate.h"
#include "daemon/api/call_metrics.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/turns.h"

namespace fabric::api {

struct TlsNumbers {
  // Validity of the certificate, seconds since 1970
  std::int64_t not_before_seconds = 0;
  std::int64_t not_after_seconds = 0;
  bool files_refused = false;
};

struct NotificationNumbers {
  std::string receiver;
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
  std::uint64_t pending = 0;
};

// Of one signal, "metrics" or "logs", of the export by OTLP.
struct OtlpNumbers {
  std::string signal;
  std::vector<std::pair<std::string_view, std::uint64_t>> exports = {};  // By outcome
  std::uint64_t dropped = 0;
};

struct MetricsInput {
  control::FleetNumbers fleet;
  std::uint32_t rule_problems = 0;
  CallMetrics::Counts calls;
  control::TurnRecorder::Counts turns = {};
  access::GateCounts access = {};
  std::optional<TlsNumbers> tls = {};  // Empty: the listeners have no TLS
  std::vector<ProcessStat> process = {};
  std::vector<NotificationNumbers> notifications = {};
  std::vector<OtlpNumbers> otlp = {};  // Empty: without export
};

// Families without a value are left out.
std::vector<prometheus::MetricFamily> CollectMetrics(const MetricsInput& input);

// CollectMetrics in the text exposition format of Prometheus.
std::string MetricsText(const MetricsInput& input);

// Markdown table of all metrics, for the reference page.
std::string MetricsReference();

}  // namespace fabric::api
