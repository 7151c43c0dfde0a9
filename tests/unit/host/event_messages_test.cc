#include "agents/host/netlink/event_messages.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <string>

#include "agents/host/verbs/verbs_events.h"
#include "tests/unit/host/datagram.h"

namespace fabric::host {
namespace {

using namespace std::string_view_literals;

constexpr int kMonitor = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, 28);
constexpr int kSysGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);

Datagram Link(int type, int family) {
  Datagram datagram;
  datagram.Message(type)
      .Header(ifinfomsg{.ifi_family = static_cast<std::uint8_t>(family), .ifi_index = 3})
      .Text(IFLA_IFNAME, "eth0");
  return datagram;
}

TEST(RouteEvents, AreOfLinksAddressesAndDcb) {
  EXPECT_EQ(*ParseRouteEvents(Link(RTM_NEWLINK, AF_UNSPEC).bytes()), EventKind::kLink);
  EXPECT_EQ(*ParseRouteEvents(Link(RTM_DELLINK, AF_UNSPEC).bytes()), EventKind::kLink);
  for (const int type : {RTM_NEWADDR, RTM_DELADDR}) {
    Datagram datagram;
    datagram.Message(type).Header(ifaddrmsg{.ifa_family = AF_INET6, .ifa_index = 3});
    EXPECT_EQ(*ParseRouteEvents(datagram.bytes()), EventKind::kAddress);
  }
  for (const int type : {RTM_GETDCB, RTM_SETDCB}) {
    Datagram datagram;
    datagram.Message(type).Header(dcbmsg{.cmd = DCB_CMD_IEEE_SET});
    EXPECT_EQ(*ParseRouteEvents(datagram.bytes()), EventKind::kDcb);
  }
}

TEST(RouteEvents, OfBridgePortsAreNoneOfLinks) {
  EXPECT_TRUE(ParseRouteEvents(Link(RTM_NEWLINK, AF_BRIDGE).bytes())->empty());
}

TEST(RouteEvents, OfOtherKindsAreNone) {
  Datagram datagram;
  datagram.Message(RTM_NEWROUTE).Header(rtmsg{});
  EXPECT_TRUE(ParseRouteEvents(datagram.bytes())->empty());
}

TEST(RouteEvents, OfOneDatagramAddUp) {
  Datagram datagram = Link(RTM_NEWLINK, AF_UNSPEC);
  datagram.Message(RTM_DELADDR).Header(ifaddrmsg{});
  EXPECT_EQ(*ParseRouteEvents(datagram.bytes()), EventKind::kLink | EventKind::kAddress);
}

TEST(RouteEvents, ThatAreTruncatedAreErrors) {
  const Datagram datagram = Link(RTM_NEWLINK, AF_UNSPEC);
  EXPECT_EQ(ParseRouteEvents(datagram.First(datagram.size() - 4)).status().code(),
            Code::kInvalidArgument);
  Datagram no_header;
  no_header.Message(RTM_NEWLINK);
  EXPECT_EQ(ParseRouteEvents(no_header.bytes()).status().code(), Code::kInvalidArgument);
}

TEST(RdmaEvents, SayWhetherDevicesCameAndWent) {
  struct Case {
    std::uint8_t type;
    EventSet events;
  };
  for (const Case& c : {Case{0, EventKind::kRdma | EventKind::kHotplug},  // Registered
                        Case{1, EventKind::kRdma | EventKind::kHotplug},  // Unregistered
                        Case{2, EventKind::kRdma},                        // Netdev attached
                        Case{4, EventKind::kRdma},                        // Renamed
                        Case{99, EventKind::kRdma}}) {                    // Of a newer kernel
    Datagram datagram;
    datagram.Message(kMonitor)
        .U32(RDMA_NLDEV_ATTR_DEV_INDEX, 1)
        .Text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0")
        .U8(102, c.type);
    EXPECT_EQ(*ParseRdmaEvents(datagram.bytes()), c.events) << int{c.type};
  }
}

TEST(RdmaEvents, NeedATypeOfTheRightSize) {
  Datagram none;
  none.Message(kMonitor).U32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
  EXPECT_EQ(ParseRdmaEvents(none.bytes()).status().code(), Code::kInvalidArgument);
  Datagram wide;
  wide.Message(kMonitor).U32(102, 1);
  EXPECT_EQ(ParseRdmaEvents(wide.bytes()).status().code(), Code::kInvalidArgument);
}

TEST(RdmaEvents, ThatAreAnswersToOthersAreNone) {
  Datagram datagram;
  datagram.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
  EXPECT_TRUE(ParseRdmaEvents(datagram.bytes())->empty());
}

TEST(MonitorMode, IsOffWhereTheKernelDoesNotKnowIt) {
  Datagram old;
  old.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
  EXPECT_FALSE(*ParseMonitorMode(old.bytes()));
  Datagram recent;
  recent.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1).U8(103, 1);
  EXPECT_TRUE(*ParseMonitorMode(recent.bytes()));
  Datagram refused;
  refused.Error(-EOPNOTSUPP);
  EXPECT_FALSE(ParseMonitorMode(refused.bytes()).ok());
}

TEST(KernelEvents, SayBySubsystemWhatHappened) {
  struct Case {
    std::string_view message;
    EventSet events;
  };
  const Case cases[] = {
      {"add@/devices/pci0000:16/0000:17:00.0/infiniband/mlx5_0\0ACTION=add\0"
       "SUBSYSTEM=infiniband\0SEQNUM=2\0"sv,
       EventKind::kRdma | EventKind::kHotplug},
      {"remove@/devices/virtual/infiniband_verbs/uverbs0\0SUBSYSTEM=infiniband_verbs\0"sv,
       EventKind::kRdma | EventKind::kHotplug},
      {"move@/devices/pci0000:16/0000:17:00.0/net/eth0\0SUBSYSTEM=net\0INTERFACE=eth0\0"sv,
       EventKind::kLink | EventKind::kHotplug},
      {"add@/devices/virtual/net/veth3\0SUBSYSTEM=net\0"sv, EventKind::kLink},
      {"bind@/devices/pci0000:16/0000:17:00.0\0SUBSYSTEM=pci\0"sv, EventKind::kHotplug},
      {"add@/module/nvidia_peermem\0ACTION=add\0SUBSYSTEM=module\0"sv, EventKind::kModule},
      {"add@/devices/pci0000:16/net/eth0/queues/rx-0\0SUBSYSTEM=queues\0"sv, EventSet()},
      {"change@/devices/virtual/block/loop0\0SUBSYSTEM=block"sv, EventSet()},
  };
  for (const Case& c : cases) {
    const auto events = ParseKernelEvent(c.message);
    ASSERT_TRUE(events.ok()) << events.status().message();
    EXPECT_EQ(*events, c.events) << c.message;
  }
}

TEST(KernelEvents, ThatAreNotTheKernelsAreErrors) {
  for (const std::string_view message :
       {""sv, "libudev\0\xfe\xed\xca\xfe"sv, "add@/devices/x"sv, "add@/devices/x\0ACTION=add\0"sv,
        "add@/devices/x\0SUBSYSTEM=\0"sv, "nonsense\0SUBSYSTEM=net\0"sv})
    EXPECT_EQ(ParseKernelEvent(message).status().code(), Code::kInvalidArgument) << message;
}

TEST(VerbsEvents, AreThoseOfPortsAndDevices) {
  const auto parse = [](int type) { return *ParseVerbsEvents(std::as_bytes(std::span(&type, 1))); };
  EXPECT_EQ(parse(IBV_EVENT_PORT_ERR), EventKind::kRdma);
  EXPECT_EQ(parse(IBV_EVENT_GID_CHANGE), EventKind::kRdma);
  EXPECT_EQ(parse(IBV_EVENT_DEVICE_FATAL), EventKind::kRdma | EventKind::kHotplug);
  EXPECT_TRUE(parse(IBV_EVENT_QP_FATAL).empty());
  EXPECT_EQ(ParseVerbsEvents({}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace fabric::host
