#include "agents/join/join_loop.h"

#include <algorithm>
#include <condition_variable>
#include <random>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace fabric::agent {
namespace {

constexpr Duration kRetryMin = std::chrono::seconds(2);
constexpr Duration kRetryMax = std::chrono::seconds(60);
constexpr Duration kAwaitApproval = std::chrono::seconds(15);
constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kRenewRetryMax = std::chrono::minutes(15);

// Doubles the time between attempts, with a jitter: many nodes start at one time.
class Backoff {
 public:
  explicit Backoff(Duration max) : max_(max), random_(std::random_device()()) {}
  Duration Next() {
    wait_ = std::clamp(wait_ * 2, kRetryMin, max_);
    return Jitter(wait_);
  }
  Duration Jitter(Duration wait) {
    return wait / 2 +
           Duration(std::uniform_int_distribution<Duration::rep>(0, wait.count())(random_));
  }
  void Reset() { wait_ = {}; }

 private:
  const Duration max_;
  Duration wait_{};
  std::minstd_rand random_;
};

void LogOnce(std::string_view what, const Status& status, std::string& last) {
  if (std::exchange(last, status.message()) != status.message())
    log::Warning("{}: {}", what, status.message());
}

}  // namespace

Result<bool> JoinFirst(Credential& credential, JoinCalls& calls, const Clock& clock,
                       const std::function<bool(Duration)>& pause) {
  Status usable = credential.Check(clock.Now().wall);
  if (usable.ok()) return true;
  if (usable.code() != Code::kNotFound) return usable;
  log::Info("joining: {}", usable.message());
  std::string last;
  Backoff backoff(kRetryMax);
  while (true) {
    const Status joined = credential.Join(calls, clock.Now().wall);
    if (joined.ok()) break;
    LogOnce("not joined yet", joined, last);
    const bool waits = joined.message().starts_with("waiting for approval");
    if (!pause(waits ? backoff.Jitter(kAwaitApproval) : backoff.Next())) return false;
  }
  usable = credential.Check(clock.Now().wall);
  if (!usable.ok()) return usable;
  log::Info("joined: the certificate is in {}", credential.Paths().certificate);
  return true;
}

void RunRenewal(Credential& credential, JoinCalls& calls, const Clock& clock,
                const std::stop_token& stop) {
  std::string last;
  Backoff backoff(kRenewRetryMax);
  Mutex mutex;
  std::condition_variable_any never;
  Duration wait = kLookEvery;
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex);
      never.wait_for(lock, stop, wait, [] { return false; });
    }
    if (stop.stop_requested()) return;
    wait = kLookEvery;
    const WallTime now = clock.Now().wall;
    const auto due = credential.NeedsRenewal(now);
    if (due.ok() && !*due) continue;
    const Status renewed = due.ok() ? credential.Renew(calls, now) : due.status();
    if (renewed.ok()) {
      backoff.Reset();
      last.clear();
      log::Info("certificate renewed");
      continue;
    }
    LogOnce("cannot renew the certificate", renewed, last);
    wait = backoff.Next();
  }
}

}  // namespace fabric::agent
