// Reason why an address cannot be listened on, which the server libraries do not report.
#pragma once

#include "base/settings.h"
#include "base/status.h"

namespace fabric::api {

// Binds the address and releases it. UNAVAILABLE or INVALID_ARGUMENT with the address and the
// kernel's reason.
Status CheckListen(const HostPort& address);

}  // namespace fabric::api
