// Profile readings: values of fields that rules do not compare, or compare only in some cases.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/infer/readings.h"

namespace fabric::infer {

std::span<const Reading> OwnReadings();

// Unpacks the P_Keys in the number of a value; four at most.
std::vector<std::uint32_t> PackedPkeys(const rules::Value& value);

}  // namespace fabric::infer
