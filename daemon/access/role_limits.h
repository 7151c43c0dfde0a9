// Bounds what one identity may ask for, by its highest role: calls per second, calls at a time, and
// bytes of answers per second. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/authenticator.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// 0: no limit.
struct RoleLimit {
  std::uint64_t per_second = 0;        // Calls; kBurstSeconds of them at once
  std::uint64_t in_flight = 0;         // Calls at a time
  std::uint64_t bytes_per_second = 0;  // Of answers; a call is refused after kBurstSeconds of them
};

class RoleLimits;

// A call that runs. Ends with it.
class RunningCall {
 public:
  RunningCall(RoleLimits& limits, std::string place, bool counts_bytes)
      : limits_(&limits), place_(std::move(place)), counts_bytes_(counts_bytes) {}
  ~RunningCall();
  RunningCall(RunningCall&& other) noexcept;
  RunningCall& operator=(RunningCall&&) = delete;

  bool CountsBytes() const { return counts_bytes_; }
  // Counts the answer, which is not refused: the next calls are, until it is paid.
  void Answered(std::uint64_t bytes);

 private:
  RoleLimits* limits_;
  std::string place_;
  bool counts_bytes_;
};

class RoleLimits {
 public:
  static constexpr double kBurstSeconds = 5;
  // More identities of a role share one place.
  static constexpr std::size_t kIdentitiesMax = 1'000;

  // VIEWER, OPERATOR and ADMIN.
  using Table = std::map<v1::Role, RoleLimit>;
  // viewer: 200 calls and 64 MiB per second, 6 calls at a time; operator: 2,000 calls per second.
  static Table Defaults();
  // The defaults with changes, such as "viewer.per-second=50". INVALID_ARGUMENT with the entry.
  static Result<Table> Parse(const std::vector<std::string>& changes);

  explicit RoleLimits(Table table = Defaults()) : table_(std::move(table)) {}

  // RESOURCE_EXHAUSTED with the limit that is reached. Must outlive the call.
  Result<RunningCall> Begin(const v1::Identity& identity, SteadyTime now) EXCLUDES(mutex_);
  std::uint64_t refused() const EXCLUDES(mutex_);

 private:
  friend class RunningCall;
  struct Place {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    double calls_used = 0;  // Of the burst; each second returns some
    double bytes_used = 0;
    std::uint64_t in_flight = 0;
    SteadyTime at{};
  };
  Place& PlaceOf(const std::string& identity, v1::Role role, SteadyTime now, std::string& name)
      REQUIRES(mutex_);
  void End(const std::string& place) EXCLUDES(mutex_);
  void Charge(const std::string& place, std::uint64_t bytes) EXCLUDES(mutex_);

  const Table table_;
  mutable Mutex mutex_;
  std::map<std::string, Place> places_ GUARDED_BY(mutex_);
  std::uint64_t refused_ GUARDED_BY(mutex_) = 0;
};

}  // namespace fabric::access
