#include "proto/routes.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "proto/ports.h"

namespace fabric {
namespace {

constexpr std::uint32_t kMainTable = 254;
constexpr std::uint32_t kBitsOfByte = 8;

void ClearHostBits(IpPrefix& prefix) {
  for (std::size_t i = 0; i < prefix.bytes.size(); ++i) {
    const std::uint32_t first = static_cast<std::uint32_t>(i) * kBitsOfByte;
    const std::uint32_t kept = prefix.bits > first ? std::min(prefix.bits - first, kBitsOfByte) : 0;
    const unsigned mask = 0xff00U >> kept & 0xffU;
    prefix.bytes[i] = static_cast<char>(static_cast<unsigned char>(prefix.bytes[i]) & mask);
  }
}

std::uint32_t TableOf(const v1::IpRoute& route) {
  return route.has_table() ? route.table() : kMainTable;
}

struct Query {
  std::optional<std::string_view> netdev;  // Only routes over it
  std::optional<IpPrefix> source;
  IpPrefix destination;
};

// Of a table: the longest prefix, then the smallest metric.
const v1::IpRoute* BestIn(const v1::NodeSnapshot& snapshot, std::uint32_t table,
                          const Query& query) {
  const v1::IpRoute* best = nullptr;
  std::uint32_t best_bits = 0;
  for (const v1::IpRoute& route : snapshot.ip_routes()) {
    if (TableOf(route) != table) continue;
    if (query.netdev && route.type().empty() && route.netdev() != *query.netdev) continue;
    const auto prefix = ParseIpPrefix(route.destination());
    if (!prefix || !Contains(*prefix, query.destination)) continue;
    const bool better = best == nullptr || prefix->bits > best_bits ||
                        (prefix->bits == best_bits && route.metric() < best->metric());
    if (!better) continue;
    best = &route;
    best_bits = prefix->bits;
  }
  return best;
}

bool Matches(const std::string& prefix_text, const std::optional<IpPrefix>& address) {
  if (prefix_text.empty()) return true;
  const auto prefix = ParseIpPrefix(prefix_text);
  return prefix && address && Contains(*prefix, *address);
}

// Rules with a mark or an input netdev do not apply to a packet of RDMA.
bool Applies(const v1::IpRule& rule, const Query& query) {
  const bool ipv6 = query.destination.bytes.size() != 4;
  if (rule.ipv6() != ipv6 || rule.mark() != 0 || !rule.input_netdev().empty()) return false;
  if (!rule.output_netdev().empty() && (!query.netdev || rule.output_netdev() != *query.netdev))
    return false;
  return Matches(rule.from(), query.source) && Matches(rule.to(), query.destination);
}

const v1::IpRoute* Forwarding(const v1::IpRoute* route) {
  return route != nullptr && route->type().empty() ? route : nullptr;
}

const v1::IpRoute* Find(const v1::NodeSnapshot& snapshot, const Query& query) {
  if (snapshot.ip_rules().empty()) return Forwarding(BestIn(snapshot, kMainTable, query));
  for (const v1::IpRule& rule : snapshot.ip_rules()) {  // Sorted by priority
    if (!Applies(rule, query)) continue;
    if (rule.action() != "") return nullptr;
    if (const v1::IpRoute* const route = BestIn(snapshot, rule.table(), query))
      return Forwarding(route);
  }
  return nullptr;
}

bool IsOrIsAbove(const v1::NodeSnapshot& snapshot, std::string_view netdev, std::string_view upper,
                 int depth) {
  constexpr int kDepthMax = 4;
  if (netdev.empty() || netdev == upper) return netdev == upper;
  const v1::NetInterface* const found = FindNetdev(snapshot, netdev);
  if (found == nullptr || depth == kDepthMax) return false;
  return std::any_of(found->uppers().begin(), found->uppers().end(), [&](const std::string& above) {
    return IsOrIsAbove(snapshot, above, upper, depth + 1);
  });
}

}  // namespace

std::optional<IpPrefix> ParseIpPrefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  std::array<char, sizeof(in6_addr)> raw{};
  IpPrefix prefix;
  if (::inet_pton(AF_INET, address.c_str(), raw.data()) == 1)
    prefix.bytes.assign(raw.data(), sizeof(in_addr));
  else if (::inet_pton(AF_INET6, address.c_str(), raw.data()) == 1)
    prefix.bytes.assign(raw.data(), sizeof(in6_addr));
  else
    return std::nullopt;
  const auto most = static_cast<std::uint32_t>(prefix.bytes.size()) * kBitsOfByte;
  prefix.bits = most;
  if (slash != std::string_view::npos) {
    const auto bits = ParseNumber<std::uint32_t>(text.substr(slash + 1));
    if (!bits.ok() || *bits > most) return std::nullopt;
    prefix.bits = *bits;
  }
  ClearHostBits(prefix);
  return prefix;
}

bool Contains(const IpPrefix& outer, const IpPrefix& inner) {
  if (outer.bytes.size() != inner.bytes.size() || outer.bits > inner.bits) return false;
  IpPrefix cut{.bytes = inner.bytes, .bits = outer.bits};
  ClearHostBits(cut);
  return cut.bytes == outer.bytes;
}

const v1::IpRoute* MainRouteTo(const v1::NodeSnapshot& snapshot, std::string_view address) {
  const auto destination = ParseIpPrefix(address);
  if (!destination) return nullptr;
  return Forwarding(
      BestIn(snapshot, kMainTable, {.netdev = {}, .source = {}, .destination = *destination}));
}

const v1::IpRoute* RouteOver(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                             std::string_view source, std::string_view destination) {
  const auto to = ParseIpPrefix(destination);
  if (!to) return nullptr;
  return Find(snapshot, {.netdev = netdev, .source = ParseIpPrefix(source), .destination = *to});
}

bool HasOwnRoutes(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  const v1::NetInterface* const found = FindNetdev(snapshot, netdev);
  if (found == nullptr || !found->has_master()) return false;
  const v1::NetInterface* const master = FindNetdev(snapshot, found->master());
  return master == nullptr || !master->has_bond();
}

const v1::IpRoute* RouteFrom(const v1::NodeSnapshot& snapshot, std::string_view source,
                             std::string_view destination) {
  const auto to = ParseIpPrefix(destination);
  if (!to) return nullptr;
  return Find(snapshot, {.netdev = {}, .source = ParseIpPrefix(source), .destination = *to});
}

bool IsOrIsAbove(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                 std::string_view upper) {
  return IsOrIsAbove(snapshot, netdev, upper, 0);
}

}  // namespace fabric
