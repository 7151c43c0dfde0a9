// Values as cells of tables. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/options.h"

namespace fabric::ctl {

inline constexpr std::string_view kAbsent = "-";

// The text, or "-" if it is empty or "?", the name of an unset enumerator in proto/names.h.
std::string Cell(std::string_view text);

// The number, or "-" when it is absent.
std::string NumberCell(bool present, std::uint64_t number);

// "100 Gb/s", or "-".
std::string RateCell(bool present, std::uint64_t bits_per_second);

// Of commands that list.
inline constexpr Option kFilterOption = {
    .name = "filter",
    .value = "EXPR",
    .doc =
        "Show only elements that match all terms, by field of -o json: "
        "'node=~\"gpu-1.*\" rail=3'."};

}  // namespace fabric::ctl
