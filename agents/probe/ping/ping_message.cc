#include "agents/probe/ping/ping_message.h"

#include <algorithm>
#include <cassert>

namespace fabric::probe {
namespace {

constexpr std::uint32_t kMagic = 0x66616270;  // "fabp"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kLate = 1;
// Offsets.
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kKindAt = 5;
constexpr std::size_t kFlagsAt = 6;
constexpr std::size_t kSessionAt = 8;
constexpr std::size_t kSequenceAt = 16;
constexpr std::size_t kFlowAt = 20;
constexpr std::size_t kDelayAt = 24;
constexpr std::size_t kSeenAt = 32;
constexpr std::size_t kGidAt = kPingBytesMin;
constexpr std::size_t kQueuePairAt = kGidAt + 16;
constexpr std::size_t kQueueKeyAt = kQueuePairAt + 4;
constexpr std::size_t kLidAt = kQueueKeyAt + 4;
constexpr std::size_t kFlowLabelAt = kLidAt + 4;
static_assert(kFlowLabelAt + 4 == kPingWithReplyAddressBytes);
constexpr std::uint64_t kDelayMax = 1'000'000'000'000;  // 1000 s

template <class Number>
void Put(std::span<std::byte> bytes, std::size_t at, Number value) {
  for (std::size_t n = sizeof value; n > 0; --n, value = static_cast<Number>(value >> 4 >> 4))
    bytes[at + n - 1] = static_cast<std::byte>(value & 0xff);
}

template <class Number>
Number Get(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < sizeof(Number); ++n)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + n]);
  return static_cast<Number>(value);
}

}  // namespace

void Write(const PingMessage& message, std::span<std::byte> bytes) {
  assert(bytes.size() >= kPingBytesMin);
  Put(bytes, 0, kMagic);
  Put(bytes, kVersionAt, kVersion);
  Put(bytes, kKindAt, static_cast<std::uint8_t>(message.kind));
  Put(bytes, kFlagsAt, message.late ? kLate : std::uint8_t{0});
  Put(bytes, kFlagsAt + 1, std::uint8_t{0});
  Put(bytes, kSessionAt, message.session);
  Put(bytes, kSequenceAt, message.sequence);
  Put(bytes, kFlowAt, message.flow);
  Put(bytes, kDelayAt, static_cast<std::uint64_t>(message.delay.count()));
  Put(bytes, kSeenAt, message.seen);
}

std::optional<PingMessage> ParsePing(std::span<const std::byte> bytes) {
  if (bytes.size() < kPingBytesMin || Get<std::uint32_t>(bytes, 0) != kMagic ||
      Get<std::uint8_t>(bytes, kVersionAt) != kVersion)
    return std::nullopt;
  const auto kind = Get<std::uint8_t>(bytes, kKindAt);
  const auto delay = Get<std::uint64_t>(bytes, kDelayAt);
  if (kind < 1 || kind > 3 || delay > kDelayMax) return std::nullopt;
  return PingMessage{.kind = static_cast<PingMessage::Kind>(kind),
                     .late = (Get<std::uint8_t>(bytes, kFlagsAt) & kLate) != 0,
                     .session = Get<std::uint64_t>(bytes, kSessionAt),
                     .sequence = Get<std::uint32_t>(bytes, kSequenceAt),
                     .flow = Get<std::uint32_t>(bytes, kFlowAt),
                     .delay = Duration(static_cast<std::int64_t>(delay)),
                     .seen = Get<std::uint64_t>(bytes, kSeenAt)};
}

void WriteReplyAddress(const ReplyAddress& address, std::span<std::byte> bytes) {
  assert(bytes.size() >= kPingWithReplyAddressBytes);
  std::copy(address.gid.begin(), address.gid.end(), bytes.begin() + kGidAt);
  Put(bytes, kQueuePairAt, address.queue_pair);
  Put(bytes, kQueueKeyAt, address.queue_key);
  Put(bytes, kLidAt, address.lid);
  Put(bytes, kFlowLabelAt, address.flow_label);
}

std::optional<ReplyAddress> ParseReplyAddress(std::span<const std::byte> bytes) {
  if (bytes.size() < kPingWithReplyAddressBytes) return std::nullopt;
  ReplyAddress address{.queue_pair = Get<std::uint32_t>(bytes, kQueuePairAt),
                       .queue_key = Get<std::uint32_t>(bytes, kQueueKeyAt),
                       .lid = Get<std::uint32_t>(bytes, kLidAt),
                       .flow_label = Get<std::uint32_t>(bytes, kFlowLabelAt)};
  std::copy_n(bytes.begin() + kGidAt, address.gid.size(), address.gid.begin());
  // Queue pair numbers have 24 bits, flow labels 20.
  if (address.queue_pair == 0 || address.queue_pair >> 24 != 0 || address.flow_label >> 20 != 0)
    return std::nullopt;
  return address;
}

}  // namespace fabric::probe
