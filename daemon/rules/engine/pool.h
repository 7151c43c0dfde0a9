// Things by number that stay where they are, whatever comes and goes. Part of the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace fabric::rules {

template <class T>
class Pool {
 public:
  // The number of one that is free, or of a new one: as made.
  std::uint32_t Take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void Free(std::uint32_t number) {
    *all_[number] = {};
    free_.push_back(number);
  }

  T& operator[](std::uint32_t number) { return *all_[number]; }
  const T& operator[](std::uint32_t number) const { return *all_[number]; }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace fabric::rules
