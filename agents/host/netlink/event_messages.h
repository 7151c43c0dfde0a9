// Parsers of kernel notifications into event kinds. Pure.
//
// INVALID_ARGUMENT for truncated or inconsistent input. The empty set for irrelevant messages.
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

// A uevent (lib/kobject_uevent.c): "add@/devices/...", then NAME=value, each followed by NUL.
Result<EventSet> ParseKernelEvent(std::string_view message);

// Whether the reply to RDMA_NLDEV_CMD_SYS_GET announces the notifications above.
Result<bool> ParseMonitorMode(Bytes datagram);

}  // namespace fabric::host
