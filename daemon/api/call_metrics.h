// Number and duration of API calls by method, transport and outcome.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace fabric::api {

// Upper bounds of the duration histogram, in seconds; the last bucket has none.
inline constexpr std::array<double, 10> kDurationBuckets = {0.0001, 0.0005, 0.001, 0.005, 0.01,
                                                            0.05,   0.1,    0.5,   1,     5};

// Safe to call from any thread.
class CallMetrics {
 public:
  struct Key {
    std::string method;
    std::string transport;
    Code code = Code::kOk;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Durations {
    std::array<std::uint64_t, kDurationBuckets.size() + 1> buckets{};  // Not cumulative
    double sum_seconds = 0;
  };
  struct Counts {
    std::map<Key, std::uint64_t> calls;
    std::map<std::pair<std::string, std::string>, Durations> durations;  // By method, transport
  };

  void Count(const Key& key, Duration duration) EXCLUDES(mutex_);
  Counts Read() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  Counts counts_ GUARDED_BY(mutex_);
};

}  // namespace fabric::api
