// What may go on as text: into a message of the schema, onto a terminal.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::host {

// Valid UTF-8 whose only control characters are tab, newline and carriage return. Firmware and
// drivers fill in strings that are neither, and protobuf refuses to serialise those.
bool IsText(std::string_view bytes);

// An attribute as it was read, without trailing newline and blanks. DATA_LOSS when it is no text.
Result<std::string> ParseAttribute(std::string_view bytes);

}  // namespace fabric::host
