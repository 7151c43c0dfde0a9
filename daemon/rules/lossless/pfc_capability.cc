#include "daemon/rules/lossless/pfc_capability.h"

#include <bit>

#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

// ice names all its classes as capability, and can do one.
PfcLimit PfcLimitOf(const fleet::PortView& port) {
  if (DriverOf(port) == "ice") return {.priorities = 1, .basis = "Intel 800 series"};
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr) return {};
  return {.priorities = static_cast<int>(dcb->pfc().capability()),
          .basis = "what the NIC says it can do"};
}

bool ExceedsPfcLimit(const fleet::PortView& port) {
  if (port.expected().has_pfc_priorities()) return false;
  const auto mask = LosslessMask(port);
  if (!mask || std::popcount(*mask) < 2) return false;
  const PfcLimit limit = PfcLimitOf(port);
  return limit.priorities != 0 && std::popcount(*mask) > limit.priorities;
}

}  // namespace fabric::rules
