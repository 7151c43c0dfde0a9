// Checks of text from firmware and drivers, before it goes into messages or onto terminals.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::host {

// Valid UTF-8 without control characters other than tab, newline and carriage return. Firmware and
// drivers may return other bytes, which protobuf does not serialize.
bool IsText(std::string_view bytes);

// An attribute without trailing newline and blanks. DATA_LOSS unless IsText().
Result<std::string> ParseAttribute(std::string_view bytes);

}  // namespace fabric::host
