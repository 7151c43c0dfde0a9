// Completion statuses of verbs (enum ibv_wc_status of libibverbs/verbs.h) and what vendors add to
// them. Constants; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/explain/cause.h"

namespace fabric::explain {

struct WcStatus {
  std::uint32_t number;
  std::string_view name;  // "IBV_WC_RETRY_EXC_ERR"
  std::string_view text;  // What libibverbs prints for it; lower case
  std::string_view title;
  std::string_view meaning;
  Causes causes;
  bool consequence = false;
  int mlx5_syndrome = -1;  // Of the error CQE, PRM; -1: none is its own
};

std::span<const WcStatus> AllWcStatuses();

// nullptr for a number that does not exist.
const WcStatus* WcStatusOf(std::uint32_t number);
// By the mlx5 error CQE's syndrome, as UCX prints it.
const WcStatus* WcStatusOfMlx5(std::uint32_t syndrome);
// By name or by libibverbs' text, in any case.
const WcStatus* WcStatusNamed(std::string_view name_or_text);

// What the vendor's syndrome adds, or empty when that is not publicly known.
std::string_view VendorSyndrome(std::uint32_t syndrome);

}  // namespace fabric::explain
