// Why nobody can listen on an address, in words: libraries keep the kernel's reason to themselves.
#pragma once

#include "base/settings.h"
#include "base/status.h"

namespace fabric::api {

// Tries to bind the address and lets it go again. UNAVAILABLE or INVALID_ARGUMENT with the address
// and the kernel's words; success when it can be bound.
Status CheckListen(const HostPort& address);

}  // namespace fabric::api
