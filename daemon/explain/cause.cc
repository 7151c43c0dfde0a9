#include "daemon/explain/cause.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "daemon/explain/network_causes.h"
#include "daemon/explain/node_causes.h"

namespace fabric::explain {
namespace {

using CauseTable = std::array<CauseInfo, std::size(kNetworkCauses) + std::size(kNodeCauses)>;

constexpr CauseTable Joined() {
  CauseTable all{};
  auto* const rest = std::copy(std::begin(kNetworkCauses), std::end(kNetworkCauses), all.data());
  std::copy(std::begin(kNodeCauses), std::end(kNodeCauses), rest);
  return all;
}

constexpr CauseTable kCauses = Joined();

// The table is indexed by the enumerator.
constexpr bool InOrder() {
  std::size_t at = 0;
  for (const CauseInfo& info : kCauses)
    if (static_cast<std::size_t>(info.cause) != at++) return false;
  return at == static_cast<std::size_t>(Cause::kProgram) + 1;
}
static_assert(InOrder());

}  // namespace

const CauseInfo& Info(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

std::span<const CauseInfo> AllCauses() {
  return std::span(kCauses).subspan(1);
}

}  // namespace fabric::explain
