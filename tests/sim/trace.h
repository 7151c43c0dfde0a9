// Hash of all messages and events of a simulated run: two runs of one seed have the same hash.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"

namespace fabric::sim {

class Trace {
 public:
  // `show`: also print the lines.
  explicit Trace(bool show) : show_(show) {}

  void Add(std::string_view bytes) { hash_ = Fnv(bytes, hash_); }
  void Add(Duration at) { Number(static_cast<std::uint64_t>(at.count())); }
  void Number(std::uint64_t number) {
    hash_ = (hash_ ^ number) * kGoldenRatio;
    hash_ ^= hash_ >> 29;
  }
  void Tell(Duration at, const std::string& line) {
    Add(at);
    Add(line);
    if (!show_) return;
    const std::string text =
        Format("{:10.4f}  {}\n", std::chrono::duration<double>(at).count(), line);
    std::fputs(text.c_str(), stdout);
  }

  std::uint64_t hash() const { return hash_; }

 private:
  const bool show_;
  std::uint64_t hash_ = kFnvOffset;
};

}  // namespace fabric::sim
