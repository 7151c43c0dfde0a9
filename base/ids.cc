#include "base/ids.h"

#include <optional>

#include "base/text.h"

namespace fabric {

Result<Guid> ParseGuid(std::string_view text) {
  const auto groups = Split(text, ':');
  std::uint64_t value = 0;
  bool good = groups.size() == 4;
  for (std::size_t i = 0; good && i < groups.size(); ++i) {
    const auto part = ParseNumber<std::uint16_t>(groups[i], 16);
    good = part.ok() && groups[i].size() == 4;
    if (good) value = value << 16 | *part;
  }
  if (!good)
    return Status(Code::kInvalidArgument,
                  Format("expected a GUID such as 0c42:a103:0065:1f2e, saw {}", Quoted(text)));
  return Guid(value);
}

std::string ToString(Guid guid) {
  const std::uint64_t v = guid.value();
  return Format("{:04x}:{:04x}:{:04x}:{:04x}", v >> 48 & 0xffff, v >> 32 & 0xffff, v >> 16 & 0xffff,
                v & 0xffff);
}

namespace {

// A hexadecimal number below `end`; nothing for other text.
std::optional<std::uint32_t> Hexadecimal(std::string_view digits, std::uint64_t end) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    const bool decimal = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!decimal && (lower < 'a' || lower > 'f')) return {};
    value = value * 16 + static_cast<std::uint64_t>(decimal ? c - '0' : lower - 'a' + 10);
    if (value >= end) return {};
  }
  return digits.empty() ? std::nullopt : std::optional(static_cast<std::uint32_t>(value));
}

}  // namespace

Result<PciAddress> ParsePciAddress(std::string_view text) {
  // Without allocating: each port of a fleet has one.
  const auto bus_at = text.find(':');
  const auto device_at = text.find(':', bus_at + 1);
  const auto function_at = text.find('.', device_at + 1);
  if (bus_at < device_at && device_at < function_at && function_at != std::string_view::npos) {
    const auto part = [&](std::size_t from, std::size_t to) {
      return text.substr(from + 1, to - from - 1);
    };
    const auto domain = Hexadecimal(text.substr(0, bus_at), std::uint64_t{1} << 32);
    const auto bus = Hexadecimal(part(bus_at, device_at), 256);
    const auto device = Hexadecimal(part(device_at, function_at), 32);
    const auto function = Hexadecimal(part(function_at, text.size()), 8);
    if (domain && bus && device && function)
      return PciAddress{*domain, static_cast<std::uint8_t>(*bus),
                        static_cast<std::uint8_t>(*device), static_cast<std::uint8_t>(*function)};
  }
  return Status(Code::kInvalidArgument,
                Format("expected a PCI address such as 0000:17:00.0, saw {}", Quoted(text)));
}

std::string ToString(const PciAddress& address) {
  return Format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                address.function);
}

}  // namespace fabric
