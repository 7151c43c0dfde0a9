// Texts of an option in help, reference pages and man pages. Pure.
#pragma once

#include <string>

#include "base/options.h"

namespace fabric {

// "-o, --output table|wide"
std::string Signature(const Option& option);

// "Output format. Default: table."
std::string Sentences(const Option& option);

}  // namespace fabric
