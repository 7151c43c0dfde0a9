// Hash functions that are not cryptographic: FNV-1a and SplitMix64. Their values are the same on
// every machine and in every run, so they can be stored and compared.
#pragma once

#include <cstdint>
#include <string_view>

namespace fabric {

inline constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325U;

// The increment of SplitMix64: 2^64 divided by the golden ratio.
inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;

// FNV-1a with 64 bits. `bits` is a byte, or a whole number in one step.
constexpr std::uint64_t FnvStep(std::uint64_t hash, std::uint64_t bits) {
  return (hash ^ bits) * 0x100000001b3U;
}
constexpr std::uint64_t Fnv(std::string_view text, std::uint64_t hash = kFnvOffset) {
  for (const char c : text) hash = FnvStep(hash, static_cast<unsigned char>(c));
  return hash;
}

// The next output of SplitMix64 in the state `value`; the next state is `value` + kGoldenRatio. A
// bijection in which each input bit affects every output bit.
constexpr std::uint64_t SplitMix(std::uint64_t value) {
  value += kGoldenRatio;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace fabric
