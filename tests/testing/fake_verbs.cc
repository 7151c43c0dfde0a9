#include "tests/testing/fake_verbs.h"

#include <algorithm>
#include <atomic>

namespace fabric::testing {

class FakeQueuePair final : public host::RcQueuePair {
 public:
  FakeQueuePair(FakeFabric& fabric, host::RcOptions options, host::RcEndpoint local)
      : fabric_(fabric),
        options_(std::move(options)),
        local_(std::move(local)),
        memory_(options_.memory_bytes) {}
  ~FakeQueuePair() override {
    MutexLock lock(fabric_.mutex_);
    fabric_.pairs_.erase(local_.queue_pair_number);
  }

  host::RcEndpoint local() const override { return local_; }
  std::span<std::byte> memory() override { return memory_; }

  Status Connect(const host::RcEndpoint& remote, std::uint32_t) override {
    MutexLock lock(fabric_.mutex_);
    if (const auto found = fabric_.refuse_connect_.find(options_.device);
        found != fabric_.refuse_connect_.end())
      return found->second;
    remote_ = remote.queue_pair_number;
    return {};
  }

  Status PostWrite(std::uint32_t offset, std::uint32_t bytes, std::uint64_t id,
                   bool signaled) override {
    MutexLock lock(fabric_.mutex_);
    if (std::size_t{offset} + bytes > memory_.size())
      return {Code::kInvalidArgument, "write beyond the memory"};
    if (outstanding_ >= options_.send_queue_depth)
      return {Code::kResourceExhausted, "more writes than the send queue holds"};
    ++outstanding_;
    const auto peer = fabric_.pairs_.find(remote_);
    const bool gone = peer == fabric_.pairs_.end();
    if (!gone && fabric_.silent_.contains(peer->second->options_.device)) return {};
    if (!gone) {
      if (const auto broken = fabric_.broken_.find(peer->second->options_.device);
          broken != fabric_.broken_.end()) {
        completions_.push_back({.work_request_id = id, .ok = false, .error = broken->second});
        return {};
      }
      for (std::uint32_t at = offset; at < offset + bytes; ++at)
        std::atomic_ref(peer->second->memory_[at]).store(memory_[at], std::memory_order_release);
    }
    if (gone)
      completions_.push_back(
          {.work_request_id = id, .ok = false, .error = "transport retry counter exceeded (12)"});
    else if (signaled)
      completions_.push_back({.work_request_id = id});
    return {};
  }

  Result<std::size_t> Poll(std::span<host::Completion> completions) override {
    MutexLock lock(fabric_.mutex_);
    const std::size_t count = std::min(completions.size(), completions_.size());
    for (std::size_t i = 0; i < count; ++i) {
      completions[i] = completions_.front();
      completions_.pop_front();
      // A completion tells of all writes before it.
      outstanding_ -= static_cast<std::uint32_t>(completions[i].work_request_id - retired_);
      retired_ = completions[i].work_request_id;
    }
    return count;
  }

 private:
  FakeFabric& fabric_;
  const host::RcOptions options_;
  const host::RcEndpoint local_;
  std::uint32_t remote_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint64_t retired_ = 0;
  std::vector<std::byte> memory_;
  std::deque<host::Completion> completions_;
};

void FakeFabric::Silence(const std::string& device) {
  MutexLock lock(mutex_);
  silent_.insert(device);
}
void FakeFabric::Break(const std::string& device, const std::string& error) {
  MutexLock lock(mutex_);
  broken_[device] = error;
}
void FakeFabric::RefuseOpen(const std::string& device, const Status& why) {
  MutexLock lock(mutex_);
  refuse_open_[device] = why;
}
void FakeFabric::RefuseConnect(const std::string& device, const Status& why) {
  MutexLock lock(mutex_);
  refuse_connect_[device] = why;
}
void FakeFabric::SetGid(const std::string& device, const std::string& gid) {
  MutexLock lock(mutex_);
  gids_[device] = gid;
}
std::size_t FakeFabric::open_queue_pairs() {
  MutexLock lock(mutex_);
  return pairs_.size();
}

Result<host::VerbsPort> FakeVerbs::QueryPort(const std::string&, std::uint32_t) {
  return host::VerbsPort{.active_mtu_bytes = 4096, .max_mtu_bytes = 4096};
}

Result<host::VerbsDevice> FakeVerbs::QueryDevice(const std::string&, std::uint32_t) {
  return Status(Code::kUnimplemented, "the fake has no GID tables");
}

Result<bool> FakeVerbs::TakesDmaBuf(const std::string&) {
  return false;
}

Result<std::unique_ptr<host::RcQueuePair>> FakeVerbs::OpenRc(const host::RcOptions& options) {
  MutexLock lock(fabric_.mutex_);
  if (const auto found = fabric_.refuse_open_.find(options.device);
      found != fabric_.refuse_open_.end())
    return found->second;
  const auto gid = fabric_.gids_.find(options.device);
  host::RcEndpoint local{.queue_pair_number = fabric_.next_number_++,
                         .gid = gid == fabric_.gids_.end() ? std::string(kFakeGid) : gid->second,
                         .gid_index = options.gid_index,
                         .active_mtu_bytes = 4096,
                         .memory_bytes = options.memory_bytes};
  auto pair = std::make_unique<FakeQueuePair>(fabric_, options, local);
  fabric_.pairs_[local.queue_pair_number] = pair.get();
  return std::unique_ptr<host::RcQueuePair>(std::move(pair));
}

}  // namespace fabric::testing
