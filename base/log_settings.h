// Settings of the log, for the tables of the programs.
#pragma once

#include "base/options.h"

namespace fabric {

inline constexpr Option kLogLevelSetting = {.name = "log-level",
                                            .fallback = "info",
                                            .choices = "debug|info|warning|error",
                                            .doc = "Minimum log level."};
inline constexpr Option kLogFormatSetting = {
    .name = "log-format",
    .fallback = "text",
    .choices = "text|json",
    .doc =
        "Format of the log. json: each line is an object with time, level, program, message and, "
        "for some lines, fields such as node and finding."};

}  // namespace fabric
