#include "agents/host/netlink/event_messages.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <optional>

#include "base/text.h"

namespace fabric::host {
namespace {

// Of include/uapi/rdma/rdma_netlink.h, Linux 6.12; the headers of older systems lack them.
constexpr int kMonitorCommand = 28;            // RDMA_NLDEV_CMD_MONITOR
constexpr std::uint16_t kEventTypeAttr = 102;  // RDMA_NLDEV_ATTR_EVENT_TYPE
constexpr std::uint16_t kMonitorModeAttr = 103;
constexpr std::uint8_t kRegisterEvent = 0;
constexpr std::uint8_t kUnregisterEvent = 1;

constexpr int TypeOf(int command) {
  return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
}

Result<EventSet> ParseRouteEvent(const NetlinkMessage& message) {
  switch (message.type) {
    case RTM_NEWLINK:
    case RTM_DELLINK: {
      ASSIGN_OR_RETURN(const auto link, ReadStruct<ifinfomsg>(message.payload, "link header"));
      // Of other families it is about bridges' and protocols' own settings of a netdev.
      return link.ifi_family == AF_UNSPEC ? EventSet(EventKind::kLink) : EventSet();
    }
    case RTM_NEWADDR:
    case RTM_DELADDR: return EventSet(EventKind::kAddress);
    case RTM_GETDCB:
    case RTM_SETDCB: return EventSet(EventKind::kDcb);
    case NLMSG_OVERRUN: return EventSet::All();
    default: return EventSet();
  }
}

Result<EventSet> ParseRdmaEvent(const NetlinkMessage& message) {
  if (message.type != TypeOf(kMonitorCommand)) return EventSet();
  std::optional<std::uint8_t> type;
  RETURN_IF_ERROR(
      ForEachAttribute(message.payload, [&](const NetlinkAttribute& attribute) -> Status {
        if (attribute.type != kEventTypeAttr) return {};
        return ReadInteger<std::uint8_t>(attribute, "event type", type);
      }));
  if (!type) return WrongSize("event type", sizeof(*type), 0);
  EventSet events(EventKind::kRdma);
  if (*type == kRegisterEvent || *type == kUnregisterEvent) events |= EventKind::kHotplug;
  return events;
}

template <class Parse>
Result<EventSet> ParseEach(Bytes datagram, const Parse& parse) {
  EventSet events;
  NetlinkMessage message;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, NextMessage(datagram, message));
    if (!more) return events;
    ASSIGN_OR_RETURN(const EventSet of_message, parse(message));
    events |= of_message;
  }
}

// The value of NAME in "NAME=value"s with a NUL behind each; empty when it is not there.
std::string_view Find(std::string_view fields, std::string_view name) {
  for (const std::string_view field : Split(fields, '\0'))
    if (field.size() > name.size() && field.starts_with(name) && field[name.size()] == '=')
      return field.substr(name.size() + 1);
  return {};
}

}  // namespace

Result<EventSet> ParseRouteEvents(Bytes datagram) {
  return ParseEach(datagram, ParseRouteEvent);
}

Result<EventSet> ParseRdmaEvents(Bytes datagram) {
  return ParseEach(datagram, ParseRdmaEvent);
}

Result<EventSet> ParseKernelEvent(std::string_view message) {
  const std::size_t title_end = message.find('\0');
  const std::string_view title = message.substr(0, title_end);
  if (title_end == std::string_view::npos || title.find("@/") == std::string_view::npos)
    return Status(Code::kInvalidArgument,
                  Format("uevent: expected action@path, saw {}", Quoted(title)));
  const std::string_view fields = message.substr(title_end + 1);
  const std::string_view subsystem = Find(fields, "SUBSYSTEM");
  if (subsystem.empty())
    return Status(Code::kInvalidArgument, "uevent: expected a SUBSYSTEM, saw none");
  // infiniband, infiniband_verbs, infiniband_mad: a driver's character devices come after it.
  if (subsystem.starts_with("infiniband")) return EventKind::kRdma | EventKind::kHotplug;
  if (subsystem == "pci") return EventSet(EventKind::kHotplug);
  if (subsystem == "module") return EventSet(EventKind::kModule);
  if (subsystem != "net") return EventSet();
  // Containers come and go with virtual netdevs, which are on no bus.
  const bool is_virtual = title.find("@/devices/virtual/") != std::string_view::npos;
  return is_virtual ? EventSet(EventKind::kLink) : EventKind::kLink | EventKind::kHotplug;
}

Result<bool> ParseMonitorMode(Bytes datagram) {
  std::uint8_t mode = 0;
  RETURN_IF_ERROR(
      ForEachReply(datagram, TypeOf(RDMA_NLDEV_CMD_SYS_GET), [&](Bytes message) -> Status {
        return ForEachAttribute(message, [&](const NetlinkAttribute& attribute) -> Status {
          if (attribute.type != kMonitorModeAttr) return {};
          return ReadInteger<std::uint8_t>(attribute, "monitor mode", mode);
        });
      }));
  return mode != 0;
}

}  // namespace fabric::host
