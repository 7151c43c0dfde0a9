// Completion statuses (enum ibv_wc_status of libibverbs/verbs.h) and vendor syndromes. Constants;
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/explain/cause.h"

namespace fabric::explain {

struct WcStatus {
  std::uint32_t number;
  std::string_view name;  // "IBV_WC_RETRY_EXC_ERR"
  std::string_view text;  // Text of libibverbs; lower case
  std::string_view title;
  std::string_view meaning;
  Causes causes;
  bool consequence = false;
  int mlx5_syndrome = -1;  // Syndrome in the error CQE (PRM); -1: none
};

std::span<const WcStatus> AllWcStatuses();

// nullptr: unknown number.
const WcStatus* WcStatusOf(std::uint32_t number);
// By syndrome of the mlx5 error CQE, as UCX prints it.
const WcStatus* WcStatusOfMlx5(std::uint32_t syndrome);
// By name or text of libibverbs; ignores case.
const WcStatus* WcStatusNamed(std::string_view name_or_text);

// Meaning of the vendor syndrome; empty if it is not public.
std::string_view VendorSyndrome(std::uint32_t syndrome);

}  // namespace fabric::explain
