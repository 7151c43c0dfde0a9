// Pages of the HTTP servers that are not part of the API, and the roles that they need. /livez,
// /readyz and /healthz need none.
#pragma once

#include <vector>

#include "base/settings.h"
#include "daemon/access/gate.h"
#include "daemon/api/call_metrics.h"
#include "daemon/api/health.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/serving.h"
#include "daemon/signing_keys.h"

namespace fabric {

// Of the health server: nothing that waits for the controller. All are borrowed.
std::vector<api::Page> StatusPages(const Served& with, const api::Health& health,
                                   const api::CallMetrics& calls);

// Of the REST server: `pages`, those about the API, the web page and the manual. The keys are
// borrowed.
Result<std::vector<api::Page>> AllPages(const Settings& settings, std::vector<api::Page> pages,
                                        const SigningKeys& keys, access::Gate& gate);

}  // namespace fabric
