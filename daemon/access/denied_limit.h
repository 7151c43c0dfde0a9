// Bounds the entries of denied calls in the audit log: a flood of them costs a few entries and one
// summary per minute. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace fabric::access {

// Grants `burst` at once, then `rate` per second.
class TokenBucket {
 public:
  TokenBucket(double burst, double rate) : burst_(burst), rate_(rate), left_(burst) {}
  bool Take(SteadyTime now);

 private:
  double burst_;
  double rate_;
  double left_;
  SteadyTime filled_at_{};
};

class DeniedLimit {
 public:
  static constexpr double kBurst = 10;        // Of one host
  static constexpr double kPerSecond = 0.5;   // Of one host
  static constexpr double kAllBurst = 100;    // Of all hosts
  static constexpr double kAllPerSecond = 5;  // Of all hosts
  // More hosts share one place, whose name is kOtherHosts.
  static constexpr std::size_t kHostsMax = 1'000;
  static constexpr const char* kOtherHosts = "other addresses";
  static constexpr Duration kSummaryEvery = std::chrono::seconds(60);

  // Denied calls without an entry of their own.
  struct Summary {
    std::string host;
    std::uint64_t calls = 0;
    WallTime since = {};
    std::string reason;  // Of the last one
  };

  // True: the call gets an entry. False: it is counted.
  bool Grants(const std::string& host, const std::string& reason, Moment now);
  // Counts that are older than kSummaryEvery, or all of them. Forgets hosts without any.
  std::vector<Summary> Take(Moment now, bool all);

 private:
  struct Host {
    TokenBucket bucket{kBurst, kPerSecond};
    std::uint64_t omitted = 0;
    Moment since = {};
    SteadyTime seen_at = {};
    std::string reason = {};
  };
  std::map<std::string, Host> hosts_;
  TokenBucket all_{kAllBurst, kAllPerSecond};
};

}  // namespace fabric::access
