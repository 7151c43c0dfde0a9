// The readiness protocol of systemd, without its library.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fabric {

// Sends `state` ("READY=1", "STOPPING=1") to the socket that NOTIFY_SOCKET names. Does nothing, and
// succeeds, when the variable is not set: the program was not started by systemd.
Status NotifySystemd(std::string_view state);

}  // namespace fabric
