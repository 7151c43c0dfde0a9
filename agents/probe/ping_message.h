// The datagrams of a ping: the ping itself, its answer, and the report that follows the answer with
// what the responder measured. Pure.
#pragma once

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
};

// Into the first kPingBytesMin bytes of `bytes`, in network order. The rest is left as it is.
void Write(const PingMessage& message, std::span<std::byte> bytes);

// Empty when it is no such message, of this version.
std::optional<PingMessage> ParsePing(std::span<const std::byte> bytes);

}  // namespace fabric::probe
