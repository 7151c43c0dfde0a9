// Asks the controller for what /metrics shows.
#pragma once

#include "daemon/api/call_metrics.h"
#include "daemon/api/metrics.h"
#include "daemon/control/controller.h"

namespace fabric::api {

MetricsInput ReadMetrics(control::Controller& controller, const CallMetrics& calls);

}  // namespace fabric::api
