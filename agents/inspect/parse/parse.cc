#include "agents/inspect/parse/parse.h"

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kMlx5Driver = "mlx5_core";
constexpr std::uint32_t kDscps = 64;

Status Expected(std::string_view what, std::string_view seen) {
  return {Code::kInvalidArgument, Format("expected {}, saw {}", what, Quoted(seen))};
}

// "4: ACTIVE", as RDMA core prints enumerations: the number decides, the word is for people.
template <class Enum>
Result<Enum> ParseNumbered(std::string_view text, std::string_view what, Enum max) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Expected(what, text);
  const Result<int> number = ParseNumber<int>(text.substr(0, colon));
  if (!number.ok() || *number < 1 || *number > static_cast<int>(max)) return Expected(what, text);
  return static_cast<Enum>(*number);
}

template <class Enum>
struct Word {
  std::string_view word;
  Enum value;
};

template <class Enum, std::size_t N>
Result<Enum> ParseWord(std::string_view text, std::string_view what,
                       const std::array<Word<Enum>, N>& words) {
  for (const auto& [word, value] : words)
    if (word == text) return value;
  return Expected(what, text);
}

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Groups of `digits` hexadecimal digits each, between colons; lower case.
Result<std::string> ParseGroups(std::string_view text, std::size_t groups, std::size_t digits,
                                std::string_view what) {
  if (text.size() != groups * (digits + 1) - 1) return Expected(what, text);
  std::string lower(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool colon = at % (digits + 1) == digits;
    if (colon ? text[at] != ':' : !IsHexDigit(text[at])) return Expected(what, text);
    if (lower[at] >= 'A' && lower[at] <= 'F') lower[at] = static_cast<char>(lower[at] + 0x20);
  }
  return lower;
}

// "2.5" or "400" as tenths of a gigabit: the kernel prints no other fraction than .5.
Result<std::uint64_t> ParseTenths(std::string_view text) {
  const bool half = text.ends_with(".5");
  ASSIGN_OR_RETURN(const auto whole,
                   ParseNumber<std::uint32_t>(half ? text.substr(0, text.size() - 2) : text));
  return std::uint64_t{whole} * 10 + (half ? 5 : 0);
}

}  // namespace

Result<v1::PortState> ParsePortState(std::string_view text) {
  return ParseNumbered(text, "a port state such as '4: ACTIVE'", v1::PORT_STATE_ACTIVE_DEFER);
}

Result<v1::PhysicalState> ParsePhysicalState(std::string_view text) {
  return ParseNumbered(text, "a physical state such as '5: LinkUp'", v1::PHYSICAL_STATE_PHY_TEST);
}

Result<v1::NodeType> ParseNodeType(std::string_view text) {
  return ParseNumbered(text, "a node type such as '1: CA'", v1::NODE_TYPE_UNSPECIFIED_BY_KERNEL);
}

Result<v1::LinkLayer> ParseLinkLayer(std::string_view text) {
  return ParseWord(text, "'InfiniBand' or 'Ethernet'",
                   std::to_array<Word<v1::LinkLayer>>({{"InfiniBand", v1::LINK_LAYER_INFINIBAND},
                                                       {"IB", v1::LINK_LAYER_INFINIBAND},
                                                       {"Ethernet", v1::LINK_LAYER_ETHERNET}}));
}

Result<v1::Protocol> ParseProtocol(std::string_view text) {
  return ParseWord(text, "one of ib, roce, iw, opa, usnic",
                   std::to_array<Word<v1::Protocol>>({{"ib", v1::PROTOCOL_INFINIBAND},
                                                      {"roce", v1::PROTOCOL_ROCE},
                                                      {"iw", v1::PROTOCOL_IWARP},
                                                      {"opa", v1::PROTOCOL_OPA},
                                                      {"usnic", v1::PROTOCOL_USNIC}}));
}

Result<v1::OperState> ParseOperState(std::string_view text) {
  return ParseWord(
      text, "an operational state such as 'up'",
      std::to_array<Word<v1::OperState>>({{"unknown", v1::OPER_STATE_UNKNOWN},
                                          {"notpresent", v1::OPER_STATE_NOT_PRESENT},
                                          {"down", v1::OPER_STATE_DOWN},
                                          {"lowerlayerdown", v1::OPER_STATE_LOWER_LAYER_DOWN},
                                          {"testing", v1::OPER_STATE_TESTING},
                                          {"dormant", v1::OPER_STATE_DORMANT},
                                          {"up", v1::OPER_STATE_UP}}));
}

Result<v1::Trust> ParseTrust(std::string_view text) {
  return ParseWord(
      text, "'dscp' or 'pcp'",
      std::to_array<Word<v1::Trust>>({{"dscp", v1::TRUST_DSCP}, {"pcp", v1::TRUST_PCP}}));
}

Result<Rate> ParseRate(std::string_view text) {
  constexpr std::string_view kWhat = "a rate such as '400 Gb/sec (4X NDR)'";
  std::vector<std::string_view> words = Words(text);
  if (words.size() == 3 && words[2].ends_with("X)")) {
    words[2].remove_suffix(1);
    words.emplace_back("SDR)");
  }
  if (words.size() != 4 || words[1] != "Gb/sec" || !words[2].starts_with('(') ||
      !words[2].ends_with('X') || !words[3].ends_with(')'))
    return Expected(kWhat, text);
  const auto tenths = ParseTenths(words[0]);
  const auto width = ParseNumber<std::uint32_t>(words[2].substr(1, words[2].size() - 2));
  const std::string_view speed = words[3].substr(0, words[3].size() - 1);
  const bool plain = std::all_of(speed.begin(), speed.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  if (!tenths.ok() || !width.ok() || *tenths == 0 || *width < 1 || *width > 12 || !plain ||
      speed.empty())
    return Expected(kWhat, text);
  return Rate{.bps = *tenths * 100'000'000, .width = *width, .speed = std::string(speed)};
}

Result<v1::GidType> ParseGidType(std::string_view text, v1::LinkLayer link_layer) {
  if (text == "RoCE v2") return v1::GID_TYPE_ROCE_V2;
  if (text != "IB/RoCE v1") return Expected("'IB/RoCE v1' or 'RoCE v2'", text);
  if (link_layer == v1::LINK_LAYER_INFINIBAND) return v1::GID_TYPE_INFINIBAND;
  if (link_layer == v1::LINK_LAYER_ETHERNET) return v1::GID_TYPE_ROCE_V1;
  return Status(Code::kFailedPrecondition, "'IB/RoCE v1' needs a link layer, which is unknown");
}

Result<std::string> ParseGid(std::string_view text) {
  return ParseGroups(text, 8, 4, "a GID of eight groups");
}

bool IsEmptyGid(std::string_view gid) {
  return gid.find_first_not_of("0:") == std::string_view::npos;
}

bool IsLinkLocalGid(std::string_view gid) {
  return gid.starts_with("fe8") || gid.starts_with("fe9") || gid.starts_with("fea") ||
         gid.starts_with("feb");
}

std::string Ipv4OfGid(std::string_view gid) {
  constexpr std::string_view kPrefix = "0000:0000:0000:0000:0000:ffff:";
  if (!gid.starts_with(kPrefix) || gid.size() != kPrefix.size() + 9) return {};
  std::vector<std::string> octets;
  for (const std::size_t at : {0u, 2u, 5u, 7u}) {
    const auto octet = ParseNumber<std::uint32_t>(gid.substr(kPrefix.size() + at, 2), 16);
    if (!octet.ok()) return {};
    octets.push_back(Format("{}", *octet));
  }
  return Join(octets, ".");
}

std::string Ipv6OfGid(std::string_view gid) {
  std::vector<std::string> groups;
  for (const std::string_view group : Split(gid, ':')) {
    const std::size_t digit = group.find_first_not_of('0');
    groups.emplace_back(digit == std::string_view::npos ? "0" : group.substr(digit));
  }
  // The longest run of zeros, the first of equals, becomes "::"; a single one stays.
  std::size_t from = 0;
  std::size_t length = 1;
  for (std::size_t at = 0; at < groups.size(); ++at) {
    std::size_t end = at;
    while (end < groups.size() && groups[end] == "0") ++end;
    if (end - at > length) {
      from = at;
      length = end - at;
    }
  }
  if (length == 1) return Join(groups, ":");
  const auto split = groups.begin() + static_cast<std::ptrdiff_t>(from);
  return Join({groups.begin(), split}, ":") +
         "::" + Join({split + static_cast<std::ptrdiff_t>(length), groups.end()}, ":");
}

Result<std::string> ParseGuidText(std::string_view text) {
  return ParseGroups(text, 4, 4, "a GUID of four groups");
}

Result<std::string> ParseMac(std::string_view text) {
  constexpr std::size_t kEthernetBytes = 6;
  constexpr std::size_t kInfinibandBytes = 20;
  const bool infiniband = text.size() == kInfinibandBytes * 3 - 1;
  return ParseGroups(text, infiniband ? kInfinibandBytes : kEthernetBytes, 2,
                     "a hardware address of 6 or 20 bytes");
}

Result<std::uint32_t> ParseHex(std::string_view text) {
  return ParseNumber<std::uint32_t>(text, 16);
}

std::optional<std::uint32_t> RoceMtu(std::uint32_t netdev_mtu_bytes, std::string_view driver) {
  constexpr std::string_view kWithoutHeaders[] = {"irdma", "ice", "i40e", "mana"};
  const bool whole = std::find(std::begin(kWithoutHeaders), std::end(kWithoutHeaders), driver) !=
                     std::end(kWithoutHeaders);
  const std::uint32_t headers = whole ? 0 : driver == "rxe" ? 80 : 96;
  for (const std::uint32_t mtu : {4096u, 2048u, 1024u, 512u, 256u})
    if (netdev_mtu_bytes >= mtu + headers) return mtu;
  return std::nullopt;
}

std::string_view UeventValue(std::string_view uevent, std::string_view key) {
  for (const std::string_view line : Split(uevent, '\n'))
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=')
      return Trim(line.substr(key.size() + 1));
  return {};
}

bool ModuleIsLive(std::string_view proc_modules, std::string_view module) {
  constexpr std::size_t kStateColumn = 4;  // name size references users state address
  for (const std::string_view line : Split(proc_modules, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (!words.empty() && words[0] == module)
      return words.size() <= kStateColumn || words[kStateColumn] == "Live";
  }
  return false;
}

std::optional<v1::Trust> TrustOfApp(const v1::DcbConfig& dcb, std::string_view driver) {
  if (!dcb.app_read()) return std::nullopt;
  const bool any = std::any_of(dcb.app().begin(), dcb.app().end(), [](const v1::AppEntry& entry) {
    return entry.selector() == v1::APP_SELECTOR_DSCP;
  });
  if (any) return v1::TRUST_DSCP;
  if (driver == kMlx5Driver) return v1::TRUST_PCP;
  return std::nullopt;
}

std::vector<std::uint32_t> DscpMapOfApp(const v1::DcbConfig& dcb, std::string_view driver) {
  std::array<std::optional<std::uint32_t>, kDscps> listed;
  for (const v1::AppEntry& entry : dcb.app())
    if (entry.selector() == v1::APP_SELECTOR_DSCP && entry.protocol() < kDscps)
      listed[entry.protocol()] = std::max(listed[entry.protocol()].value_or(0), entry.priority());
  std::vector<std::uint32_t> map;
  for (const auto& priority : listed) {
    if (!priority && driver != kMlx5Driver) return {};
    map.push_back(priority.value_or(0));
  }
  return map;
}

std::optional<v1::Protocol> ProtocolOf(std::optional<v1::NodeType> type, v1::LinkLayer link_layer,
                                       std::string_view driver) {
  if (driver == "hfi1") return v1::PROTOCOL_OPA;  // Says InfiniBand of itself.
  if (type == v1::NODE_TYPE_RNIC) return v1::PROTOCOL_IWARP;
  if (type == v1::NODE_TYPE_USNIC || type == v1::NODE_TYPE_USNIC_UDP) return v1::PROTOCOL_USNIC;
  if (type != v1::NODE_TYPE_CA) return std::nullopt;
  if (link_layer == v1::LINK_LAYER_INFINIBAND) return v1::PROTOCOL_INFINIBAND;
  if (link_layer == v1::LINK_LAYER_ETHERNET) return v1::PROTOCOL_ROCE;
  return std::nullopt;
}

bool IsPlainName(std::string_view name) {
  constexpr std::size_t kNameBytesMax = 64;
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace fabric::inspect
