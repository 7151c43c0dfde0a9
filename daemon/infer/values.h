// Fields of Expectations that no rule compares among the like, or not always.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/infer/readings.h"

namespace fabric::infer {

std::span<const Reading> OwnReadings();

// P_Keys that are packed into the number of a value, four at most.
std::vector<std::uint32_t> PackedPkeys(const rules::Value& value);

}  // namespace fabric::infer
