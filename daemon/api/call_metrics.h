// Number and duration of API calls by method, transport and outcome.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/turns.h"

namespace fabric::api {

// Safe to call from any thread.
class CallMetrics {
 public:
  struct Key {
    std::string method;
    std::string transport;
    Code code = Code::kOk;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Counts {
    std::map<Key, std::uint64_t> calls;
    // By method and transport
    std::map<std::pair<std::string, std::string>, control::DurationCounts> durations;
  };

  void Count(const Key& key, Duration duration) EXCLUDES(mutex_);
  Counts Read() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  Counts counts_ GUARDED_BY(mutex_);
};

}  // namespace fabric::api
