// Management datagrams (MADs) of InfiniBand: the requests that read a subnet, and their answers.
// Only Get. Offsets: InfiniBand Architecture Specification volume 1, chapters 13, 14 and 16. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fabric::subnet {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kMadDataBytes = 64;    // That this reader uses
inline constexpr std::size_t kMoreDataBytes = 128;  // Not of kDirectedSubnet
inline constexpr std::size_t kHopsMax = 63;         // Of a directed route
using Mad = std::array<std::uint8_t, kMadBytes>;
using MadData = std::array<std::uint8_t, kMadDataBytes>;

enum class MadClass : std::uint8_t {
  kPerformance = 0x04,
  kNvidia = 0x0a,  // Vendor class of NVIDIA
  kDirectedSubnet = 0x81
};

enum class Attribute : std::uint16_t {
  kClassPortInfo = 0x01,       // Of kPerformance
  kPortSamplesControl = 0x10,  // Of kPerformance
  kNodeDescription = 0x10,
  kNodeInfo = 0x11,
  kSwitchInfo = 0x12,    // Of kDirectedSubnet
  kPortCounters = 0x12,  // Of kPerformance
  kPortInfo = 0x15,
  kPKeyTable = 0x16,
  kSlToVl = 0x17,
  kGeneralInfo = 0x17,  // Of kNvidia
  kVlArbitration = 0x18,
  kForwardingTable = 0x19,
  kPortCountersExtended = 0x1d,        // Of kPerformance
  kPortExtendedSpeedsCounters = 0x1f,  // Of kPerformance
  kSubnetManagerInfo = 0x20,
};

// Status of an answer, without the direction bit.
inline constexpr std::uint16_t kStatusBusy = 0x01;
inline constexpr std::uint16_t kStatusNotSupported = 0x0c;

struct MadRequest {
  MadClass mad_class = MadClass::kDirectedSubnet;
  Attribute attribute = Attribute::kNodeInfo;
  std::uint32_t modifier = 0;
  std::uint32_t transaction = 0;             // Low half of the transaction id
  std::uint64_t m_key = 0;                   // Of kDirectedSubnet
  std::span<const std::uint8_t> route = {};  // Ports out, from the reader; at most kHopsMax
  std::uint8_t port = 0;                     // Of kPerformance: PortSelect
};
Mad Encode(const MadRequest& request);

struct MadAnswer {
  MadClass mad_class = MadClass::kDirectedSubnet;
  Attribute attribute = Attribute::kNodeInfo;
  std::uint32_t modifier = 0;
  std::uint32_t transaction = 0;
  std::uint16_t status = 0;
  MadData data{};
  std::array<std::uint8_t, kMoreDataBytes> more{};  // After `data`; not of kDirectedSubnet
};
// Empty: not an answer to a request of this reader (another class, version or method).
std::optional<MadAnswer> Decode(const Mad& mad);
// Low half of the transaction id of a request or an answer.
std::uint32_t TransactionOf(const Mad& mad);

}  // namespace fabric::subnet
