// Pages of the HTTP servers that are not part of the API, and the roles that they need. /livez,
// /readyz and /healthz need none.
#pragma once

#include <functional>
#include <vector>

#include "base/settings.h"
#include "daemon/access/gate.h"
#include "daemon/api/call_metrics.h"
#include "daemon/api/health.h"
#include "daemon/api/metrics.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/otlp_export.h"
#include "daemon/serving.h"
#include "daemon/signing_keys.h"

namespace fabric {

// All metrics, for scrapes and for the export by OTLP. Safe to call from any thread. Everything is
// borrowed; `otlp` may be null.
std::function<api::MetricsInput()> MetricsOf(const Served& with, const api::CallMetrics& calls,
                                             const OtlpExport* otlp);

// Of the health server: nothing that waits for the controller. All are borrowed.
std::vector<api::Page> StatusPages(const Served& with, const api::Health& health,
                                   std::function<api::MetricsInput()> metrics);

// Of the REST server: `pages`, those about the API, the web page and the manual. The keys are
// borrowed.
Result<std::vector<api::Page>> AllPages(const Settings& settings, std::vector<api::Page> pages,
                                        const SigningKeys& keys, access::Gate& gate);

}  // namespace fabric
