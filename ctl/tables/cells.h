// Values as cells of tables. Pure.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/options.h"

namespace fabric::ctl {

inline constexpr std::string_view kAbsent = "-";

// The text, or "-" if it is empty or "?", the name of an unset enumerator in proto/names.h.
std::string Cell(std::string_view text);

// The number, or "-" when it is absent.
std::string NumberCell(bool present, std::uint64_t number);

// "100 Gb/s", or "-".
std::string RateCell(bool present, std::uint64_t bits_per_second);

// Time since then: "45s", "12m", "3h", "9d"; "-" for an unset time, "0s" for one in the future.
std::string AgeCell(const google::protobuf::Timestamp& then, WallTime now);

// Of commands that list.
inline constexpr Option kFilterOption = {
    .name = "filter",
    .value = "EXPR",
    .doc =
        "Show only elements that match all terms, by field of -o json: "
        "'node=~\"gpu-1.*\" rail=3'."};

inline constexpr Option kSinceOption = {.name = "since",
                                        .type = OptionType::kDuration,
                                        .min = "1s",
                                        .max = "3650d",
                                        .doc =
                                            "Show only what changed in this period: 1h. Default: "
                                            "everything."};

}  // namespace fabric::ctl
