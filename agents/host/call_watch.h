// What a thread is asking the kernel, for another thread that notices when no answer comes.
//
// A read of an attribute may block for as long as a driver likes, and no signal ends it. What the
// blocked thread was asking is then not asked again, and all else goes on on a new thread.
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
  // While it lives, `watch` sees the calls of the thread that made it.
  class Here {
   public:
    explicit Here(CallWatch& watch);
    ~Here();
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
  };

  // A call has the name of what it is about: "/sys/class/net/eth0/mtu", "eth0/ethtool driver".
  // Calls that are called so fail with DEADLINE_EXCEEDED instead of being made; of a name that ends
  // in a slash, all that begin with it.
  void Avoid(std::vector<std::string> names) EXCLUDES(mutex_);
  void AvoidAll() EXCLUDES(mutex_);  // From now on

  struct Progress {
    std::uint64_t steps = 0;  // Calls begun and ended
    std::string call;         // Being made; empty between two
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

// One call, for as long as it lives. Free of cost on a thread that nobody watches.
class WatchedCall {
 public:
  // `name()` is called only when somebody watches.
  template <class Name>
  explicit WatchedCall(const Name& name) : watch_(OfThisThread()) {
    if (watch_ != nullptr) status_ = watch_->Enter(name());
  }
  ~WatchedCall() {
    if (watch_ != nullptr) watch_->Leave();
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  const Status& status() const { return status_; }  // A failure: it is not to be made.

 private:
  static CallWatch* OfThisThread();

  CallWatch* const watch_;
  Status status_;
};

// What begins the names of all calls about the same device, with a slash at the end:
// "/sys/class/net/eth0/" of "/sys/class/net/eth0/mtu", "eth0/" of "eth0/ethtool driver". Of files
// that are no device's, their directory.
std::string DeviceOfCall(std::string_view name);

}  // namespace fabric::host
