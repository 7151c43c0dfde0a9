// The datagrams of pings, which anybody may send to a queue pair.
#include "agents/probe/ping/ping_message.h"

#include <algorithm>
#include <vector>

#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fabric::probe;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto message = ParsePing(bytes);
  if (!message) return 0;
  Check(size >= kPingBytesMin, "a message has its length");
  Check(message->delay.count() >= 0, "a delay is no negative number");
  std::vector<std::byte> again(bytes.begin(), bytes.end());
  Write(*message, again);
  const auto same = ParsePing(again);
  Check(same && same->kind == message->kind && same->late == message->late &&
            same->session == message->session && same->sequence == message->sequence &&
            same->flow == message->flow && same->delay == message->delay,
        "what is written is read");
  return 0;
}
