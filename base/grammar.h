// Grammar of the durations, sizes and addresses that users write: in options, settings and rules.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace fabric {

struct HostPort {
  std::string host;  // An IPv4 or IPv6 address (without brackets) or a name
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// "127.0.0.1:9418", "[::1]:9418", "controller.example:9418"; port 0 to 65535.
Result<HostPort> ParseHostPort(std::string_view text);
std::string ToString(const HostPort& address);  // As ParseHostPort accepts it

// Bytes: "4096", "64KiB", "8M", "1.5GiB"; units B, K, M, G, T, with or without "iB", are powers of
// 1024. Upper and lower case are equal. The result is a whole number of bytes.
Result<std::uint64_t> ParseSize(std::string_view text);

// "1s", "200ms", "1.5h", "30d"; units ns, us, ms, s, m, h, d. Never negative.
Result<Duration> ParseDuration(std::string_view text);
std::string ToString(Duration duration);  // The shortest text in h, m, ... ns with the same value

}  // namespace fabric
