#include "agents/subnet/subnet_thread.h"

#include <algorithm>
#include <utility>

namespace fabric::agent {

SubnetThread::SubnetThread(SubnetThreadOptions options, const Clock& clock,
                           std::function<void(const v1::AgentMessage&)> send)
    : options_(std::move(options)),
      clock_(clock),
      send_(std::move(send)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

SubnetThread::~SubnetThread() {
  thread_.request_stop();
  SetOrder({});
}

void SubnetThread::SetOrder(const v1::SubnetOrder& order) {
  const MutexLock lock(mutex_);
  order_ = order;
  order_ends_.request_stop();
  order_ends_ = std::stop_source();
  changed_.notify_all();
}

void SubnetThread::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    v1::SubnetOrder order;
    std::stop_token ends;
    {
      MutexLock lock(mutex_);
      changed_.wait(lock, stop, [this]() REQUIRES(mutex_) { return !order_.device().empty(); });
      order = order_;
      ends = order_ends_.get_token();
    }
    if (!order.device().empty() && !stop.stop_requested()) Follow(order, ends);
  }
}

Result<v1::SubnetSnapshot> SubnetThread::ReadNext(Reading& reading, const v1::SubnetOrder& order,
                                                  const std::stop_token& stop) const {
  std::uint64_t m_key = 0;
  if (options_.m_key) {
    ASSIGN_OR_RETURN(m_key, options_.m_key());
  }
  if (!reading.watch || reading.m_key != m_key) {
    reading.m_key = m_key;
    reading.watch.emplace(clock_, ReaderOptions{.window = options_.window, .m_key = m_key});
  }
  ASSIGN_OR_RETURN(const auto transport, options_.open(order.device(), order.port()));
  return reading.watch->Read(*transport, stop);
}

// Reads the subnet once, and sends what changed since `reading.sent`.
Status SubnetThread::ReadAndSend(Reading& reading, const v1::SubnetOrder& order,
                                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const v1::SubnetSnapshot snapshot, ReadNext(reading, order, stop));
  std::string encoded = snapshot.SerializeAsString();
  // The first one is the largest, and its reading takes long already.
  const auto effort = reading.sent.empty() ? subnet::Effort::kSmall : subnet::Effort::kFast;
  ASSIGN_OR_RETURN(const subnet::Frame frame, subnet::Compress(encoded, reading.sent, effort));
  Send(order, frame, stop);
  reading.sent = std::move(encoded);
  return {};
}

void SubnetThread::Follow(const v1::SubnetOrder& order, const std::stop_token& stop) {
  const Duration interval = std::clamp<Duration>(std::chrono::milliseconds(order.interval_ms()),
                                                 kIntervalMin, kIntervalMax);
  Reading reading;
  while (!stop.stop_requested()) {
    const SteadyTime begun = clock_.Now().steady;
    const Status done = ReadAndSend(reading, order, stop);
    if (stop.stop_requested()) return;
    if (!done.ok()) {
      v1::SubnetPart part;
      part.set_error(done.message());
      Send(order, std::move(part));
    }
    Wait(reading, order, begun + interval, stop);
  }
}

void SubnetThread::Wait(Reading& reading, const v1::SubnetOrder& order, SteadyTime until,
                        const std::stop_token& stop) {
  const bool was_early = std::exchange(reading.early, false);
  while (!stop.stop_requested()) {
    const Duration left = until - clock_.Now().steady;
    Pause(std::min(left, kLookInterval), stop);
    if (left <= kLookInterval || stop.stop_requested()) return;
    if (!reading.watch) continue;
    const auto transport = options_.open(order.device(), order.port());
    if (!transport.ok()) continue;  // The next reading reports it.
    const Result<SubnetWatch::Seen> seen = reading.watch->Look(**transport, stop);
    if (!seen.ok() || *seen == SubnetWatch::Seen::kManager) return;
    reading.early = *seen == SubnetWatch::Seen::kSwitch && !was_early;
    if (reading.early) return;
  }
}

void SubnetThread::Send(const v1::SubnetOrder& order, const subnet::Frame& frame,
                        const std::stop_token& stop) {
  for (std::uint32_t i = 0; i < subnet::PartsOf(frame) && !stop.stop_requested(); ++i) {
    if (i > 0) Pause(kBetweenParts, stop);
    Send(order, subnet::PartOf(frame, i));
  }
}

void SubnetThread::Send(const v1::SubnetOrder& order, v1::SubnetPart part) {
  part.set_device(order.device());
  part.set_port(order.port());
  v1::AgentMessage message;
  *message.mutable_subnet_part() = std::move(part);
  send_(message);
}

void SubnetThread::Pause(Duration duration, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  changed_.wait_for(lock, stop, duration, [&] { return stop.stop_requested(); });
}

}  // namespace fabric::agent
