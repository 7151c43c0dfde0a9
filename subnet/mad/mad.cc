#include "subnet/mad/mad.h"

#include <algorithm>

#include "subnet/mad/bytes.h"

namespace fabric::subnet {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kGet = 0x01;
constexpr std::uint8_t kGetResponse = 0x81;
constexpr std::size_t kStatusAt = 4;
constexpr std::size_t kHopCountAt = 7;
constexpr std::size_t kTransactionAt = 12;  // Its low half
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kModifierAt = 20;
constexpr std::size_t kMKeyAt = 24;
constexpr std::size_t kDirectedLidsAt = 32;  // Source and destination
constexpr std::size_t kDataAt = 64;
constexpr std::size_t kRouteAt = 129;  // Byte 128 is hop 0.
constexpr std::uint16_t kDirectionBit = 0x8000;

}  // namespace

Mad Encode(const MadRequest& request) {
  Mad mad{};
  mad[0] = kVersion;
  mad[1] = static_cast<std::uint8_t>(request.mad_class);
  mad[2] = kVersion;  // Of the class
  mad[3] = kGet;
  Store<std::uint32_t>(mad, kTransactionAt, request.transaction);
  Store<std::uint16_t>(mad, kAttributeAt, static_cast<std::uint16_t>(request.attribute));
  Store<std::uint32_t>(mad, kModifierAt, request.modifier);
  if (request.mad_class != MadClass::kDirectedSubnet) {
    if (request.mad_class == MadClass::kPerformance) mad[kDataAt + 1] = request.port;
    return mad;
  }
  const std::size_t hops = std::min(request.route.size(), kHopsMax);
  mad[kHopCountAt] = static_cast<std::uint8_t>(hops);
  Store<std::uint64_t>(mad, kMKeyAt, request.m_key);
  Store<std::uint32_t>(mad, kDirectedLidsAt, 0xffffffff);
  std::copy_n(request.route.begin(), hops, mad.begin() + kRouteAt);
  return mad;
}

std::optional<MadAnswer> Decode(const Mad& mad) {
  const auto mad_class = static_cast<MadClass>(mad[1]);
  const bool known = mad_class == MadClass::kDirectedSubnet ||
                     mad_class == MadClass::kPerformance || mad_class == MadClass::kNvidia;
  if (mad[0] != kVersion || !known || mad[2] != kVersion || mad[3] != kGetResponse)
    return std::nullopt;
  MadAnswer answer;
  answer.mad_class = mad_class;
  answer.attribute = static_cast<Attribute>(Load<std::uint16_t>(mad, kAttributeAt));
  answer.modifier = Load<std::uint32_t>(mad, kModifierAt);
  answer.transaction = Load<std::uint32_t>(mad, kTransactionAt);
  answer.status = Load<std::uint16_t>(mad, kStatusAt);
  if (mad_class == MadClass::kDirectedSubnet)
    answer.status = static_cast<std::uint16_t>(answer.status & ~kDirectionBit);
  std::copy_n(mad.begin() + kDataAt, kMadDataBytes, answer.data.begin());
  if (mad_class != MadClass::kDirectedSubnet)
    std::copy_n(mad.begin() + kDataAt + kMadDataBytes, kMoreDataBytes, answer.more.begin());
  return answer;
}

std::uint32_t TransactionOf(const Mad& mad) {
  return Load<std::uint32_t>(mad, kTransactionAt);
}

}  // namespace fabric::subnet
