// Counts what each peer uses, such as connections or watchers, against a total and a limit for one
// peer. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"

namespace fabric::api {

struct SlotLimits {
  std::size_t total = 0;
  std::size_t per_peer = 0;  // One address with all of its ports
};

class PeerSlots;

// Gives its place back when it is destroyed.
class PeerSlot {
 public:
  PeerSlot(PeerSlots& slots, std::string host) : slots_(&slots), host_(std::move(host)) {}
  ~PeerSlot();
  PeerSlot(PeerSlot&& other) noexcept;
  PeerSlot& operator=(PeerSlot&&) = delete;

 private:
  PeerSlots* slots_;
  std::string host_;
};

class PeerSlots {
 public:
  // `what`: "event watchers"
  PeerSlots(std::string what, const SlotLimits& limits) : what_(std::move(what)), limits_(limits) {}

  // RESOURCE_EXHAUSTED with the limit that is reached. `peer`: see PeerHost.
  Result<PeerSlot> Take(std::string_view peer) EXCLUDES(mutex_);
  std::size_t used() const EXCLUDES(mutex_);

 private:
  friend class PeerSlot;
  void Give(const std::string& host) EXCLUDES(mutex_);

  const std::string what_;
  const SlotLimits limits_;
  mutable Mutex mutex_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::size_t> by_host_ GUARDED_BY(mutex_);
};

// The address without the port: "127.0.0.1" of "127.0.0.1:40112" and of gRPC's
// "ipv4:127.0.0.1:40112", "[::1]" of "ipv6:%5B::1%5D:40112".
std::string PeerHost(std::string_view peer);

}  // namespace fabric::api
