// Asynchronous events of RDMA devices: port state and table changes.
#pragma once

#include <memory>
#include <span>

#include "agents/host/event_set.h"
#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// Watches on its own thread until destroyed.
//
// Receiving events needs an open device. Drivers with ib_device_ops.disassociate_ucontext
// (drivers/infiniband/core/uverbs_main.c) can be unloaded while a device is open; other drivers
// cannot. Only devices of drivers known to have it are opened: see kDriversThatLetGo. The others
// have netdevs, whose events are equivalent.
class VerbsEvents {
 public:
  virtual ~VerbsEvents() = default;
  // Call once: the socket with the events, one datagram of a native int (ibv_event_type) each.
  virtual Fd TakeEvents() = 0;
};

Result<std::unique_ptr<VerbsEvents>> OpenVerbsEvents();

// Parser of one datagram. INVALID_ARGUMENT for other data.
Result<EventSet> ParseVerbsEvents(std::span<const std::byte> datagram);

}  // namespace fabric::host
