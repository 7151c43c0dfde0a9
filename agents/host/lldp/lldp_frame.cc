#include "agents/host/lldp/lldp_frame.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace fabric::host {
namespace {

using FrameBytes = std::span<const std::uint8_t>;

// Types of TLVs, IEEE 802.1AB table 8-1.
enum : std::uint32_t {
  kEnd = 0,
  kChassisId = 1,
  kPortId = 2,
  kTtl = 3,
  kPortDescription = 4,
  kSystemName = 5,
  kSystemDescription = 6,
  kManagementAddress = 8,
  kOrganisational = 127,
};

constexpr std::uint32_t kOui8021 = 0x0080c2;
constexpr std::uint32_t kOui8023 = 0x00120f;
constexpr std::uint32_t kOuiCee = 0x001b21;

std::uint32_t Number(FrameBytes bytes) {
  std::uint32_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

std::string TextOf(FrameBytes bytes) {
  return LldpText(std::string(bytes.begin(), bytes.end()));
}

std::string Hex(FrameBytes bytes) {
  std::vector<std::string> parts;
  for (const std::uint8_t byte : bytes) parts.push_back(Format("{:02x}", byte));
  return Join(parts, ":");
}

// An address with the number of its family in front (IANA address family numbers).
std::string NetworkAddress(FrameBytes bytes) {
  constexpr std::uint8_t kIpv4 = 1;
  constexpr std::uint8_t kIpv6 = 2;
  if (bytes.empty()) return "";
  const FrameBytes address = bytes.subspan(1);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes[0] == kIpv4 && address.size() == 4    ? AF_INET
                     : bytes[0] == kIpv6 && address.size() == 16 ? AF_INET6
                                                                 : AF_UNSPEC;
  if (family != AF_UNSPEC && ::inet_ntop(family, address.data(), text.data(), text.size()))
    return text.data();
  return Hex(address);
}

// Chassis and port ids are MAC, network address or text by different numbers.
struct IdSubtypes {
  std::uint8_t mac;
  std::uint8_t network;
};

Status ReadId(FrameBytes value, IdSubtypes subtypes, std::string& id, std::uint32_t& subtype) {
  if (value.size() < 2) return {Code::kInvalidArgument, "LLDP: an id without content"};
  subtype = value[0];
  const FrameBytes content = value.subspan(1);
  if (subtype == subtypes.mac && content.size() == 6)
    id = Hex(content);
  else if (subtype == subtypes.network)
    id = NetworkAddress(content);
  else
    id = TextOf(content);
  return {};
}

void ReadManagementAddress(FrameBytes value, LldpFrame& frame) {
  constexpr std::size_t kAddressesMax = 16;
  if (value.empty() || value[0] < 2 || value[0] > value.size() - 1) return;
  if (frame.management_addresses.size() == kAddressesMax) return;
  frame.management_addresses.push_back(NetworkAddress(value.subspan(1, value[0])));
}

// Priority to traffic class in half bytes, bandwidth, algorithm: the same in both ETS TLVs.
std::optional<LldpEts> ReadEts(FrameBytes value) {
  constexpr std::size_t kSize = 1 + 4 + 8 + 8;
  if (value.size() < kSize) return std::nullopt;
  LldpEts ets;
  for (std::size_t priority = 0; priority < 8; ++priority) {
    const std::uint8_t pair = value[1 + priority / 2];
    ets.priority_to_tc[priority] = priority % 2 == 0 ? pair >> 4 : pair & 0x0f;
  }
  std::copy_n(value.begin() + 5, 8, ets.tc_bandwidth_percent.begin());
  std::copy_n(value.begin() + 13, 8, ets.tc_algorithm.begin());
  return ets;
}

void ReadApplications(FrameBytes value, LldpFrame& frame) {
  if (value.empty()) return;
  frame.application_announced = true;
  for (FrameBytes rest = value.subspan(1); rest.size() >= 3; rest = rest.subspan(3))
    frame.applications.push_back({.selector = rest[0] & 0x07U,
                                  .protocol = Number(rest.subspan(1, 2)),
                                  .priority = static_cast<std::uint32_t>(rest[0] >> 5)});
}

void ReadLinkAggregation(FrameBytes value, LldpFrame& frame) {
  constexpr std::uint8_t kEnabled = 0x02;
  if (value.size() < 5) return;
  frame.link_aggregation_enabled = (value[0] & kEnabled) != 0;
  frame.link_aggregation_port_id = Number(value.subspan(1, 4));
}

void Read8021(std::uint8_t subtype, FrameBytes value, LldpFrame& frame) {
  switch (subtype) {
    case 1:
      if (value.size() >= 2) frame.port_vlan_id = Number(value.first(2));
      return;
    case 7: return ReadLinkAggregation(value, frame);
    case 9:
      if (std::optional<LldpEts> ets = ReadEts(value)) {
        ets->willing = (value[0] & 0x80) != 0;
        ets->cbs = (value[0] & 0x40) != 0;
        ets->traffic_classes = (value[0] & 0x07) == 0 ? 8 : value[0] & 0x07U;
        frame.ets_configuration = ets;
      }
      return;
    case 10: frame.ets_recommendation = ReadEts(value); return;
    case 11:
      if (value.size() >= 2)
        frame.pfc = LldpPfc{.willing = (value[0] & 0x80) != 0,
                            .mbc = (value[0] & 0x40) != 0,
                            .capability = value[0] & 0x0fU,
                            .enabled_mask = value[1]};
      return;
    case 12: return ReadApplications(value, frame);
    default: return;
  }
}

void Read8023(std::uint8_t subtype, FrameBytes value, LldpFrame& frame) {
  if (subtype == 3) ReadLinkAggregation(value, frame);
  if (subtype == 4 && value.size() >= 2) frame.max_frame_bytes = Number(value.first(2));
}

void ReadOrganisational(FrameBytes value, LldpFrame& frame) {
  if (value.size() < 4) return;
  ReadLldpTlv(Number(value.first(3)), value[3], value.subspan(4), frame);
}

void ReadOptional(std::uint32_t type, FrameBytes value, LldpFrame& frame) {
  switch (type) {
    case kPortDescription: frame.port_description = TextOf(value); return;
    case kSystemName: frame.system_name = TextOf(value); return;
    case kSystemDescription: frame.system_description = TextOf(value); return;
    case kManagementAddress: return ReadManagementAddress(value, frame);
    case kOrganisational: return ReadOrganisational(value, frame);
    default: return;
  }
}

}  // namespace

void ReadLldpTlv(std::uint32_t oui, std::uint8_t subtype, FrameBytes content, LldpFrame& frame) {
  if (oui == kOui8021) Read8021(subtype, content, frame);
  if (oui == kOui8023) Read8023(subtype, content, frame);
  if (oui == kOuiCee) frame.cee_announced = true;
}

std::string LldpText(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    if (c < ' ' || c > '~') c = '?';
  }
  return std::string(Trim(text));
}

Result<LldpFrame> ParseLldpFrame(FrameBytes bytes) {
  LldpFrame frame;
  // Seven bits of type, nine of length. The first three are mandatory, in this order.
  for (std::uint32_t index = 1; bytes.size() >= 2; ++index) {
    const std::uint32_t head = Number(bytes.first(2));
    const std::uint32_t type = head >> 9;
    const std::uint32_t size = head & 0x1ff;
    if (size > bytes.size() - 2)
      return Status(Code::kInvalidArgument,
                    Format("LLDP: a TLV of {} bytes where {} are left", size, bytes.size() - 2));
    const FrameBytes value = bytes.subspan(2, size);
    bytes = bytes.subspan(2 + size);
    if (index <= kTtl && type != index)
      return Status(Code::kInvalidArgument,
                    Format("LLDP: expected TLV {} in place {}, saw {}", index, index, type));
    if (index == kChassisId) {
      RETURN_IF_ERROR(
          ReadId(value, {.mac = 4, .network = 5}, frame.chassis_id, frame.chassis_id_subtype));
    } else if (index == kPortId) {
      RETURN_IF_ERROR(
          ReadId(value, {.mac = 3, .network = 4}, frame.port_id, frame.port_id_subtype));
    } else if (index == kTtl) {
      if (size < 2) return Status(Code::kInvalidArgument, "LLDP: a time to live without content");
      frame.ttl_s = Number(value.first(2));
    } else if (type == kEnd) {
      return frame;
    } else {
      ReadOptional(type, value, frame);
    }
    // Some do not send the end; padding is zeros, which is one.
    if (index >= kTtl && bytes.size() < 2) return frame;
  }
  return Status(Code::kInvalidArgument, "LLDP: the mandatory TLVs are missing");
}

}  // namespace fabric::host
