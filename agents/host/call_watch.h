// Call watch: records the kernel call that a thread is making, so that another thread can detect a
// call that does not return.
//
// Reading an attribute may block in a driver without limit; no signal ends it. The blocked call is
// avoided from then on, and all other work continues on a new thread (watched_worker.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace fabric::host {

class CallWatch {
 public:
  // During its lifetime, `watch` records the calls of the thread that created it.
  class Here {
   public:
    explicit Here(CallWatch& watch);
    ~Here();
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
  };

  // A call is named by its object: "/sys/class/net/eth0/mtu", "eth0/ethtool driver". Calls with
  // these names fail with DEADLINE_EXCEEDED instead of being made. A name that ends in a slash
  // matches all names with that prefix.
  void Avoid(std::vector<std::string> names) EXCLUDES(mutex_);
  void AvoidAll() EXCLUDES(mutex_);  // From now on

  struct Progress {
    std::uint64_t steps = 0;  // Calls begun and ended
    std::string call;         // Current call; empty between calls
  };
  Progress progress() EXCLUDES(mutex_);

 private:
  friend class WatchedCall;
  Status Enter(std::string_view name) EXCLUDES(mutex_);
  void Leave() EXCLUDES(mutex_);

  Mutex mutex_;
  Progress progress_ GUARDED_BY(mutex_);
  std::vector<std::string> avoided_ GUARDED_BY(mutex_);
  bool avoids_all_ GUARDED_BY(mutex_) = false;
};

// One call: from construction to destruction. Costs nothing on a thread that is not watched.
class WatchedCall {
 public:
  // Calls `name()` only on a watched thread.
  template <class Name>
  explicit WatchedCall(const Name& name) : watch_(OfThisThread()) {
    if (watch_ != nullptr) status_ = watch_->Enter(name());
  }
  ~WatchedCall() {
    if (watch_ != nullptr) watch_->Leave();
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  const Status& status() const { return status_; }  // A failure: do not make the call.

 private:
  static CallWatch* OfThisThread();

  CallWatch* const watch_;
  Status status_;
};

// Prefix of the names of all calls about the same device, ending in a slash: "/sys/class/net/eth0/"
// for "/sys/class/net/eth0/mtu", "eth0/" for "eth0/ethtool driver". For a file of no device, its
// directory.
std::string DeviceOfCall(std::string_view name);

}  // namespace fabric::host
