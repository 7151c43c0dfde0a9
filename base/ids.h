// Strong types for identifiers: they do not convert to each other, and to an integer only by
// .value().
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

template <class Tag, class Rep>
class Strong {
 public:
  constexpr Strong() = default;
  explicit constexpr Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_{};
};

using Guid = Strong<struct GuidTag, std::uint64_t>;  // EUI-64, host order
using Rail = Strong<struct RailTag, std::uint32_t>;  // 0-based
using ProbeId = Strong<struct ProbeIdTag, std::uint64_t>;
using SessionId = Strong<struct SessionIdTag, std::uint64_t>;  // One connection of an agent

// Parses the kernel's spelling, "0c42:a103:0065:1f2e". INVALID_ARGUMENT otherwise.
Result<Guid> ParseGuid(std::string_view text);
std::string ToString(Guid guid);

// A PCI function, "0000:17:00.0". Domains above 0xffff exist (VMD): "10000:e1:00.0".
struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;    // 0 to 31
  std::uint8_t function = 0;  // 0 to 7

  friend constexpr auto operator<=>(const PciAddress&, const PciAddress&) = default;
};
Result<PciAddress> ParsePciAddress(std::string_view text);
std::string ToString(const PciAddress& address);

}  // namespace fabric

template <class Tag, class Rep>
struct std::hash<fabric::Strong<Tag, Rep>> {
  std::size_t operator()(fabric::Strong<Tag, Rep> id) const { return std::hash<Rep>()(id.value()); }
};
