#include "daemon/rules/member.h"

#include "base/text.h"
#include "daemon/rules/kind.h"

namespace fabric::rules {
namespace {

constexpr std::uint64_t kExactBelow = 100;

// 16384 to 16000, 128 to 120.
std::uint64_t Rounded(std::uint64_t number) {
  std::uint64_t unit = 1;
  while (number / unit >= 100) unit *= 10;
  return number / unit * unit;
}

}  // namespace

std::optional<Group> ByRail(const Member& port) {
  if (!port.port->rail) return {};
  return Group{.rail = port.port->rail->value(), .like = {}, .part = KindOf(*port.port)};
}

std::optional<Group> ByRailAndModel(const Member& port) {
  const std::string_view model = port.port->model;
  if (!port.port->rail || model.empty()) return {};
  return Group{.rail = port.port->rail->value(), .like = model, .part = KindOf(*port.port)};
}

std::optional<Group> ByProduct(const Member& node) {
  return Group{.rail = {}, .like = node.snapshot().host().product(), .part = ProductOf(*node.node)};
}

std::optional<Group> WholeFleet(const Member&) {
  return Group{};
}

std::string Share(std::uint64_t count, std::uint64_t of) {
  if (of < kExactBelow) return Format("{} of {}", count, of);
  return Format("{} % of {}+", 100 * count / of, Rounded(of));
}

std::uint64_t ShareKey(std::uint64_t count, std::uint64_t of) {
  if (of < kExactBelow) return count << 32 | of;
  return (100 * count / of) << 32 | Rounded(of);
}

}  // namespace fabric::rules
