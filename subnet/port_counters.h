// Counters of a port between two readings. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "subnet/mad/attributes.h"
#include "subnet/model.h"

namespace fabric::subnet {

inline std::uint64_t ValueOf(const CounterValues& values, Counter counter) {
  return values[static_cast<std::size_t>(counter)];
}

// Of a port with both values. A reset between the readings makes the difference negative: then the
// value counts from 0.
inline std::uint64_t Increase(const PortDetails& port, Counter counter) {
  const std::uint64_t before = ValueOf(*port.first_counters, counter);
  const std::uint64_t now = ValueOf(*port.counters, counter);
  return now >= before ? now - before : now;
}

}  // namespace fabric::subnet
