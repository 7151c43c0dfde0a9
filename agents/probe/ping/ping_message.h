// The datagrams of a ping: the ping itself, its answer, and the report that follows the answer with
// what the responder measured. Pure.
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
  // Of an answer and a report: the responder looked late, what it measured is too long. Software
  // clocks only.
  bool late = false;
  std::uint64_t session = 0;   // Of who pings; answers carry it back.
  std::uint32_t sequence = 0;  // The same, within the session
  std::uint32_t flow = 0;      // The same; the answer takes the flow of the same number.
  Duration delay{};            // Of a report: from the ping's arrival to the answer's departure
  // Of an answer and a report: which of the pings right before this one the responder got. Below
  // the highest bit that is set, bit n stands for number `sequence - 1 - n`; 0: nothing is told.
  std::uint64_t seen = 0;
};

// Where a ping wants its answer, for responders that were not told of the initiator.
struct PingReturn {
  std::array<std::byte, 16> gid{};  // In network order
  std::uint32_t queue_pair = 0;
  std::uint32_t queue_key = 0;
  std::uint32_t lid = 0;
  std::uint32_t flow_label = 0;

  friend auto operator<=>(const PingReturn&, const PingReturn&) = default;
};
inline constexpr std::uint32_t kPingReturnBytes = kPingBytesMin + 32;

// Into the first kPingBytesMin bytes of `bytes`, in network order. The rest is left as it is.
void Write(const PingMessage& message, std::span<std::byte> bytes);

// Empty when it is no such message, of this version.
std::optional<PingMessage> ParsePing(std::span<const std::byte> bytes);

// Behind the message, of at least kPingReturnBytes in all.
void WriteReturn(const PingReturn& address, std::span<std::byte> bytes);
// Empty when there is none.
std::optional<PingReturn> ParseReturn(std::span<const std::byte> bytes);

}  // namespace fabric::probe
