// Asynchronous events of RDMA devices: ports that come up and go down, tables that change.
#pragma once

#include <memory>
#include <span>

#include "agents/host/event_set.h"
#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// Watches on a thread of its own until destroyed.
//
// To hear of events a device must be held open. The kernel lets go of an open device at once when
// its driver says so (ib_device_ops.disassociate_ucontext; drivers/infiniband/core/uverbs_main.c);
// of any other, the open device would keep the driver from being unloaded. So only devices of
// drivers that have said so since long are held: see kDriversThatLetGo. The others sit on netdevs,
// whose events say the same.
class VerbsEvents {
 public:
  virtual ~VerbsEvents() = default;
  // Once: where the events arrive, one datagram of a native int, the ibv_event_type, for each.
  virtual Fd TakeEvents() = 0;
};

Result<std::unique_ptr<VerbsEvents>> OpenVerbsEvents();

// One such datagram. INVALID_ARGUMENT when it is none.
Result<EventSet> ParseVerbsEvents(std::span<const std::byte> datagram);

}  // namespace fabric::host
