#include "base/ids.h"

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

Result<PciAddress> ParsePciAddress(std::string_view text) {
  // Without allocating: each port of a fleet has one.
  const auto bus_at = text.find(':');
  const auto device_at = text.find(':', bus_at + 1);
  const auto function_at = text.find('.', device_at + 1);
  if (bus_at < device_at && device_at < function_at && function_at != std::string_view::npos) {
    const auto part = [&](std::size_t from, std::size_t to) {
      return text.substr(from + 1, to - from - 1);
    };
    const auto domain = ParseNumber<std::uint32_t>(text.substr(0, bus_at), 16);
    const auto bus = ParseNumber<std::uint8_t>(part(bus_at, device_at), 16);
    const auto device = ParseNumber<std::uint8_t>(part(device_at, function_at), 16);
    const auto function = ParseNumber<std::uint8_t>(part(function_at, text.size()), 16);
    if (domain.ok() && bus.ok() && device.ok() && function.ok() && *device < 32 && *function < 8)
      return PciAddress{*domain, *bus, *device, *function};
  }
  return Status(Code::kInvalidArgument,
                Format("expected a PCI address such as 0000:17:00.0, saw {}", Quoted(text)));
}

std::string ToString(const PciAddress& address) {
  return Format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                address.function);
}

}  // namespace fabric
