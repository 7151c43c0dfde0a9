// Privileges of this process that it needs only at its start.
#pragma once

#include "base/status.h"

namespace fabric::host {

// Gives up CAP_NET_RAW, for the calling thread and the threads that it starts later: call it before
// the first one. Sockets that are open stay usable. OK without the capability. FAILED_PRECONDITION
// if no packet socket is open: the process still needs the capability to open one.
Status DropNetRaw();

}  // namespace fabric::host
