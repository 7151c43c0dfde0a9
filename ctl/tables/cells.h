// Values as cells of tables, and the order of names. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fabric::ctl {

inline constexpr std::string_view kAbsent = "-";

// The text, or "-" when it is empty or "?", which is how proto/names.h calls an unset enumerator.
std::string Cell(std::string_view text);

// The number, or "-" when it is absent.
std::string NumberCell(bool present, std::uint64_t number);

// "100 Gb/s", or "-".
std::string RateCell(bool present, std::uint64_t bits_per_second);

// "1 node", "3 nodes".
std::string Count(std::uint64_t count, std::string_view noun);

// Whether `a` comes before `b` when runs of digits count as numbers: n2 before n10.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace fabric::ctl
