#include "base/priority_mask.h"

namespace fabric {

std::string ToText(PriorityMask mask) {
  std::string text;
  for (std::uint32_t priority = 0; priority < PriorityMask::kPriorities; ++priority) {
    if (!mask.Has(priority)) continue;
    if (!text.empty()) text += ',';
    text += static_cast<char>('0' + priority);
  }
  return text.empty() ? "none" : text;
}

}  // namespace fabric
