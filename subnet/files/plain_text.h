// Plain text of a file: without gzip or zstd, in UTF-8, with ASCII quotes and blanks, and with
// lines that end in a line feed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::subnet {

struct PlainText {
  std::string text;
  std::string problem;  // Of compressed data that end early or are damaged; else empty
};

// Converts `bytes` of `file`; nothing if they are plain text. RESOURCE_EXHAUSTED if the text has
// more than `bytes_max`.
Result<std::optional<PlainText>> ToPlainText(const std::string& file, std::string_view bytes,
                                             std::size_t bytes_max);

}  // namespace fabric::subnet
