// Verbs in memory: queue pairs of one FakeFabric write into each other's memory at once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agents/host/verbs.h"
#include "base/mutex.h"

namespace fabric::testing {

class FakeQueuePair;

// All that tests can make go wrong. Safe to use from any thread.
class FakeFabric {
 public:
  // From now on writes to `device` are swallowed: no completion, nothing arrives.
  void Silence(const std::string& device);
  // From now on writes to `device` end with this error.
  void Break(const std::string& device, const std::string& error);
  // From now on queue pairs of `device` cannot be opened, or not be connected.
  void RefuseOpen(const std::string& device, const Status& why);
  void RefuseConnect(const std::string& device, const Status& why);
  // What OpenRc is told about `device` instead of the GID that it was made with.
  void SetGid(const std::string& device, const std::string& gid);

  std::size_t open_queue_pairs();

 private:
  friend class FakeQueuePair;
  friend class FakeVerbs;

  Mutex mutex_;
  std::uint32_t next_number_ GUARDED_BY(mutex_) = 17;
  std::map<std::uint32_t, FakeQueuePair*> pairs_ GUARDED_BY(mutex_);
  std::set<std::string> silent_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> broken_ GUARDED_BY(mutex_);
  std::map<std::string, Status> refuse_open_ GUARDED_BY(mutex_);
  std::map<std::string, Status> refuse_connect_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> gids_ GUARDED_BY(mutex_);
};

inline constexpr std::string_view kFakeGid = "0000:0000:0000:0000:0000:ffff:0a0a:0001";

class FakeVerbs final : public host::Verbs {
 public:
  explicit FakeVerbs(FakeFabric& fabric) : fabric_(fabric) {}
  Result<host::VerbsPort> QueryPort(const std::string& device, std::uint32_t port) override;
  Result<host::VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) override;
  Result<std::unique_ptr<host::RcQueuePair>> OpenRc(const host::RcOptions& options) override;
  Result<bool> TakesDmaBuf(const std::string& device) override;  // Always false

 private:
  FakeFabric& fabric_;
};

}  // namespace fabric::testing
