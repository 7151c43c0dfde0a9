// Integers in network byte order at an offset of a span. The caller checks the size.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fabric::subnet {

template <std::unsigned_integral Integer>
Integer Load(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) value = value << 8 | bytes[at + i];
  return static_cast<Integer>(value);
}

template <std::unsigned_integral Integer>
void Store(std::span<std::uint8_t> bytes, std::size_t at, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i)
    bytes[at + i] =
        static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * (sizeof(Integer) - 1 - i)));
}

}  // namespace fabric::subnet
