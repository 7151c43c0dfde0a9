// The readiness protocol of systemd, without its library.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fabric {

// Sends `state` ("READY=1", "STOPPING=1") to `socket`, which is what NOTIFY_SOCKET says. Does
// nothing, and succeeds, when that is nullptr: the program was not started by systemd.
Status NotifySystemd(const char* socket, std::string_view state);

}  // namespace fabric
