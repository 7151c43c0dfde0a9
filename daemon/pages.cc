#include "daemon/pages.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "daemon/api/fabric_api.h"
#include "daemon/web/manual.h"
#include "daemon/web/web_files.h"
#include "daemon/web/web_pages.h"

namespace fabric {
namespace {

// Whether a caller may read a page: with one of the roles.
std::function<Status(const access::Caller&)> Needs(access::Gate& gate, access::Need need) {
  return [&gate, need = std::move(need)](const access::Caller& caller) {
    return gate.Admit(caller, need).status();
  };
}

}  // namespace

std::function<api::MetricsInput()> MetricsOf(const Served& with, const api::CallMetrics& calls,
                                             const OtlpExport* otlp) {
  return [&controller = with.controller, &gate = with.site.gate(), &calls,
          &transport = with.transport, &notifier = with.notifier, started = with.started, otlp] {
    api::MetricsInput input = api::ReadMetrics(controller, gate, calls);
    input.tls = transport.Numbers();
    input.process = ReadProcessStats(started);
    for (notify::ReceiverCounts& one : notifier.Counts())
      input.notifications.push_back({.receiver = std::move(one.name),
                                     .sent = one.sent,
                                     .dropped = one.dropped,
                                     .pending = one.pending});
    if (otlp == nullptr) return input;
    for (const otlp::SignalCounts& one : otlp->Counts()) {
      api::OtlpNumbers& numbers = input.otlp.emplace_back();
      numbers.signal = one.signal;
      numbers.dropped = one.dropped;
      for (std::size_t i = 0; i < one.exports.size(); ++i)
        numbers.exports.emplace_back(OutcomeName(static_cast<otlp::Outcome>(i)), one.exports[i]);
    }
    return input;
  };
}

std::vector<api::Page> StatusPages(const Served& with, const api::Health& health,
                                   std::function<api::MetricsInput()> metrics) {
  control::Controller& controller = with.controller;
  access::Gate& gate = with.site.gate();
  const auto degraded = [&controller, leadership = with.leadership] {
    const std::string failure = controller.StoreFailure();
    return failure.empty() && leadership != nullptr ? leadership->Doubt() : failure;
  };
  std::vector<api::Page> pages = api::HealthPages(health, with.clock, degraded);
  pages.push_back({"/metrics",
                   [metrics = std::move(metrics)] {
                     return api::HttpResponse{
                         .content_type = "text/plain; version=0.0.4; charset=utf-8",
                         .body = api::MetricsText(metrics()),
                         .compress = true};
                   },
                   Needs(gate, {"/metrics", {v1::ROLE_METRICS, v1::ROLE_VIEWER}})});
  return pages;
}

Result<std::vector<api::Page>> AllPages(const Settings& settings, std::vector<api::Page> pages,
                                        const SigningKeys& keys, access::Gate& gate) {
  auto manual = web::ReadManual(settings.Text("manual"));
  if (!manual.ok()) return manual.status().In("manual");
  pages.push_back({"/certificate-key.pem",
                   [&keys] {
                     return api::HttpResponse{.content_type = "application/x-pem-file",
                                              .body = keys.PublicPem()};
                   },
                   Needs(gate, {"/certificate-key.pem", {v1::ROLE_VIEWER}})});
  for (const web::File& file : web::ApiDescription())
    pages.push_back({std::string(file.path),
                     [file] {
                       return api::HttpResponse{.body = std::string(file.body),
                                                .gzip_body = file.gzip_body};
                     },
                     Needs(gate, {std::string(file.path), {v1::ROLE_VIEWER}})});
  for (api::Page& page : web::WebPages(web::Files())) pages.push_back(std::move(page));
  for (api::Page& page : *manual) pages.push_back(std::move(page));
  return pages;
}

}  // namespace fabric
