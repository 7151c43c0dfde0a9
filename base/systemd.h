// sd_notify protocol of systemd, without libsystemd.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fabric {

// Sends `state` ("READY=1", "STOPPING=1") to `socket`, the value of NOTIFY_SOCKET. Does nothing and
// succeeds if it is nullptr, that is, if systemd did not start the program.
Status NotifySystemd(const char* socket, std::string_view state);

}  // namespace fabric
