// Bounds of stored snapshots, checked before they are decoded. Pure.
#pragma once

#include <string_view>

namespace fabric::store {

// Whether an encoded NodeSnapshot takes too much memory: the row was changed by hand, or is from a
// version without bounds.
bool IsTooLarge(std::string_view bytes);

}  // namespace fabric::store
