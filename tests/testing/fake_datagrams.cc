#include "tests/testing/fake_datagrams.h"

#include <algorithm>
#include <utility>

namespace fabric::testing {
namespace {

constexpr std::uint64_t kStepNs = 100;

}  // namespace

FakeDatagrams::FakeDatagrams(FakeFabric& fabric, host::UdOptions options, host::Endpoint local,
                             bool queue_pair_per_flow, bool hardware_clock)
    : fabric_(fabric),
      options_(std::move(options)),
      local_(std::move(local)),
      queue_pair_per_flow_(queue_pair_per_flow),
      hardware_clock_(hardware_clock) {}

FakeDatagrams::~FakeDatagrams() {
  MutexLock lock(fabric_.mutex_);
  for (const auto& pair : local_.queue_pairs) fabric_.datagrams_.erase(pair.number);
}

Result<std::uint32_t> FakeDatagrams::AddPath(const host::Endpoint& remote,
                                             const host::UdPath& path) {
  if (path.flow >= options_.flows) return Status(Code::kInvalidArgument, "no such flow");
  const std::size_t pair = path.flow % remote.queue_pairs.size();
  paths_.push_back({.remote_number = remote.queue_pairs[pair].number,
                    .remote_key = remote.queue_key,
                    .flow_label = path.flow_label});
  return static_cast<std::uint32_t>(paths_.size() - 1);
}

void FakeDatagrams::RemovePath(std::uint32_t path) {
  paths_.at(path).removed = true;
}

bool FakeDatagrams::Lost(const std::string& device, std::uint32_t flow_label) {
  if (fabric_.silent_.contains(device)) return true;
  if (fabric_.lost_flows_.contains({device, flow_label})) return true;
  const std::uint32_t number = ++fabric_.towards_[device];
  const auto every = fabric_.lose_every_.find(device);
  return every != fabric_.lose_every_.end() && number % every->second == 0;
}

Status FakeDatagrams::Send(std::uint32_t path, std::span<const std::byte> payload,
                           const host::UdSend& options) {
  MutexLock lock(fabric_.mutex_);
  if (payload.size() > options_.payload_bytes_max)
    return {Code::kInvalidArgument, "longer than was asked for"};
  if (sending_ == options_.sends_max)
    return {Code::kResourceExhausted, "more datagrams than the send queue holds"};
  ++sending_;
  fabric_.now_ns_ += kStepNs;
  Event leaving{.datagram = {.id = options.id, .ticks = fabric_.now_ns_}, .bytes = {}};
  const Path& way = paths_.at(path);
  if (way.removed) return {Code::kInternal, "the path was removed"};
  const auto found = fabric_.datagrams_.find(way.remote_number);
  FakeDatagrams* const peer = found == fabric_.datagrams_.end() ? nullptr : found->second;
  const auto broken = fabric_.broken_.find(peer == nullptr ? "" : peer->device());
  if (broken != fabric_.broken_.end()) {
    leaving.datagram.ok = false;
    leaving.datagram.error = broken->second;
  }
  const bool ok = leaving.datagram.ok;
  if (fabric_.held_.contains(device()))
    held_.push_back(std::move(leaving));
  else
    Add(std::move(leaving), false);
  if (!ok || peer == nullptr || way.remote_key != peer->local_.queue_key ||
      Lost(peer->device(), way.flow_label) || peer->arrivals_ == peer->options_.receives_max)
    return {};
  ++peer->arrivals_;
  const auto arrives = fabric_.now_ns_ + static_cast<std::uint64_t>(fabric_.one_way_.count());
  peer->Add(
      {.datagram = {.arrived = true, .ticks = arrives}, .bytes = {payload.begin(), payload.end()}},
      options.solicited);
  return {};
}

void FakeDatagrams::Add(Event event, bool solicited) {
  events_.push_back(std::move(event));
  if (!armed_ || (*armed_ == host::UdEvents::kSolicited && !solicited)) return;
  armed_.reset();
  event_ = true;
}

void FakeDatagrams::LetLeave() {
  for (Event& event : std::exchange(held_, {})) Add(std::move(event), false);
}

// As the driver's: of what is there already there is no event.
Status FakeDatagrams::Arm(host::UdEvents events) {
  MutexLock lock(fabric_.mutex_);
  event_ = false;
  if (armed_ != host::UdEvents::kAll) armed_ = events;
  return {};
}

Result<std::size_t> FakeDatagrams::Poll(std::span<host::Datagram> datagrams) {
  MutexLock lock(fabric_.mutex_);
  polled_.clear();
  while (polled_.size() < datagrams.size() && !events_.empty()) {
    polled_.push_back(std::move(events_.front()));
    events_.pop_front();
    host::Datagram& datagram = polled_.back().datagram;
    (datagram.arrived ? arrivals_ : sending_) -= 1;
    fabric_.now_ns_ = std::max(fabric_.now_ns_, datagram.ticks);
  }
  for (std::size_t n = 0; n < polled_.size(); ++n) {
    datagrams[n] = polled_[n].datagram;
    datagrams[n].payload = polled_[n].bytes;
  }
  return polled_.size();
}

}  // namespace fabric::testing
