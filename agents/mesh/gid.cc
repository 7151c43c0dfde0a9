#include "agents/mesh/gid.h"

#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace fabric::mesh {
namespace {

constexpr std::size_t kGroups = 8;
constexpr std::size_t kGroupLetters = 4;
constexpr int kHex = 16;

}  // namespace

Result<GidBytes> ParseGid(std::string_view text) {
  const Status wrong(Code::kInvalidArgument, Format("expected a GID, saw {}", Quoted(text)));
  if (text.size() != kGroups * (kGroupLetters + 1) - 1) return wrong;
  GidBytes gid{};
  for (std::size_t group = 0; group < kGroups; ++group) {
    const char* const from = text.data() + group * (kGroupLetters + 1);
    const char* const to = from + kGroupLetters;
    std::uint16_t value = 0;
    const auto [end, error] = std::from_chars(from, to, value, kHex);
    if (error != std::errc() || end != to || (group + 1 < kGroups && *to != ':')) return wrong;
    gid[2 * group] = static_cast<std::byte>(value >> 8);
    gid[2 * group + 1] = static_cast<std::byte>(value & 0xff);
  }
  return gid;
}

std::string GidText(const GidBytes& gid) {
  std::string text;
  for (std::size_t n = 0; n < gid.size(); n += 2)
    text += Format("{}{:02x}{:02x}", n == 0 ? "" : ":", std::to_integer<unsigned>(gid[n]),
                   std::to_integer<unsigned>(gid[n + 1]));
  return text;
}

}  // namespace fabric::mesh
