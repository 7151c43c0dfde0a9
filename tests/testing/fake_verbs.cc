#include "tests/testing/fake_verbs.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/text.h"
#include "tests/testing/fake_datagrams.h"

namespace fabric::testing {
namespace {

constexpr std::string_view kNobodyAnswers = "transport retry counter exceeded (12)";

}  // namespace

class FakeQueuePairs final : public host::RcQueuePairs {
 public:
  FakeQueuePairs(FakeFabric& fabric, host::RcOptions options, host::Endpoint local)
      : fabric_(fabric),
        options_(std::move(options)),
        local_(std::move(local)),
        pairs_(options_.queue_pairs),
        memory_(options_.memory_bytes) {}
  ~FakeQueuePairs() override {
    MutexLock lock(fabric_.mutex_);
    for (const auto& pair : local_.queue_pairs) fabric_.pairs_.erase(pair.number);
  }

  host::Endpoint local() const override { return local_; }
  std::span<std::byte> memory() override { return memory_; }

  Status Connect(std::uint32_t pair, const host::Endpoint& remote,
                 const host::ConnectionSettings& settings) override {
    MutexLock lock(fabric_.mutex_);
    if (const auto found = fabric_.refuse_connect_.find(options_.at.device);
        found != fabric_.refuse_connect_.end())
      return found->second;
    if (pair >= remote.queue_pairs.size())
      return {Code::kFailedPrecondition, "the partner has too few queue pairs"};
    pairs_.at(pair).remote = remote.queue_pairs[pair].number;
    pairs_.at(pair).packet_bytes = settings.path_mtu_bytes;
    fabric_.settings_[options_.at.device] = settings;
    return {};
  }

  // Its key is the region's number; addresses are this process's own.
  Result<host::RegisteredMemory> Register(const host::DeviceMemory& memory) override {
    MutexLock lock(fabric_.mutex_);
    if (const auto found = fabric_.refuse_register_.find({options_.at.device, memory.dma_buf >= 0});
        found != fabric_.refuse_register_.end())
      return found->second;
    const auto number = static_cast<std::uint32_t>(regions_.size() + 1);
    regions_[number] = {reinterpret_cast<std::byte*>(memory.address), memory.bytes};
    return host::RegisteredMemory{.region = number, .address = memory.address, .key = number};
  }
  void Unregister(std::uint32_t region) override {
    MutexLock lock(fabric_.mutex_);
    regions_.erase(region);
  }

  Status Post(const host::WorkRequest& request) override {
    MutexLock lock(fabric_.mutex_);
    if (request.region != 0) return PostOfRegion(request);
    if (std::size_t{request.offset} + request.bytes > memory_.size())
      return {Code::kInvalidArgument, "request beyond the memory"};
    Pair& pair = pairs_.at(request.queue_pair);
    if (request.operation == host::Operation::kReceive) return PostReceive(pair, request);
    if (pair.outstanding.size() >= options_.send_queue_depth)
      return {Code::kResourceExhausted, "more requests than the send queue holds"};
    pair.outstanding.push_back(request.id);
    if (pair.waiting.empty()) return Deliver(*this, pair, request);
    pair.waiting.push_back(request);  // Behind a send that waits for a receive.
    return {};
  }

  Result<std::size_t> Poll(std::span<host::Completion> completions) override {
    MutexLock lock(fabric_.mutex_);
    const std::size_t count = std::min(completions.size(), completions_.size());
    for (std::size_t i = 0; i < count; ++i) {
      completions[i] = completions_.front();
      completions_.pop_front();
      if (completions[i].received) continue;
      // A completion tells of all requests before it.
      auto& outstanding = pairs_.at(completions[i].queue_pair).outstanding;
      const auto last =
          std::find(outstanding.begin(), outstanding.end(), completions[i].work_request_id);
      outstanding.erase(outstanding.begin(), last + 1);
    }
    return count;
  }

 private:
  struct Pair {
    std::uint32_t remote = 0;
    std::uint32_t packet_bytes = 0;
    std::deque<std::uint64_t> outstanding;  // Ids of what was posted and not polled
    std::deque<host::WorkRequest> receives;
    std::deque<host::WorkRequest> waiting;  // Sends for which the peer has no receive yet
  };

  Status PostReceive(Pair& pair, const host::WorkRequest& request) REQUIRES(fabric_.mutex_) {
    if (pair.receives.size() >= options_.receive_queue_depth)
      return {Code::kResourceExhausted, "more receives than the receive queue holds"};
    pair.receives.push_back(request);
    const auto peer = fabric_.pairs_.find(pair.remote);
    if (peer == fabric_.pairs_.end()) return {};
    Pair& sender = peer->second.owner->pairs_.at(peer->second.number);
    if (sender.waiting.empty()) return {};
    // All that can go goes; a send that still waits is put back by Deliver().
    std::deque<host::WorkRequest> waiting;
    waiting.swap(sender.waiting);
    for (const host::WorkRequest& send : waiting) {
      if (sender.waiting.empty())
        RETURN_IF_ERROR(Deliver(*peer->second.owner, sender, send));
      else
        sender.waiting.push_back(send);
    }
    return {};
  }

  // A write from one region to another one of the peer.
  Status PostOfRegion(const host::WorkRequest& request) REQUIRES(fabric_.mutex_) {
    Pair& pair = pairs_.at(request.queue_pair);
    if (pair.outstanding.size() >= options_.send_queue_depth)
      return {Code::kResourceExhausted, "more requests than the send queue holds"};
    pair.outstanding.push_back(request.id);
    const auto own = regions_.find(request.region);
    const auto found = fabric_.pairs_.find(pair.remote);
    if (found == fabric_.pairs_.end()) return Complete(request, std::string(kNobodyAnswers));
    FakeQueuePairs& peer = *found->second.owner;
    const auto there = peer.regions_.find(request.remote ? request.remote->key : 0);
    if (const auto broken = fabric_.broken_regions_.find(
            {peer.options_.at.device, request.remote ? request.remote->key : 0});
        broken != fabric_.broken_regions_.end())
      return Complete(request, broken->second);
    if (own == regions_.end() || request.bytes > own->second.size())
      return Complete(request, "local protection error (4)");
    if (there == peer.regions_.end() || request.bytes > there->second.size() ||
        reinterpret_cast<std::uint64_t>(there->second.data()) != request.remote->address)
      return Complete(request, "remote access error (10)");
    std::copy_n(own->second.begin(), request.bytes, there->second.begin());
    return Complete(request, "");
  }

  // A request of `pair`, which is one of `from`, to its peer.
  Status Deliver(FakeQueuePairs& from, Pair& pair, const host::WorkRequest& request)
      REQUIRES(fabric_.mutex_) {
    const auto found = fabric_.pairs_.find(pair.remote);
    if (found == fabric_.pairs_.end()) return from.Complete(request, std::string(kNobodyAnswers));
    FakeQueuePairs& peer = *found->second.owner;
    const std::string& device = peer.options_.at.device;
    if (fabric_.silent_.contains(device)) return {};
    if (const auto broken = fabric_.broken_.find(device); broken != fabric_.broken_.end())
      return from.Complete(request, broken->second);
    // The answer to a read comes back this way.
    const std::string& towards =
        request.operation == host::Operation::kRead ? from.options_.at.device : device;
    if (request.operation == host::Operation::kFetchAdd ||
        request.operation == host::Operation::kCompareSwap) {
      if (!from.options_.atomics || !peer.options_.atomics)
        return from.Complete(request, "remote access error (10)");
      Change(request, from.memory_, peer.memory_, fabric_.repeat_atomics_.contains(device));
      return from.Complete(request, "");
    }
    if (const auto cut = fabric_.packets_max_.find(towards);
        cut != fabric_.packets_max_.end() &&
        std::min(pair.packet_bytes, request.bytes) > cut->second)
      return from.Complete(request, std::string(kNobodyAnswers));
    if (request.operation == host::Operation::kSend) {
      Pair& receiver = peer.pairs_.at(found->second.number);
      if (receiver.receives.empty()) {
        pair.waiting.push_back(request);
        return {};
      }
      const host::WorkRequest receive = receiver.receives.front();
      receiver.receives.pop_front();
      Copy(from.memory_, request.offset, peer.memory_, receive.offset, request.bytes);
      peer.completions_.push_back(
          {.work_request_id = receive.id, .queue_pair = found->second.number, .received = true});
    } else if (request.operation == host::Operation::kWrite) {
      Copy(from.memory_, request.offset, peer.memory_, request.offset, request.bytes);
    } else {
      Copy(peer.memory_, request.offset, from.memory_, request.offset, request.bytes);
    }
    return from.Complete(request, "");
  }

  Status Complete(const host::WorkRequest& request, std::string error) {
    // "remote access error (10)"
    const auto number = error.find('(');
    const int status = number == std::string::npos ? 0 : std::stoi(error.substr(number + 1));
    if (request.signaled || !error.empty())
      completions_.push_back({.work_request_id = request.id,
                              .queue_pair = request.queue_pair,
                              .ok = error.empty(),
                              .error = std::move(error),
                              .failed_by = host::FailedByOf(status)});
    return {};
  }

  // `repeat`: a responder that carries out a request twice.
  static void Change(const host::WorkRequest& request, std::vector<std::byte>& own,
                     std::vector<std::byte>& remote, bool repeat) {
    for (int times = repeat ? 2 : 1; times > 0; --times) {
      std::uint64_t value = 0;
      std::memcpy(&value, remote.data() + request.offset, sizeof value);
      std::memcpy(own.data() + request.offset, &value, sizeof value);
      if (request.operation == host::Operation::kFetchAdd)
        value += request.operand;
      else if (value == request.compare)
        value = request.operand;
      std::memcpy(remote.data() + request.offset, &value, sizeof value);
    }
  }

  static void Copy(std::vector<std::byte>& from, std::uint32_t at, std::vector<std::byte>& to,
                   std::uint32_t there, std::uint32_t bytes) {
    for (std::uint32_t n = 0; n < bytes; ++n)
      std::atomic_ref(to[there + n])
          .store(std::atomic_ref(from[at + n]).load(std::memory_order_relaxed),
                 std::memory_order_release);
  }

  FakeFabric& fabric_;
  const host::RcOptions options_;
  const host::Endpoint local_;
  std::vector<Pair> pairs_;
  std::vector<std::byte> memory_;
  std::map<std::uint32_t, std::span<std::byte>> regions_;
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
void FakeFabric::RepeatAtomics(const std::string& device) {
  MutexLock lock(mutex_);
  repeat_atomics_.insert(device);
}
void FakeFabric::RefuseOpen(const std::string& device, const Status& why) {
  MutexLock lock(mutex_);
  refuse_open_[device] = why;
}
void FakeFabric::RefuseRegister(const std::string& device, bool dma_buf, const Status& why) {
  MutexLock lock(mutex_);
  refuse_register_[{device, dma_buf}] = why;
}
void FakeFabric::BreakRegion(const std::string& device, std::uint32_t region,
                             const std::string& error) {
  MutexLock lock(mutex_);
  broken_regions_[{device, region}] = error;
}
void FakeFabric::RefuseConnect(const std::string& device, const Status& why) {
  MutexLock lock(mutex_);
  refuse_connect_[device] = why;
}
void FakeFabric::SetGid(const std::string& device, const std::string& gid) {
  MutexLock lock(mutex_);
  gids_[device] = gid;
}
void FakeFabric::SetActiveMtu(const std::string& device, std::uint32_t bytes) {
  MutexLock lock(mutex_);
  active_mtus_[device] = bytes;
}
void FakeFabric::CutPackets(const std::string& device, std::uint32_t bytes) {
  MutexLock lock(mutex_);
  packets_max_[device] = bytes;
}
void FakeFabric::LoseFlow(const std::string& device, std::uint32_t flow_label) {
  MutexLock lock(mutex_);
  lost_flows_.insert({device, flow_label});
}
void FakeFabric::LoseEvery(const std::string& device, std::uint32_t nth) {
  MutexLock lock(mutex_);
  lose_every_[device] = nth;
}
void FakeFabric::HoldLeaving(const std::string& device, bool hold) {
  MutexLock lock(mutex_);
  if (hold)
    held_.insert(device);
  else
    held_.erase(device);
  for (const auto& [number, datagrams] : datagrams_)
    if (!hold && datagrams->device() == device) datagrams->LetLeave();
}
bool FakeFabric::HasEvent(const std::string& device) {
  MutexLock lock(mutex_);
  return std::any_of(datagrams_.begin(), datagrams_.end(), [&](const auto& known) {
    return known.second->device() == device && known.second->has_event();
  });
}
void FakeFabric::SetDelay(Duration one_way) {
  MutexLock lock(mutex_);
  one_way_ = one_way;
}
void FakeFabric::SetHardwareClock(bool hardware) {
  MutexLock lock(mutex_);
  hardware_clock_ = hardware;
}
void FakeFabric::SetFlowLabels(bool honoured) {
  MutexLock lock(mutex_);
  flow_labels_ = honoured;
}
std::size_t FakeFabric::open_queue_pairs() {
  MutexLock lock(mutex_);
  return pairs_.size() + datagrams_.size();
}
host::ConnectionSettings FakeFabric::settings(const std::string& device) {
  MutexLock lock(mutex_);
  return settings_[device];
}

host::Endpoint FakeFabric::EndpointOf(const host::PortOptions& at, std::uint32_t queue_pairs) {
  const auto gid = gids_.find(at.device);
  const auto mtu = active_mtus_.find(at.device);
  host::Endpoint local{.gid = gid == gids_.end() ? std::string(kFakeGid) : gid->second,
                       .gid_index = at.gid_index,
                       .active_mtu_bytes = mtu == active_mtus_.end() ? 4096 : mtu->second};
  for (std::uint32_t n = 0; n < queue_pairs; ++n)
    local.queue_pairs.push_back({.number = next_number_++, .packet_sequence_number = n});
  return local;
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

Result<std::unique_ptr<host::RcQueuePairs>> FakeVerbs::OpenRc(const host::RcOptions& options) {
  MutexLock lock(fabric_.mutex_);
  if (const auto found = fabric_.refuse_open_.find(options.at.device);
      found != fabric_.refuse_open_.end())
    return found->second;
  host::Endpoint local = fabric_.EndpointOf(options.at, options.queue_pairs);
  local.memory_bytes = options.memory_bytes;
  local.outstanding_reads = 16;
  auto pairs = std::make_unique<FakeQueuePairs>(fabric_, options, local);
  for (std::uint32_t n = 0; n < options.queue_pairs; ++n)
    fabric_.pairs_[local.queue_pairs[n].number] = {.owner = pairs.get(), .number = n};
  return std::unique_ptr<host::RcQueuePairs>(std::move(pairs));
}

Result<std::unique_ptr<host::UdQueuePairs>> FakeVerbs::OpenUd(const host::UdOptions& options) {
  MutexLock lock(fabric_.mutex_);
  if (const auto found = fabric_.refuse_open_.find(options.at.device);
      found != fabric_.refuse_open_.end())
    return found->second;
  const bool pair_per_flow = options.flows > 1 && !fabric_.flow_labels_;
  host::Endpoint local = fabric_.EndpointOf(options.at, pair_per_flow ? options.flows : 1);
  local.queue_key = 0x1000 + local.queue_pairs.front().number;
  auto pairs = std::make_unique<FakeDatagrams>(fabric_, options, local, pair_per_flow,
                                               fabric_.hardware_clock_);
  for (const auto& pair : local.queue_pairs) fabric_.datagrams_[pair.number] = pairs.get();
  return std::unique_ptr<host::UdQueuePairs>(std::move(pairs));
}

}  // namespace fabric::testing
