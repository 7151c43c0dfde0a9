// Line splitter with constant memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fabric::explain {

// Not thread-safe. A newline ends a line. A carriage return separates parts of a line, as progress
// bars write it. Longer parts than kPartBytesMax are split.
class LineSplitter {
 public:
  static constexpr std::size_t kPartBytesMax = 64 << 10;
  // `text` is valid during the call; `line` counts from 1.
  using OnPart = std::function<void(std::uint64_t line, std::string_view text)>;

  void Add(std::string_view bytes, const OnPart& on_part);
  void End(const OnPart& on_part);  // Emits the bytes after the last newline

  std::uint64_t lines() const { return ended_ + (open_ ? 1 : 0); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void Emit(std::string_view text, const OnPart& on_part) const;

  std::string partial_;
  std::uint64_t ended_ = 0;
  std::uint64_t bytes_ = 0;
  bool open_ = false;  // There are bytes after the last newline
};

// Removes terminal escape sequences.
std::string WithoutColours(std::string_view text);

}  // namespace fabric::explain
