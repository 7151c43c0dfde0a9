// Privileges that the agent needs only at its start.
#pragma once

#include "base/status.h"

namespace fabric::host {

// Gives up CAP_NET_RAW, for the calling thread and the threads that it starts later: call it before
// the first one. Sockets that are open stay usable. OK without the capability.
Status DropNetRaw();

}  // namespace fabric::host
