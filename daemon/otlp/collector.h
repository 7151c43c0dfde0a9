// A collector of OTLP, as the exporter sees it, and what its answers mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/otlp/metric_points.h"
#include "opentelemetry/proto/collector/logs/v1/logs_service.pb.h"

namespace fabric::otlp {

using LogsRequest = opentelemetry::proto::collector::logs::v1::ExportLogsServiceRequest;

enum class Outcome {
  kOk,
  kPartial,  // The collector rejected a part, and the request is not repeated.
  kRetry,
  kRefused,  // A repetition would have the same answer.
};

struct Answer {
  Outcome outcome = Outcome::kOk;
  std::string reason = {};            // Empty for kOk
  std::uint64_t rejected = 0;         // kPartial: points or records
  std::optional<Duration> wait = {};  // kRetry: the collector asks for at least this pause.
};

class Collector {
 public:
  virtual ~Collector() = default;
  virtual Answer Export(const MetricsRequest& request) = 0;
  virtual Answer Export(const LogsRequest& request) = 0;
  // Ends the call in progress, and every later one at once. Safe to call from any thread.
  virtual void Cancel() = 0;
};

// Of a failed call: OTLP says which codes of gRPC are repeated, and RESOURCE_EXHAUSTED only with a
// RetryInfo in `details` (grpc-status-details-bin).
Answer AnswerOfFailure(int code, const std::string& message, const std::string& details);
// Of a call that succeeded, by its partial_success.
Answer AnswerOfSuccess(std::int64_t rejected, const std::string& message);

using Headers = std::vector<std::pair<std::string, std::string>>;

// Lines "NAME: VALUE" of the file `path`; empty lines and lines with # are skipped. Names become
// lower case. INVALID_ARGUMENT with file and line; it does not contain values, which are secrets.
Result<Headers> ParseHeaders(std::string_view text, std::string_view path);

}  // namespace fabric::otlp
