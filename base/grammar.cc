#include "base/grammar.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::string_view kAddressForm = "HOST:PORT such as 127.0.0.1:9418 or [::1]:9418";
constexpr std::size_t kHostBytesMax = 253;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// Largest first, so that printing finds the shortest form.
constexpr Unit kDurationUnits[] = {{"d", 86'400'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"m", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}};

Status BadAddress(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument,
          Format("expected {}, saw {}: {}", kAddressForm, Quoted(text), why)};
}

bool IsIpv6(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) == 1;
}

bool IsIpv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool IsName(std::string_view host) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  const bool digits_and_dots = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return !host.empty() && host.size() <= kHostBytesMax && !digits_and_dots &&
         std::all_of(host.begin(), host.end(), allowed) && host.front() != '-' &&
         host.front() != '.';
}

}  // namespace

Result<HostPort> ParseHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']'))
    return BadAddress(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  HostPort address;
  const auto port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port.ok()) return BadAddress(text, "the port is not a number from 0 to 65535");
  address.port = *port;
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  address.host = host;
  if (brackets && !IsIpv6(address.host)) return BadAddress(text, "not an IPv6 address in brackets");
  if (!brackets && host.find(':') != std::string_view::npos)
    return BadAddress(text, "an IPv6 address needs brackets");
  if (!brackets && !IsIpv4(address.host) && !IsName(host))
    return BadAddress(text, "not an address or a host name before the port");
  return address;
}

std::string ToString(const HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? Format("[{}]:{}", address.host, address.port)
              : Format("{}:{}", address.host, address.port);
}

Result<std::uint64_t> ParseSize(std::string_view text) {
  const Status bad(
      Code::kInvalidArgument,
      Format("expected a size in bytes such as 4096, 64KiB or 8M, saw {}", Quoted(text)));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit(text.substr(digits));
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (unit.size() == 3 && unit.ends_with("IB")) unit.resize(1);
  constexpr std::string_view kUnits = "BKMGT";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit);
  if (unit.size() > 1 || power == std::string_view::npos ||
      (power == 0 && text.size() > digits + 1))
    return bad;
  long double number = 0;  // Exact for 64 bits
  const auto [at, error] = std::from_chars(text.data(), text.data() + digits, number);
  const long double bytes = std::ldexp(number, static_cast<int>(10 * power));
  constexpr long double kBytesMax = std::numeric_limits<std::uint64_t>::max();
  if (error != std::errc() || at != text.data() + digits || bytes > kBytesMax ||
      bytes != std::floor(bytes))
    return bad;
  return static_cast<std::uint64_t>(bytes);
}

Result<Duration> ParseDuration(std::string_view text) {
  const Status bad(Code::kInvalidArgument,
                   Format("expected a duration such as 500ms, 10s or 1.5h, saw {}", Quoted(text)));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view name = text.substr(digits);
  const auto* const unit = std::find_if(std::begin(kDurationUnits), std::end(kDurationUnits),
                                        [&](const Unit& u) { return u.name == name; });
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (unit == std::end(kDurationUnits) || error != std::errc() || at != text.data() + digits)
    return bad;
  const double nanoseconds = std::round(number * static_cast<double>(unit->nanoseconds));
  constexpr double kNanosecondsMax = 9.2e18;  // 292 years; what fits 64 bits
  if (nanoseconds > kNanosecondsMax) return bad;
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

std::string ToString(Duration duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  for (const Unit& unit : kDurationUnits)
    if (unit.name != "d" && count % unit.nanoseconds == 0)
      return Format("{}{}", count / unit.nanoseconds, unit.name);
  return Format("{}ns", count);
}

}  // namespace fabric
