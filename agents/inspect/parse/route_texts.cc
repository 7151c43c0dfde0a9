#include "agents/inspect/parse/route_texts.h"

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <optional>

#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

using WordList = std::vector<std::string_view>;

constexpr std::uint32_t kDefaultTable = 253;
constexpr std::uint32_t kMainTable = 254;
constexpr std::uint32_t kLocalTable = 255;

bool IsAddress(std::string_view text, bool ipv6) {
  std::array<unsigned char, 16> raw{};
  return ::inet_pton(ipv6 ? AF_INET6 : AF_INET, std::string(text).c_str(), raw.data()) == 1;
}

// "default", "10.10.0.1" and "10.10.0.0/24" as a prefix; empty for other text.
std::string PrefixOf(std::string_view text, bool ipv6) {
  if (text == "default" || text == "all") return ipv6 ? "::/0" : "0.0.0.0/0";
  const std::size_t slash = text.find('/');
  if (!IsAddress(text.substr(0, slash), ipv6)) return {};
  const std::uint32_t most = ipv6 ? 128 : 32;
  if (slash == std::string_view::npos) return Format("{}/{}", text, most);
  const auto bits = ParseNumber<std::uint32_t>(text.substr(slash + 1));
  return bits.ok() && *bits <= most ? std::string(text) : std::string();
}

// The word after `key` from `first` on; empty without one.
std::string_view After(const WordList& words, std::string_view key, std::size_t first = 0) {
  for (std::size_t i = first; i + 1 < words.size(); ++i)
    if (words[i] == key) return words[i + 1];
  return {};
}

std::optional<std::uint32_t> NumberAfter(const WordList& words, std::string_view key) {
  const auto number = ParseNumber<std::uint32_t>(After(words, key));
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::optional<std::uint32_t> TableOf(std::string_view name, const TableNames& names) {
  if (const auto number = ParseNumber<std::uint32_t>(name); number.ok()) return *number;
  const auto found = names.find(name);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

// "via 10.0.0.1 dev rail0", also of a next hop.
void TakeHop(const WordList& words, v1::IpRoute& route) {
  std::string_view via = After(words, "via");
  if (via == "inet6" || via == "inet") via = After(words, via);
  if (IsAddress(via, false) || IsAddress(via, true)) route.set_gateway(std::string(via));
  if (const std::string_view dev = After(words, "dev"); IsPlainName(dev))
    route.set_netdev(std::string(dev));
}

bool IsType(std::string_view word) {
  return word == "unreachable" || word == "blackhole" || word == "prohibit";
}

// A line that begins a route; nothing for a route that is left out.
std::optional<v1::IpRoute> TakeRoute(const WordList& words, bool ipv6, const TableNames& names) {
  const std::size_t at = IsType(words[0]) || words[0] == "unicast" ? 1 : 0;
  if (words.size() <= at) return std::nullopt;
  v1::IpRoute route;
  if (IsType(words[0])) route.set_type(std::string(words[0]));
  route.set_destination(PrefixOf(words[at], ipv6));
  const std::string_view table = After(words, "table");
  if (table.empty())
    route.set_table(kMainTable);
  else if (const auto number = TableOf(table, names))
    route.set_table(*number);
  if (route.destination().empty() || route.table() == kLocalTable) return std::nullopt;
  TakeHop(words, route);
  if (const auto metric = NumberAfter(words, "metric")) route.set_metric(*metric);
  if (const auto mtu = NumberAfter(words, "mtu")) route.set_mtu_bytes(*mtu);
  if (const auto limit = NumberAfter(words, "hoplimit")) route.set_hop_limit(*limit);
  if (const std::string_view source = After(words, "src"); IsAddress(source, ipv6))
    route.set_source(std::string(source));
  if (const std::string_view scope = After(words, "scope"); scope == "link" || scope == "host")
    route.set_scope(std::string(scope));
  return route;
}

void Keep(const v1::IpRoute& route, std::vector<v1::IpRoute>& routes) {
  if (!IsLocalDestination(route.destination())) routes.push_back(route);
}

std::optional<std::uint32_t> Hex(std::string_view text) {
  const auto number = ParseNumber<std::uint32_t>(text, 16);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::string Ipv4Text(std::uint32_t little_endian) {
  return Format("{}.{}.{}.{}", little_endian & 0xff, little_endian >> 8 & 0xff,
                little_endian >> 16 & 0xff, little_endian >> 24);
}

// "fd00000000000000..." without colons; empty for other text.
std::string Ipv6Text(std::string_view digits) {
  constexpr std::size_t kDigits = 32;
  if (digits.size() != kDigits) return {};
  std::array<unsigned char, 16> raw{};
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto part = Hex(digits.substr(2 * i, 2));
    if (!part) return {};
    raw.at(i) = static_cast<unsigned char>(*part);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, raw.data(), text.data(), text.size());
  return text.data();
}

constexpr std::uint32_t kReject = 0x200;              // RTF_* of linux/route.h and ipv6_route.h
constexpr std::uint32_t kNotForwarding = 0x81110000;  // RTF_LOCAL, CACHE, ANYCAST, ADDRCONF_OLD

}  // namespace

bool IsLocalDestination(std::string_view destination) {
  for (const std::string_view prefix : {"fe80:", "ff0", "224.", "169.254."})
    if (destination.starts_with(prefix)) return true;
  return false;
}

TableNames ParseTableNames(std::string_view text) {
  TableNames names = {{"default", kDefaultTable}, {"main", kMainTable}, {"local", kLocalTable}};
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.size() < 2 || words[0].starts_with('#')) continue;
    const auto number = ParseNumber<std::uint32_t>(words[0]);
    if (number.ok()) names.emplace(words[1], *number);
  }
  return names;
}

std::vector<v1::IpRoute> ParseIpRoutes(std::string_view text, bool ipv6, const TableNames& names) {
  std::vector<v1::IpRoute> routes;
  std::optional<v1::IpRoute> route;  // With next hops on the following lines
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.empty()) continue;
    if (words[0] == "nexthop") {
      if (!route) continue;
      v1::IpRoute hop = *route;
      TakeHop(words, hop);
      Keep(hop, routes);
      continue;
    }
    route = TakeRoute(words, ipv6, names);
    if (route && (!route->netdev().empty() || !route->type().empty())) Keep(*route, routes);
  }
  return routes;
}

std::vector<v1::IpRule> ParseIpRules(std::string_view text, bool ipv6, const TableNames& names) {
  std::vector<v1::IpRule> rules;
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto priority = ParseNumber<std::uint32_t>(Trim(line.substr(0, colon)));
    const WordList words = Words(line.substr(colon + 1));
    if (!priority.ok() || words.empty()) continue;
    v1::IpRule rule;
    rule.set_priority(*priority);
    rule.set_ipv6(ipv6);
    const auto prefix = [&](std::string_view key) {
      const std::string_view word = After(words, key);
      return word == "all" ? std::string() : PrefixOf(word, ipv6);
    };
    rule.set_from(prefix("from"));
    rule.set_to(prefix("to"));
    rule.set_input_netdev(std::string(After(words, "iif")));
    rule.set_output_netdev(std::string(After(words, "oif")));
    const std::string_view mark = After(words, "fwmark");
    if (const auto number = Hex(mark.substr(0, mark.find('/')))) rule.set_mark(*number);
    const std::string_view table = After(words, "lookup");
    if (table.empty()) rule.set_action(IsType(words.back()) ? std::string(words.back()) : "other");
    if (const auto number = TableOf(table, names)) rule.set_table(*number);
    if (rule.table() != kLocalTable) rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<v1::IpNeighbor> ParseIpNeighbors(std::string_view text) {
  std::vector<v1::IpNeighbor> neighbors;
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.size() < 4 || words[1] != "dev" || !IsPlainName(words[2])) continue;
    if (!IsAddress(words[0], false) && !IsAddress(words[0], true)) continue;
    v1::IpNeighbor neighbor;
    neighbor.set_address(std::string(words[0]));
    neighbor.set_netdev(std::string(words[2]));
    if (const std::string_view mac = After(words, "lladdr"); !mac.empty())
      neighbor.set_mac(std::string(mac));
    const std::string_view state = words.back();
    neighbor.set_state(state == "FAILED" || state == "INCOMPLETE" ? v1::NEIGHBOR_STATE_FAILED
                       : state == "PERMANENT"                     ? v1::NEIGHBOR_STATE_PERMANENT
                       : state == "NOARP"                         ? v1::NEIGHBOR_STATE_NOARP
                                                                  : v1::NEIGHBOR_STATE_RESOLVED);
    neighbors.push_back(std::move(neighbor));
  }
  return neighbors;
}

std::vector<v1::IpRoute> ParseProcRoutes(std::string_view text) {
  constexpr std::size_t kColumns = 9;
  std::vector<v1::IpRoute> routes;
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.size() < kColumns || !IsPlainName(words[0])) continue;
    const auto destination = Hex(words[1]), gateway = Hex(words[2]), flags = Hex(words[3]);
    const auto mask = Hex(words[7]);
    const auto metric = ParseNumber<std::uint32_t>(words[6]);
    if (!destination || !gateway || !flags || !mask || !metric.ok()) continue;
    v1::IpRoute route;
    route.set_destination(Format("{}/{}", Ipv4Text(*destination), std::popcount(*mask)));
    if ((*flags & kReject) != 0)
      route.set_type("unreachable");
    else
      route.set_netdev(std::string(words[0]));
    if (*gateway != 0) route.set_gateway(Ipv4Text(*gateway));
    route.set_metric(*metric);
    Keep(route, routes);
  }
  return routes;
}

std::vector<v1::IpRoute> ParseProcRoutes6(std::string_view text) {
  constexpr std::size_t kColumns = 10;
  std::vector<v1::IpRoute> routes;
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.size() < kColumns || !IsPlainName(words[9])) continue;
    const std::string destination = Ipv6Text(words[0]), gateway = Ipv6Text(words[4]);
    const auto bits = Hex(words[1]), metric = Hex(words[5]), flags = Hex(words[8]);
    if (destination.empty() || gateway.empty() || !bits || *bits > 128 || !metric || !flags)
      continue;
    if ((*flags & kNotForwarding) != 0 || words[9] == "lo") continue;
    v1::IpRoute route;
    route.set_destination(Format("{}/{}", destination, *bits));
    if ((*flags & kReject) != 0)
      route.set_type("unreachable");
    else
      route.set_netdev(std::string(words[9]));
    if (gateway != "::") route.set_gateway(gateway);
    route.set_metric(*metric);
    Keep(route, routes);
  }
  return routes;
}

std::vector<v1::IpNeighbor> ParseProcArp(std::string_view text) {
  constexpr std::uint32_t kComplete = 2;  // ATF_* of linux/if_arp.h
  constexpr std::uint32_t kPermanent = 4;
  std::vector<v1::IpNeighbor> neighbors;
  for (const std::string_view line : Split(text, '\n')) {
    const WordList words = Words(line);
    if (words.size() != 6 || !IsAddress(words[0], false) || !IsPlainName(words[5])) continue;
    const auto flags = Hex(words[2]);
    if (!flags) continue;
    v1::IpNeighbor neighbor;
    neighbor.set_address(std::string(words[0]));
    neighbor.set_netdev(std::string(words[5]));
    const bool complete = (*flags & kComplete) != 0;
    if (complete) neighbor.set_mac(std::string(words[3]));
    neighbor.set_state(!complete                    ? v1::NEIGHBOR_STATE_FAILED
                       : (*flags & kPermanent) != 0 ? v1::NEIGHBOR_STATE_PERMANENT
                                                    : v1::NEIGHBOR_STATE_RESOLVED);
    neighbors.push_back(std::move(neighbor));
  }
  return neighbors;
}

}  // namespace fabric::inspect
