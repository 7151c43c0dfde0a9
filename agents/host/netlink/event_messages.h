// What the kernel says by itself when something has happened: which kinds of things it was. Pure.
//
// All of these report input that is truncated or contradicts itself as INVALID_ARGUMENT. Messages
// of kinds that are of no interest yield the empty set.
#pragma once

#include <cstdint>
#include <string_view>

#include "agents/host/event_set.h"
#include "agents/host/netlink/netlink_reader.h"
#include "base/status.h"

namespace fabric::host {

// Notifications of rtnetlink: RTM_NEWLINK and RTM_DELLINK (net/core/rtnetlink.c), RTM_NEWADDR and
// RTM_DELADDR (net/ipv4/devinet.c, net/ipv6/addrconf.c), RTM_GETDCB and RTM_SETDCB
// (dcbnl_notify() of net/dcb/dcbnl.c). One datagram.
Result<EventSet> ParseRouteEvents(Bytes datagram);

// Notifications of RDMA netlink, RDMA_NLDEV_CMD_MONITOR (drivers/infiniband/core/nldev.c, since
// Linux 6.12). One datagram.
Result<EventSet> ParseRdmaEvents(Bytes datagram);

// A uevent (lib/kobject_uevent.c): "add@/devices/...", then NAME=value, each with a NUL behind it.
Result<EventSet> ParseKernelEvent(std::string_view message);

// Whether the answer to RDMA_NLDEV_CMD_SYS_GET says that this kernel sends the notifications above.
Result<bool> ParseMonitorMode(Bytes datagram);

}  // namespace fabric::host
