#include "agents/host/netlink/route_messages.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>

#include "agents/host/netlink/netlink_reader.h"
#include "base/text.h"

namespace fabric::host {
namespace {

std::size_t SizeOfFamily(int family) {
  return family == AF_INET ? sizeof(in_addr) : family == AF_INET6 ? sizeof(in6_addr) : 0;
}

Result<std::string> AddressText(int family, Bytes raw) {
  const std::size_t size = SizeOfFamily(family);
  if (raw.size() != size || size == 0) return WrongSize("an address", size, raw.size());
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, raw.data(), text.data(), text.size());
  return std::string(text.data());
}

Result<std::string> PrefixText(int family, Bytes raw, unsigned bits) {
  if (bits > 8 * SizeOfFamily(family))
    return Status(Code::kInvalidArgument, Format("netlink: expected a prefix of at most {} bits, "
                                                 "saw {}",
                                                 8 * SizeOfFamily(family), bits));
  if (raw.empty() && bits == 0) return std::string(family == AF_INET ? "0.0.0.0/0" : "::/0");
  ASSIGN_OR_RETURN(const std::string address, AddressText(family, raw));
  return Format("{}/{}", address, bits);
}

Status TakeText(int family, const NetlinkAttribute& attribute, std::optional<std::string>& to) {
  ASSIGN_OR_RETURN(to, AddressText(family, attribute.payload));
  return {};
}

Status TakeMetrics(Bytes metrics, RouteInfo& route) {
  return ForEachAttribute(metrics, [&](const NetlinkAttribute& attribute) -> Status {
    if (attribute.type == RTAX_MTU)
      return ReadInteger<std::uint32_t>(attribute, "route MTU", route.mtu_bytes);
    if (attribute.type == RTAX_HOPLIMIT)
      return ReadInteger<std::uint32_t>(attribute, "hop limit", route.hop_limit);
    return {};
  });
}

// The gateway of another family than the route's (RTA_VIA): struct rtvia, whose address follows.
Status TakeVia(Bytes via, RouteInfo& route) {
  ASSIGN_OR_RETURN(const auto family, ReadStruct<std::uint16_t>(via, "a gateway"));
  ASSIGN_OR_RETURN(route.gateway, AddressText(family, via.subspan(sizeof(family))));
  return {};
}

Status TakeHop(int family, const NetlinkAttribute& attribute, RouteInfo& route) {
  if (attribute.type == RTA_OIF)
    return ReadInteger<std::uint32_t>(attribute, "netdev", route.netdev_index);
  if (attribute.type == RTA_GATEWAY) return TakeText(family, attribute, route.gateway);
  if (attribute.type == RTA_VIA) return TakeVia(attribute.payload, route);
  return {};
}

// Next hops of RTA_MULTIPATH: struct rtnexthop, each followed by its attributes.
Status TakeHops(int family, Bytes hops, const RouteInfo& common, std::vector<RouteInfo>& routes) {
  while (hops.size() >= sizeof(rtnexthop)) {
    ASSIGN_OR_RETURN(const auto hop, ReadStruct<rtnexthop>(hops, "a next hop"));
    if (hop.rtnh_len < sizeof(rtnexthop) || hop.rtnh_len > hops.size())
      return WrongSize("a next hop", sizeof(rtnexthop), hop.rtnh_len);
    RouteInfo route = common;
    route.netdev_index = static_cast<std::uint32_t>(hop.rtnh_ifindex);
    RETURN_IF_ERROR(ForEachAttribute(
        hops.subspan(sizeof(rtnexthop), hop.rtnh_len - sizeof(rtnexthop)),
        [&](const NetlinkAttribute& attribute) { return TakeHop(family, attribute, route); }));
    routes.push_back(std::move(route));
    hops = hops.subspan(std::min<std::size_t>(RTNH_ALIGN(hop.rtnh_len), hops.size()));
  }
  return {};
}

// Empty for unicast; nullptr for a type that is of no interest.
const char* TypeOf(unsigned char type) {
  switch (type) {
    case RTN_UNICAST: return "";
    case RTN_BLACKHOLE: return "blackhole";
    case RTN_UNREACHABLE: return "unreachable";
    case RTN_PROHIBIT: return "prohibit";
    default: return nullptr;
  }
}

const char* ScopeOf(unsigned char scope) {
  return scope == RT_SCOPE_LINK ? "link" : scope == RT_SCOPE_HOST ? "host" : "";
}

Status TakeRoute(Bytes message, std::vector<RouteInfo>& routes) {
  ASSIGN_OR_RETURN(const auto header, ReadStruct<rtmsg>(message, "route header"));
  const int family = header.rtm_family;
  const char* const type = TypeOf(header.rtm_type);
  if (SizeOfFamily(family) == 0 || type == nullptr || (header.rtm_flags & RTM_F_CLONED) != 0)
    return {};
  RouteInfo route{.destination = {}, .table = header.rtm_table, .type = type};
  if (family == AF_INET) route.scope = ScopeOf(header.rtm_scope);
  Bytes destination;
  Bytes hops;
  RETURN_IF_ERROR(ForEachAttribute(
      message.subspan(NLMSG_ALIGN(sizeof(rtmsg))),
      [&](const NetlinkAttribute& attribute) -> Status {
        if (attribute.type == RTA_DST) destination = attribute.payload;
        if (attribute.type == RTA_MULTIPATH) hops = attribute.payload;
        if (attribute.type == RTA_TABLE)
          return ReadInteger<std::uint32_t>(attribute, "routing table", route.table);
        if (attribute.type == RTA_PRIORITY)
          return ReadInteger<std::uint32_t>(attribute, "metric", route.metric);
        if (attribute.type == RTA_PREFSRC) return TakeText(family, attribute, route.source);
        if (attribute.type == RTA_METRICS) return TakeMetrics(attribute.payload, route);
        return TakeHop(family, attribute, route);
      }));
  if (route.table == RT_TABLE_LOCAL) return {};
  ASSIGN_OR_RETURN(route.destination, PrefixText(family, destination, header.rtm_dst_len));
  if (!hops.empty()) return TakeHops(family, hops, route, routes);
  routes.push_back(std::move(route));
  return {};
}

const char* ActionOf(unsigned char action) {
  switch (action) {
    case FR_ACT_TO_TBL: return "";
    case FR_ACT_BLACKHOLE: return "blackhole";
    case FR_ACT_UNREACHABLE: return "unreachable";
    case FR_ACT_PROHIBIT: return "prohibit";
    default: return "other";
  }
}

Status TakeRule(Bytes message, std::vector<RuleInfo>& rules) {
  ASSIGN_OR_RETURN(const auto header, ReadStruct<fib_rule_hdr>(message, "rule header"));
  const int family = header.family;
  if (SizeOfFamily(family) == 0) return {};
  RuleInfo rule{.ipv6 = family == AF_INET6, .action = ActionOf(header.action)};
  if (header.action == FR_ACT_TO_TBL) rule.table = header.table;
  RETURN_IF_ERROR(ForEachAttribute(
      message.subspan(NLMSG_ALIGN(sizeof(fib_rule_hdr))),
      [&](const NetlinkAttribute& attribute) -> Status {
        if (attribute.type == FRA_SRC) {
          ASSIGN_OR_RETURN(rule.from, PrefixText(family, attribute.payload, header.src_len));
        } else if (attribute.type == FRA_DST) {
          ASSIGN_OR_RETURN(rule.to, PrefixText(family, attribute.payload, header.dst_len));
        } else if (attribute.type == FRA_PRIORITY) {
          return ReadInteger<std::uint32_t>(attribute, "priority", rule.priority);
        } else if (attribute.type == FRA_TABLE && rule.table) {
          return ReadInteger<std::uint32_t>(attribute, "routing table", rule.table);
        } else if (attribute.type == FRA_FWMARK) {
          return ReadInteger<std::uint32_t>(attribute, "mark", rule.mark);
        } else if (attribute.type == FRA_IIFNAME) {
          rule.input_netdev = ReadText(attribute);
        } else if (attribute.type == FRA_OIFNAME) {
          rule.output_netdev = ReadText(attribute);
        }
        return {};
      }));
  if (rule.table != std::uint32_t{RT_TABLE_LOCAL}) rules.push_back(std::move(rule));
  return {};
}

std::string MacText(Bytes raw) {
  std::string text;
  for (const std::byte part : raw)
    text += Format("{}{:02x}", text.empty() ? "" : ":", static_cast<unsigned>(part));
  return text;
}

std::optional<NeighborKind> KindOfState(unsigned state) {
  if ((state & NUD_NOARP) != 0) return NeighborKind::kNoArp;
  if ((state & NUD_PERMANENT) != 0) return NeighborKind::kPermanent;
  if ((state & (NUD_FAILED | NUD_INCOMPLETE)) != 0) return NeighborKind::kFailed;
  if ((state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)) != 0)
    return NeighborKind::kResolved;
  return std::nullopt;
}

Status TakeNeighbor(Bytes message, std::vector<NeighborInfo>& neighbors) {
  ASSIGN_OR_RETURN(const auto header, ReadStruct<ndmsg>(message, "neighbor header"));
  const int family = header.ndm_family;
  const auto kind = KindOfState(header.ndm_state);
  if (SizeOfFamily(family) == 0 || !kind) return {};
  NeighborInfo neighbor{.netdev_index = static_cast<std::uint32_t>(header.ndm_ifindex),
                        .kind = *kind};
  RETURN_IF_ERROR(ForEachAttribute(message.subspan(NLMSG_ALIGN(sizeof(ndmsg))),
                                   [&](const NetlinkAttribute& attribute) -> Status {
                                     if (attribute.type == NDA_DST) {
                                       ASSIGN_OR_RETURN(neighbor.address,
                                                        AddressText(family, attribute.payload));
                                     } else if (attribute.type == NDA_LLADDR) {
                                       neighbor.mac = MacText(attribute.payload);
                                     }
                                     return {};
                                   }));
  if (!neighbor.address.empty()) neighbors.push_back(std::move(neighbor));
  return {};
}

template <class T>
Result<std::vector<T>> ParseAll(Bytes datagram, int type, Status (*take)(Bytes, std::vector<T>&)) {
  std::vector<T> all;
  RETURN_IF_ERROR(ForEachReply(datagram, type, [&](Bytes message) { return take(message, all); }));
  return all;
}

}  // namespace

Result<std::vector<RouteInfo>> ParseRoutes(Bytes datagram) {
  return ParseAll<RouteInfo>(datagram, RTM_NEWROUTE, TakeRoute);
}

Result<std::vector<RuleInfo>> ParseRules(Bytes datagram) {
  return ParseAll<RuleInfo>(datagram, RTM_NEWRULE, TakeRule);
}

Result<std::vector<NeighborInfo>> ParseNeighbors(Bytes datagram) {
  return ParseAll<NeighborInfo>(datagram, RTM_NEWNEIGH, TakeNeighbor);
}

}  // namespace fabric::host
