// Ping datagrams: the ping, its answer, and the report after the answer with the responder's delay.
// Pure.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"

namespace fabric::probe {

inline constexpr std::uint32_t kPingBytesMin = 40;

struct PingMessage {
  enum class Kind : std::uint8_t { kPing = 1, kAnswer = 2, kReport = 3 };
  Kind kind = Kind::kPing;
  // Answer and report: the responder polled late, so that its delay is too long. Software clocks
  // only.
  bool late = false;
  std::uint64_t session = 0;   // Chosen by the initiator; copied into the answer
  std::uint32_t sequence = 0;  // Within the session; copied
  std::uint32_t flow = 0;      // Copied; the answer uses the flow of the same number.
  Duration delay{};            // Report: from the ping's arrival to the answer's departure
  // Answer and report: which of the preceding pings the responder received. Below the highest bit
  // that is set, bit n is for ping `sequence - 1 - n`; 0: no information.
  std::uint64_t seen = 0;
};

// Reply address of a ping, for responders that do not know the initiator.
struct ReplyAddress {
  std::array<std::byte, 16> gid{};  // In network order
  std::uint32_t queue_pair = 0;
  std::uint32_t queue_key = 0;
  std::uint32_t lid = 0;
  std::uint32_t flow_label = 0;

  friend auto operator<=>(const ReplyAddress&, const ReplyAddress&) = default;
};
inline constexpr std::uint32_t kPingWithReplyAddressBytes = kPingBytesMin + 32;

// Writes the first kPingBytesMin bytes of `bytes`, in network order.
void Write(const PingMessage& message, std::span<std::byte> bytes);

// Empty for anything but a message of this version.
std::optional<PingMessage> ParsePing(std::span<const std::byte> bytes);

// Written after the message; `bytes` has at least kPingWithReplyAddressBytes.
void WriteReplyAddress(const ReplyAddress& address, std::span<std::byte> bytes);
// Empty without a valid address.
std::optional<ReplyAddress> ParseReplyAddress(std::span<const std::byte> bytes);

}  // namespace fabric::probe
