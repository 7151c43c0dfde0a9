// Export of metrics and events by OTLP, by the settings of fabricd.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/grammar.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "daemon/control/events.h"
#include "daemon/otlp/exporter.h"

namespace fabric {

// INVALID_ARGUMENT with the setting that is wrong: a file is missing or not used.
Status CheckOtlpSettings(const Settings& settings);

class OtlpExport {
 public:
  // The settings are checked. Null: otlp-endpoint is not set. Errors name the setting or the file.
  // Events are exported from now on.
  static Result<std::unique_ptr<OtlpExport>> Open(const Settings& settings, const Clock& clock,
                                                  const control::EventBus& events,
                                                  WallTime process_started);

  // `grpc`: the bound address, which differs between the controllers of a host.
  void Start(otlp::Exporter::Collect collect, const HostPort& grpc);
  void Stop();
  // Reloads changed TLS files and logs it. Call it every few seconds.
  void Check(WallTime now);
  std::vector<otlp::SignalCounts> Counts() const;  // Safe to call from any thread.

 private:
  OtlpExport(const Settings& settings, const Clock& clock, const control::EventBus& events,
             WallTime process_started)
      : settings_(settings), clock_(clock), events_(events), process_started_(process_started) {}

  const Settings& settings_;
  const Clock& clock_;
  const control::EventBus& events_;
  const WallTime process_started_;
  std::unique_ptr<tls::TlsFiles> files_;  // Null: no TLS
  std::unique_ptr<otlp::Collector> collector_;
  std::unique_ptr<control::EventWatch> watch_;  // Until Start
  std::unique_ptr<otlp::Exporter> exporter_;    // Since Start
};

}  // namespace fabric
