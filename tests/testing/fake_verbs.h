// Verbs in memory: queue pairs of one FakeFabric move each other's memory at once, and datagrams
// with a delay of the fabric's own clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/host/verbs/verbs.h"
#include "base/mutex.h"

namespace fabric::testing {

class FakeQueuePairs;
class FakeDatagrams;

// All that tests can make go wrong. Safe to use from any thread.
class FakeFabric {
 public:
  // From now on requests to `device` are dropped: no completion, no data.
  void Silence(const std::string& device);
  // From now on requests towards `device` end with this error.
  void Break(const std::string& device, const std::string& error);
  // `device` carries out each atomic request twice.
  void RepeatAtomics(const std::string& device);
  // From now on queue pairs of `device` cannot be opened, or not be connected.
  void RefuseOpen(const std::string& device, const Status& why);
  void RefuseConnect(const std::string& device, const Status& why);
  // GID that `device` reports instead of its own.
  void SetGid(const std::string& device, const std::string& gid);
  // Active MTU that it reports. Default: 4096.
  void SetActiveMtu(const std::string& device, std::uint32_t bytes);
  // From now on memory of GPUs cannot be registered with `device`: through dma-buf, or else.
  void RefuseRegister(const std::string& device, bool dma_buf, const Status& why);
  // From now on requests towards that registered region of `device` end with this error.
  void BreakRegion(const std::string& device, std::uint32_t region, const std::string& error);
  // Larger packets towards `device` do not arrive: requests fail as without an answer.
  void CutPackets(const std::string& device, std::uint32_t bytes);
  // Datagrams towards `device` with this flow label are lost; 0: those whose driver chose it.
  void LoseFlow(const std::string& device, std::uint32_t flow_label);
  // Each n-th datagram towards `device` is lost.
  void LoseEvery(const std::string& device, std::uint32_t nth);
  // One-way delay of datagrams. Default: 2 us.
  void SetDelay(Duration one_way);
  // Whether datagrams have time stamps of an adapter, and flow labels. Default: true.
  void SetHardwareClock(bool hardware);
  void SetFlowLabels(bool honoured);

  // What `device` sends from now on arrives, but has not left until it is not held back any more.
  void HoldLeaving(const std::string& device, bool hold);
  // Whether a completion channel of `device` would wake a waiting thread.
  bool HasEvent(const std::string& device);

  std::size_t open_queue_pairs();
  // With what the last queue pair of `device` was connected.
  host::ConnectionSettings settings(const std::string& device);

 private:
  friend class FakeQueuePairs;
  friend class FakeDatagrams;
  friend class FakeVerbs;

  struct Place {
    FakeQueuePairs* owner;
    std::uint32_t number;  // Within the owner
  };

  host::Endpoint EndpointOf(const host::PortOptions& at, std::uint32_t queue_pairs)
      REQUIRES(mutex_);

  Mutex mutex_;
  std::uint32_t next_number_ GUARDED_BY(mutex_) = 17;
  std::map<std::uint32_t, Place> pairs_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, FakeDatagrams*> datagrams_ GUARDED_BY(mutex_);
  std::set<std::string> silent_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> broken_ GUARDED_BY(mutex_);
  std::map<std::string, Status> refuse_open_ GUARDED_BY(mutex_);
  std::set<std::string> repeat_atomics_ GUARDED_BY(mutex_);
  std::map<std::string, Status> refuse_connect_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, bool>, Status> refuse_register_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::uint32_t>, std::string> broken_regions_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> gids_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t> active_mtus_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t> packets_max_ GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::uint32_t>> lost_flows_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t> lose_every_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint32_t> towards_ GUARDED_BY(mutex_);  // Datagrams until now
  std::set<std::string> held_ GUARDED_BY(mutex_);
  std::map<std::string, host::ConnectionSettings> settings_ GUARDED_BY(mutex_);
  Duration one_way_ GUARDED_BY(mutex_) = std::chrono::microseconds(2);
  std::uint64_t now_ns_ GUARDED_BY(mutex_) = 1000;  // Moves with each datagram
  bool hardware_clock_ GUARDED_BY(mutex_) = true;
  bool flow_labels_ GUARDED_BY(mutex_) = true;
};

inline constexpr std::string_view kFakeGid = "0000:0000:0000:0000:0000:ffff:0a0a:0001";

class FakeVerbs final : public host::Verbs {
 public:
  explicit FakeVerbs(FakeFabric& fabric) : fabric_(fabric) {}
  Result<host::VerbsPort> QueryPort(const std::string& device, std::uint32_t port) override;
  Result<host::VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) override;
  Result<std::unique_ptr<host::RcQueuePairs>> OpenRc(const host::RcOptions& options) override;
  Result<std::unique_ptr<host::UdQueuePairs>> OpenUd(const host::UdOptions& options) override;
  Result<bool> TakesDmaBuf(const std::string& device) override;  // Always false

 private:
  FakeFabric& fabric_;
};

}  // namespace fabric::testing
