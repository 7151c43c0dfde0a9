#include "agents/subnet/subnet_thread.h"

#include <algorithm>
#include <utility>

#include "agents/subnet/subnet_watch.h"
#include "subnet/wire/snapshot_parts.h"

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

Result<v1::SubnetSnapshot> SubnetThread::ReadNext(SubnetWatch& watch, const v1::SubnetOrder& order,
                                                  const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto transport, options_.open(order.device(), order.port()));
  return watch.Read(*transport, stop);
}

void SubnetThread::Follow(const v1::SubnetOrder& order, const std::stop_token& stop) {
  const Duration interval = std::clamp<Duration>(std::chrono::milliseconds(order.interval_ms()),
                                                 kIntervalMin, kIntervalMax);
  ReaderOptions reading{.window = options_.window};
  std::optional<SubnetWatch> watch;
  std::string sent;  // The snapshot that the controller has
  while (!stop.stop_requested()) {
    const SteadyTime begun = clock_.Now().steady;
    Result<v1::SubnetSnapshot> snapshot = Status();
    const auto key = options_.m_key ? options_.m_key() : Result<std::uint64_t>(0);
    if (!key.ok()) {
      snapshot = key.status();
    } else {
      if (!watch || reading.m_key != *key) {
        reading.m_key = *key;
        watch.emplace(clock_, reading);
      }
      snapshot = ReadNext(*watch, order, stop);
    }
    if (stop.stop_requested()) return;
    Status failed = snapshot.status();
    if (failed.ok()) {
      std::string encoded = snapshot->SerializeAsString();
      if (const auto frame = subnet::Compress(encoded, sent); frame.ok()) {
        Send(order, *frame, stop);
        sent = std::move(encoded);
      } else {
        failed = frame.status();
      }
    }
    if (!failed.ok()) {
      v1::SubnetPart part;
      part.set_error(failed.message());
      Send(order, std::move(part));
    }
    Pause(begun + interval - clock_.Now().steady, stop);
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
