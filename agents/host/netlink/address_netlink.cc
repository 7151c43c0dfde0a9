#include "agents/host/netlink/address_netlink.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cstring>

#include "agents/host/netlink/netlink_client.h"
#include "agents/host/netlink/netlink_reader.h"
#include "base/text.h"

namespace fabric::host {
namespace {

std::size_t AddressSize(int family) {
  return family == AF_INET ? sizeof(in_addr) : family == AF_INET6 ? sizeof(in6_addr) : 0;
}

Status TakeAddress(Bytes message, std::vector<InterfaceAddress>& addresses) {
  ASSIGN_OR_RETURN(const auto header, ReadStruct<ifaddrmsg>(message, "address header"));
  const std::size_t size = AddressSize(header.ifa_family);
  if (size == 0) return {};  // Other protocols have addresses too; no RDMA runs over them.
  if (header.ifa_prefixlen > 8 * size)
    return {Code::kInvalidArgument, Format("netlink: expected a prefix of at most {} bits, saw {}",
                                           8 * size, header.ifa_prefixlen)};
  // On a point-to-point link IFA_ADDRESS is the other end and IFA_LOCAL is ours. Otherwise both are
  // the same, or there is only IFA_ADDRESS.
  Bytes address;
  Bytes local;
  RETURN_IF_ERROR(ForEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(ifaddrmsg))),
                                   [&](const NetlinkAttribute& attribute) -> Status {
                                     if (attribute.type == IFA_ADDRESS) address = attribute.payload;
                                     if (attribute.type == IFA_LOCAL) local = attribute.payload;
                                     return {};
                                   }));
  const Bytes ours = local.empty() ? address : local;
  if (ours.size() != size) return WrongSize("an address", size, ours.size());
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(header.ifa_family, ours.data(), text.data(), text.size());
  addresses.push_back({.netdev_index = header.ifa_index,
                       .address = Format("{}/{}", text.data(), header.ifa_prefixlen)});
  return {};
}

Status TakeEgress(const NetlinkAttribute& map, VlanInfo& vlan) {
  return ForEachAttribute(map.payload, [&](const NetlinkAttribute& entry) -> Status {
    if (entry.type != IFLA_VLAN_QOS_MAPPING) return {};
    ASSIGN_OR_RETURN(const auto mapping,
                     ReadStruct<ifla_vlan_qos_mapping>(entry.payload, "a VLAN priority"));
    vlan.egress[mapping.from] = mapping.to;
    return {};
  });
}

Status TakeVlanData(Bytes data, std::optional<VlanInfo>& vlan) {
  VlanInfo found;
  bool has_id = false;
  RETURN_IF_ERROR(ForEachAttribute(data, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type == IFLA_VLAN_EGRESS_QOS) return TakeEgress(attribute, found);
    if (attribute.type != IFLA_VLAN_ID) return {};
    has_id = true;
    return ReadInteger<std::uint16_t>(attribute, "VLAN id", found.id);
  }));
  if (has_id) vlan = std::move(found);
  return {};
}

// IFLA_LINKINFO: the kind comes before the data that it explains.
Status TakeLinkInfo(Bytes info, std::optional<VlanInfo>& vlan) {
  std::string_view kind;
  return ForEachAttribute(info, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type == IFLA_INFO_KIND) kind = ReadText(attribute);
    if (attribute.type != IFLA_INFO_DATA || kind != "vlan") return {};
    return TakeVlanData(attribute.payload, vlan);
  });
}

class LiveAddressNetlink final : public AddressNetlink {
 public:
  explicit LiveAddressNetlink(NetlinkClient client) : client_(std::move(client)) {}

  Result<std::vector<InterfaceAddress>> Addresses() override {
    NetlinkRequest request(RTM_GETADDR, NLM_F_DUMP);
    request.Header(ifaddrmsg{});
    return client_.Ask(request, "listing IP addresses", ParseAddresses);
  }

  Result<VlanInfo> Vlan(std::uint32_t netdev_index) override {
    NetlinkRequest request(RTM_GETLINK, 0);
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(netdev_index);
    request.Header(header).Number(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return client_.Ask(request, "reading a VLAN", ParseVlan);
  }

  Result<std::vector<RouteInfo>> Routes() override {
    NetlinkRequest request(RTM_GETROUTE, NLM_F_DUMP);
    request.Header(rtmsg{});
    return client_.Ask(request, "listing routes", ParseRoutes);
  }

  Result<std::vector<RuleInfo>> Rules() override {
    NetlinkRequest request(RTM_GETRULE, NLM_F_DUMP);
    request.Header(fib_rule_hdr{});
    return client_.Ask(request, "listing IP rules", ParseRules);
  }

  Result<std::vector<NeighborInfo>> Neighbors() override {
    NetlinkRequest request(RTM_GETNEIGH, NLM_F_DUMP);
    request.Header(ndmsg{});
    return client_.Ask(request, "listing neighbors", ParseNeighbors);
  }

 private:
  NetlinkClient client_;
};

class CapturedAddressNetlink final : public AddressNetlink {
 public:
  Result<std::vector<InterfaceAddress>> Addresses() override {
    return Status(Code::kUnimplemented, "IP addresses need the live machine");
  }
  Result<VlanInfo> Vlan(std::uint32_t) override { return Needs(); }
  Result<std::vector<RouteInfo>> Routes() override { return Needs(); }
  Result<std::vector<RuleInfo>> Rules() override { return Needs(); }
  Result<std::vector<NeighborInfo>> Neighbors() override { return Needs(); }

 private:
  static Status Needs() { return {Code::kUnimplemented, "rtnetlink needs the live machine"}; }
};

}  // namespace

Result<std::vector<InterfaceAddress>> ParseAddresses(Bytes datagram) {
  std::vector<InterfaceAddress> addresses;
  RETURN_IF_ERROR(ForEachReply(datagram, RTM_NEWADDR,
                               [&](Bytes message) { return TakeAddress(message, addresses); }));
  return addresses;
}

Result<VlanInfo> ParseVlan(Bytes datagram) {
  std::optional<VlanInfo> vlan;
  std::optional<std::uint32_t> lower;
  const auto take = [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type == IFLA_LINK) return ReadInteger<std::uint32_t>(attribute, "link", lower);
    if (attribute.type == IFLA_LINKINFO) return TakeLinkInfo(attribute.payload, vlan);
    return {};
  };
  RETURN_IF_ERROR(ForEachReply(datagram, RTM_NEWLINK, [&](Bytes message) -> Status {
    ASSIGN_OR_RETURN([[maybe_unused]] const auto header,
                     ReadStruct<ifinfomsg>(message, "link header"));
    return ForEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(ifinfomsg))), take);
  }));
  if (!vlan) return Status(Code::kNotFound, "netlink: not a VLAN");
  vlan->lower_index = lower;
  return *std::move(vlan);
}

std::unique_ptr<AddressNetlink> OpenAddressNetlink() {
  return OpenAddressNetlink(NetlinkClient([] { return NetlinkSocket::Open(NETLINK_ROUTE); }));
}

std::unique_ptr<AddressNetlink> OpenAddressNetlink(NetlinkClient client) {
  return std::make_unique<LiveAddressNetlink>(std::move(client));
}

std::unique_ptr<AddressNetlink> NoAddressNetlink() {
  return std::make_unique<CapturedAddressNetlink>();
}

}  // namespace fabric::host
