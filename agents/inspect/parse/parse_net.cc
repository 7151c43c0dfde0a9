#include "agents/inspect/parse/parse_net.h"

#include <algorithm>

#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint32_t kPriorities = 8;

// "pf0" off the front of "pf0vf3"; false, and nothing taken, when it is not there.
bool TakeNumbered(std::string_view word, std::string_view& text) {
  if (!text.starts_with(word)) return false;
  std::string_view rest = text.substr(word.size());
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0) return false;
  text = rest.substr(digits);
  return true;
}

}  // namespace

std::vector<std::string> DefaultRouteNetdevs(std::string_view proc_net_route) {
  constexpr std::size_t kDestination = 1;
  constexpr std::size_t kFlags = 3;
  constexpr std::size_t kMask = 7;
  constexpr std::uint32_t kRejected = 0x200;  // RTF_REJECT
  std::vector<std::string> netdevs;
  for (const std::string_view line : Split(proc_net_route, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() <= kMask || words[kDestination] != "00000000" || words[kMask] != "00000000")
      continue;
    const auto flags = ParseNumber<std::uint32_t>(words[kFlags], 16);
    if (flags.ok() && (*flags & kRejected) == 0 && IsPlainName(words[0]))
      netdevs.emplace_back(words[0]);
  }
  return netdevs;
}

std::vector<VlanLine> ParseVlanConfig(std::string_view text) {
  std::vector<VlanLine> vlans;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> columns = Split(line, '|');
    if (columns.size() != 3) continue;
    const auto id = ParseNumber<std::uint32_t>(Trim(columns[1]));
    const std::string_view netdev = Trim(columns[0]);
    const std::string_view lower = Trim(columns[2]);
    if (id.ok() && *id < 4096 && IsPlainName(netdev) && IsPlainName(lower))
      vlans.push_back({.netdev = std::string(netdev), .id = *id, .lower = std::string(lower)});
  }
  return vlans;
}

std::map<std::uint32_t, std::uint32_t> ParseVlanEgress(std::string_view text) {
  constexpr std::string_view kTitle = "EGRESS priority mappings:";
  std::map<std::uint32_t, std::uint32_t> map;
  // "INGRESS priority mappings:" ends in the same words.
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view trimmed = Trim(line);
    if (!trimmed.starts_with(kTitle)) continue;
    for (const std::string_view pair : Words(trimmed.substr(kTitle.size()))) {
      const std::size_t colon = pair.find(':');
      if (colon == std::string_view::npos) continue;
      const auto from = ParseNumber<std::uint32_t>(pair.substr(0, colon));
      const auto to = ParseNumber<std::uint32_t>(pair.substr(colon + 1));
      if (from.ok() && to.ok() && *to < kPriorities) map[*from] = *to;
    }
  }
  return map;
}

std::vector<std::uint32_t> EgressPriorities(const std::map<std::uint32_t, std::uint32_t>& map) {
  if (map.empty()) return {};
  std::vector<std::uint32_t> priorities(kPriorities, 0);
  for (const auto& [from, to] : map)
    if (from < kPriorities) priorities[from] = to;
  return priorities;
}

std::string FirstWord(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  return words.empty() ? std::string() : std::string(words[0]);
}

bool IsRepresentorPort(std::string_view name) {
  (void)TakeNumbered("c", name);  // The controller, where there are several.
  if (!TakeNumbered("pf", name)) return false;
  return name.empty() || name == "hpf" ||
         ((TakeNumbered("vf", name) || TakeNumbered("sf", name)) && name.empty());
}

}  // namespace fabric::inspect
