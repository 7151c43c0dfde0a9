#include "daemon/api/metrics_outputs.h"

#include <string>
#include <utility>

#include "daemon/api/metric_values.h"

namespace fabric::api {

using prometheus::MetricFamily;

void Notifications(const MetricsInput& input, MetricFamily& family) {
  for (const NotificationNumbers& one : input.notifications)
    for (const auto& [result, count] : {std::pair("sent", one.sent), {"dropped", one.dropped}})
      Add(family, {{"receiver", one.receiver}, {"result", result}}, static_cast<double>(count));
}

void NotificationsPending(const MetricsInput& input, MetricFamily& family) {
  for (const NotificationNumbers& one : input.notifications)
    Add(family, {{"receiver", one.receiver}}, static_cast<double>(one.pending));
}

void OtlpExports(const MetricsInput& input, MetricFamily& family) {
  for (const OtlpNumbers& one : input.otlp)
    for (const auto& [outcome, count] : one.exports)
      Add(family, {{"signal", one.signal}, {"outcome", std::string(outcome)}},
          static_cast<double>(count));
}

void OtlpDropped(const MetricsInput& input, MetricFamily& family) {
  for (const OtlpNumbers& one : input.otlp)
    Add(family, {{"signal", one.signal}}, static_cast<double>(one.dropped));
}

}  // namespace fabric::api
