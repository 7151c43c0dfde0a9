#include "daemon/otlp_export.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/tls/openssl.h"
#include "base/version.h"
#include "daemon/http_fronts.h"
#include "daemon/otlp/attributes.h"
#include "daemon/otlp/grpc_collector.h"

namespace fabric {
namespace {

Status Unexpected(std::string_view name, std::string_view why) {
  return {Code::kInvalidArgument, Format("--{}: expected no file {}, saw one", name, why)};
}

Status Missing(std::string_view name, std::string_view why) {
  return {Code::kInvalidArgument, Format("--{}: expected a file, because {}, saw none", name, why)};
}

// Host, version and address of this controller, as every request has them.
otlp::Resource ResourceOf(const HostPort& grpc) {
  otlp::Resource resource;
  auto& attributes = *resource.mutable_attributes();
  const std::string machine = MachineName();
  otlp::AddText("service.name", "fabricd", attributes);
  otlp::AddText("service.version", kVersion, attributes);
  otlp::AddText("service.instance.id",
                ToString(HostPort{machine.empty() ? grpc.host : machine, grpc.port}), attributes);
  if (!machine.empty()) otlp::AddText("host.name", machine, attributes);
  return resource;
}

}  // namespace

Status CheckOtlpSettings(const Settings& settings) {
  const bool on = settings.Has("otlp-endpoint");
  const bool with_tls = settings.Text("otlp-tls") == "on";
  for (const std::string_view name : {"otlp-ca", "otlp-cert", "otlp-key", "otlp-headers"}) {
    if (!settings.Has(name)) continue;
    if (!on) return Unexpected(name, "without --otlp-endpoint");
    if (!with_tls) return Unexpected(name, "with otlp-tls: off");
  }
  if (!on) return {};
  if (settings.Address("otlp-endpoint").port == 0)
    return {Code::kInvalidArgument,
            Format("--otlp-endpoint: expected a port from 1 to 65535, saw {}",
                   settings.Text("otlp-endpoint"))};
  if (!with_tls) return {};
  if (!settings.Has("otlp-ca")) return Missing("otlp-ca", "--otlp-endpoint is set and otlp-tls on");
  if (settings.Has("otlp-cert") && !settings.Has("otlp-key"))
    return Missing("otlp-key", "--otlp-cert is set");
  if (settings.Has("otlp-key") && !settings.Has("otlp-cert"))
    return Missing("otlp-cert", "--otlp-key is set");
  return {};
}

Result<std::unique_ptr<OtlpExport>> OtlpExport::Open(const Settings& settings, const Clock& clock,
                                                     const control::EventBus& events,
                                                     WallTime process_started) {
  if (!settings.Has("otlp-endpoint")) return std::unique_ptr<OtlpExport>();
  std::unique_ptr<OtlpExport> out(new OtlpExport(settings, clock, events, process_started));
  const bool with_tls = settings.Text("otlp-tls") == "on";
  if (with_tls) {
    RETURN_IF_ERROR(tls::RequireTls13());
    auto files = tls::TlsFiles::Open({.certificate = settings.Text("otlp-cert"),
                                      .key = settings.Text("otlp-key"),
                                      .ca = settings.Text("otlp-ca"),
                                      .crl = {}},
                                     clock.Now().wall);
    if (!files.ok()) return files.status().In("TLS of OTLP");
    out->files_ = *std::move(files);
  }
  const std::string headers = settings.Text("otlp-headers");
  if (!headers.empty()) RETURN_IF_ERROR(otlp::ReadHeaders(headers).status().In("otlp-headers"));
  v1::WatchEventsRequest request;
  request.set_filter(settings.Text("otlp-events"));
  auto watch = events.Start(request, clock.Now());
  if (!watch.ok()) return watch.status().In("otlp-events");
  out->watch_ = std::make_unique<control::EventWatch>(*std::move(watch));
  out->collector_ = std::make_unique<otlp::GrpcCollector>(
      otlp::CollectorOptions{.endpoint = settings.Address("otlp-endpoint"),
                             .tls = out->files_.get(),
                             .headers_file = headers,
                             .gzip = settings.Text("otlp-compression") == "gzip"});
  log::Info("metrics and events go to the OTLP collector at {}{}", settings.Text("otlp-endpoint"),
            with_tls ? "" : " without TLS (otlp-tls: off)");
  return out;
}

void OtlpExport::Start(otlp::Exporter::Collect collect, const HostPort& grpc) {
  exporter_ = std::make_unique<otlp::Exporter>(
      otlp::ExporterOptions{.collector = settings_.Text("otlp-endpoint"),
                            .resource = ResourceOf(grpc),
                            .process_started = process_started_,
                            .controller_started = clock_.Now().wall,
                            .interval = settings_.Duration("otlp-interval")},
      clock_, *collector_, events_, std::move(*watch_), std::move(collect),
      [](bool works, const std::string& line) {
        log::Write(works ? log::Level::kInfo : log::Level::kWarning, "OTLP: " + line);
      });
  exporter_->Start();
}

void OtlpExport::Stop() {
  if (exporter_) exporter_->Stop();
}

void OtlpExport::Check(WallTime now) {
  if (files_ == nullptr) return;
  switch (files_->Check(now)) {
    case tls::TlsFiles::Change::kNone: return;
    case tls::TlsFiles::Change::kReloaded: return log::Info("OTLP: TLS files reloaded");
    case tls::TlsFiles::Change::kRefused:
      return log::Error("OTLP: new TLS files refused, the previous ones stay in use: {}",
                        files_->problem().message());
  }
}

std::vector<otlp::SignalCounts> OtlpExport::Counts() const {
  return exporter_ ? exporter_->Counts() : std::vector<otlp::SignalCounts>();
}

}  // namespace fabric
