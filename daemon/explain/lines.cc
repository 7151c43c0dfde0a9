#include "daemon/explain/lines.h"

#include <algorithm>

namespace fabric::explain {

void LineSplitter::Add(std::string_view bytes, const OnPart& on_part) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    std::string_view text = bytes.substr(0, newline);
    if (newline == std::string_view::npos) {
      open_ = true;
      while (partial_.size() + text.size() > kPartBytesMax) {
        const std::size_t taken = kPartBytesMax - partial_.size();
        partial_ += text.substr(0, taken);
        text.remove_prefix(taken);
        Emit(partial_, on_part);
        partial_.clear();
      }
      partial_ += text;
      return;
    }
    if (partial_.empty()) {
      Emit(text, on_part);
    } else {
      partial_ += text.substr(0, kPartBytesMax);
      Emit(partial_, on_part);
      if (text.size() > kPartBytesMax) Emit(text.substr(kPartBytesMax), on_part);
      partial_.clear();
    }
    ++ended_;
    open_ = false;
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::End(const OnPart& on_part) {
  Emit(partial_, on_part);
  partial_.clear();
}

void LineSplitter::Emit(std::string_view text, const OnPart& on_part) const {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\r'), kPartBytesMax);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) on_part(ended_ + 1, part);
    if (part.size() == text.size()) return;
    text.remove_prefix(part.size() + (text[part.size()] == '\r' ? 1 : 0));
  }
}

std::string WithoutColours(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~'))
        ++at;  // Skip to the final byte
    }
  }
  return plain;
}

}  // namespace fabric::explain
