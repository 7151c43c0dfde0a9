#include "agents/mesh/port.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agents/probe/port_choice.h"
#include "agents/probe/spec.h"
#include "base/text.h"

namespace fabric::mesh {
namespace {

using probe::PingMessage;

constexpr std::uint32_t kSends = 32;
constexpr std::uint32_t kReceives = 128;
constexpr std::uint32_t kAnswerWithinDefaultMs = 500;
// Both ends of a new target resolve each other's addresses during this time.
constexpr Duration kUncounted = std::chrono::seconds(2);
constexpr Duration kReopenAfter = std::chrono::seconds(5);
constexpr Duration kBackoffMin = std::chrono::seconds(1);
constexpr Duration kBackoffMax = std::chrono::seconds(60);
// A send completes within microseconds: this many polls cost less than a wake-up.
constexpr std::uint32_t kPollsForSendCompletion = 64;
constexpr std::uint64_t kPingId = std::uint64_t{1} << 63;  // Not in ids of PingResponder

// The address was not resolved: the path or the partner is down.
bool Unreachable(const Status& failure) {
  return failure.code() == Code::kDeadlineExceeded || failure.code() == Code::kUnavailable;
}

}  // namespace

class Port::OpenPairs final : public Job {
 public:
  OpenPairs(Port& port, const host::UdOptions& options) : port_(port), options_(options) {}
  void Run() override { opened_ = port_.environment_.verbs.OpenUd(options_); }
  void Finish(SteadyTime now) override { port_.OnOpened(std::move(opened_), now); }

 private:
  Port& port_;
  const host::UdOptions options_;
  Result<std::unique_ptr<host::UdQueuePairs>> opened_ = Status(Code::kUnavailable, "not tried yet");
};

class Port::ClosePairs final : public Job {
 public:
  ClosePairs(Port& port, std::unique_ptr<host::UdQueuePairs> pairs)
      : port_(port), pairs_(std::move(pairs)) {}
  void Run() override { pairs_.reset(); }
  void Finish(SteadyTime) override { port_.OnClosed(); }

 private:
  Port& port_;
  std::unique_ptr<host::UdQueuePairs> pairs_;
};

// Creates the address handles of all flows to one target, or none.
class Port::CreateAddressHandles final : public Job {
 public:
  CreateAddressHandles(Port& port, std::uint32_t serial, const Target& target)
      : port_(port),
        pairs_(*port.datagrams_),
        serial_(serial),
        remote_(probe::FromProto(target.order().endpoint())),
        traffic_class_(port.traffic_class_) {
    for (std::uint32_t flow = 0; flow < target.flows(); ++flow)
      labels_.push_back(target.LabelOf(flow));
  }

  void Run() override {
    std::vector<std::uint32_t> paths;
    for (std::uint32_t flow = 0; flow < labels_.size(); ++flow) {
      const auto path = pairs_.AddPath(remote_, {.flow = flow % kSoftwareFlows,
                                                 .flow_label = labels_[flow],
                                                 .traffic_class = traffic_class_});
      if (!path.ok()) {
        for (const std::uint32_t created : paths) pairs_.RemovePath(created);
        created_ = path.status();
        return;
      }
      paths.push_back(*path);
    }
    created_ = std::move(paths);
  }
  void Finish(SteadyTime now) override { port_.OnCreated(serial_, std::move(created_), now); }

 private:
  Port& port_;
  host::UdQueuePairs& pairs_;
  const std::uint32_t serial_;
  const host::Endpoint remote_;
  const std::uint32_t traffic_class_;
  std::vector<std::uint32_t> labels_;
  Result<std::vector<std::uint32_t>> created_ = Status(Code::kUnavailable, "not tried yet");
};

void Port::Start(std::unique_ptr<Job> job) {
  ++jobs_;
  environment_.worker.Start(std::move(job), false);
}

void Port::SetOrder(const v1::MeshPortAssignment& order, const v1::MeshAssignment& whole,
                    SteadyTime now) {
  const auto within = std::chrono::milliseconds(
      whole.answer_within_ms() == 0 ? kAnswerWithinDefaultMs : whole.answer_within_ms());
  if (whole.traffic_class() != traffic_class_ || within != answer_within_ ||
      whole.queue_pair().SerializeAsString() != settings_.SerializeAsString()) {
    Close(Status(Code::kUnavailable, "reopening: the order has other settings"));
    retry_at_ = now;
  }
  traffic_class_ = whole.traffic_class();
  settings_ = whole.queue_pair();
  answer_within_ = within;
  ordered_.assign(order.targets().begin(), order.targets().end());
  if (!open()) return;  // OnOpened() adds them.

  std::vector<v1::MeshTarget> added = ordered_;
  for (auto at = targets_.begin(); at != targets_.end();) {
    const std::string known = at->second.target->order().SerializeAsString();
    const auto kept = std::find_if(added.begin(), added.end(), [&](const v1::MeshTarget& one) {
      return one.SerializeAsString() == known;
    });
    if (kept != added.end()) {
      added.erase(kept);
      ++at;
      continue;
    }
    RemovePaths(at->second.paths);
    at = targets_.erase(at);
  }
  for (const v1::MeshTarget& one : added) AddTarget(one, now);
  FillRotation();
}

void Port::AddTarget(const v1::MeshTarget& order, SteadyTime now) {
  host::UdQueuePairs* const pairs = datagrams_.get();
  targets_[next_serial_++].target = std::make_unique<Target>(
      order, Target::Options{.answer_within = answer_within_,
                             .counted_from = now + kUncounted,
                             .hardware_clock = pairs->hardware_clock(),
                             .elapsed = [pairs](std::uint64_t from, std::uint64_t to) {
                               return pairs->Elapsed(from, to);
                             }});
}

// One flow of each target, then the next flow: consecutive pings go to different targets.
void Port::FillRotation() {
  rotation_.clear();
  std::uint32_t most = 0;
  for (const auto& [serial, state] : targets_) most = std::max(most, state.target->flows());
  for (std::uint32_t flow = 0; flow < most; ++flow)
    for (const auto& [serial, state] : targets_)
      if (flow < state.target->flows()) rotation_.push_back({.serial = serial, .flow = flow});
  if (next_slot_ >= rotation_.size()) next_slot_ = 0;
}

void Port::RemovePaths(const std::vector<std::uint32_t>& paths) {
  for (const std::uint32_t path : paths) datagrams_->RemovePath(path);
}

void Port::Retire() {
  retired_ = true;
  Close(Status(Code::kUnavailable, "no longer part of the mesh"));
}

void Port::Close(const Status& why) {
  closed_because_ = why;
  if (!open()) return;
  state_ = State::kClosing;
  targets_.clear();
  rotation_.clear();
  FinishClosing();
}

void Port::FinishClosing() {
  const bool started = datagrams_ == nullptr;
  if (state_ != State::kClosing || started || jobs_ > 0 || responder_->jobs() > 0) return;
  responder_.reset();
  Start(std::make_unique<ClosePairs>(*this, std::move(datagrams_)));
}

void Port::OnClosed() {
  --jobs_;
  state_ = State::kClosed;
}

void Port::Check(SteadyTime now) {
  FinishClosing();
  if (retired_) return;
  const std::optional<v1::RdmaDevice> device = environment_.find_device(at_.device());
  Result<probe::PortAddress> address =
      device ? probe::ChooseAddress(*device, at_.port(), probe::GidIndexOf(settings_))
             : Status(Code::kNotFound, Format("{}: no such RDMA device", at_.device()));
  if (!address.ok()) return Close(address.status());
  if (open() &&
      (address->gid_index != address_.gid_index || datagrams_->local().gid != address->gid)) {
    Close(Status(Code::kUnavailable,
                 Format("{}/{}: the GID of the port has changed", at_.device(), at_.port())));
    retry_at_ = now;
  }
  if (state_ != State::kClosed || now < retry_at_) return;
  state_ = State::kOpening;
  address_ = *std::move(address);
  Start(std::make_unique<OpenPairs>(
      *this, host::UdOptions{.at = probe::PortOptionsOf(at_, address_.gid_index, settings_),
                             .flows = kSoftwareFlows,
                             .payload_bytes_max = probe::kPingWithReplyAddressBytes,
                             .sends_max = kSends,
                             .receives_max = kReceives,
                             .events = true}));
}

void Port::OnOpened(Result<std::unique_ptr<host::UdQueuePairs>> opened, SteadyTime now) {
  --jobs_;
  retry_at_ = now + kReopenAfter;
  if (!opened.ok()) {
    state_ = State::kClosed;
    closed_because_ = opened.status();
    return;
  }
  state_ = State::kOpen;
  datagrams_ = *std::move(opened);
  responder_ = std::make_unique<Responder>(*datagrams_, environment_.worker, traffic_class_);
  if (retired_) return Close(closed_because_);
  if (datagrams_->local().gid != address_.gid)
    return Close(Status(Code::kUnavailable,
                        Format("{}/{}: GID {} has changed from {} to {}", at_.device(), at_.port(),
                               address_.gid_index, address_.gid, datagrams_->local().gid)));
  const auto gid = ParseGid(address_.gid);
  if (!gid.ok()) return Close(gid.status());
  gid_bytes_ = *gid;
  pings_unsent_ = 0;
  if (const Status armed = datagrams_->Arm(host::UdEvents::kAll); !armed.ok()) return Close(armed);
  for (const v1::MeshTarget& one : ordered_) AddTarget(one, now);
  FillRotation();
}

void Port::StartCreating(std::uint32_t serial, TargetState& state) {
  state.creating = true;
  Start(std::make_unique<CreateAddressHandles>(*this, serial, *state.target));
}

void Port::OnCreated(std::uint32_t serial, Result<std::vector<std::uint32_t>> paths,
                     SteadyTime now) {
  --jobs_;
  if (!open()) return FinishClosing();  // Destroyed with the queue pairs
  const auto at = targets_.find(serial);
  if (at == targets_.end()) {
    if (paths.ok()) RemovePaths(*paths);
    return;
  }
  TargetState& state = at->second;
  state.creating = false;
  state.failure = paths.status();
  if (paths.ok()) {
    state.paths = *std::move(paths);
    return;
  }
  state.backoff = std::clamp(2 * state.backoff, kBackoffMin, kBackoffMax);
  state.retry_at = now + state.backoff;
}

bool Port::Ping(SteadyTime now) {
  if (!open() || rotation_.empty() || environment_.busy(at_)) return false;
  const Slot slot = rotation_[next_slot_];
  next_slot_ = (next_slot_ + 1) % rotation_.size();
  TargetState& state = targets_.at(slot.serial);
  if (!state.paths.empty()) return Send(slot.serial, state, slot.flow, now);
  if (!state.creating && now >= state.retry_at) StartCreating(slot.serial, state);
  if (Unreachable(state.failure)) state.target->CountUnsent(slot.flow, now);
  return false;
}

bool Port::Send(std::uint32_t serial, TargetState& state, std::uint32_t flow, SteadyTime now) {
  const host::Endpoint& local = datagrams_->local();
  const std::uint32_t sequence = state.target->table().Post(flow, now);
  std::array<std::byte, probe::kPingWithReplyAddressBytes> bytes{};
  probe::Write({.session = std::uint64_t{local.queue_key} << 32 | serial,
                .sequence = sequence,
                .flow = flow},
               bytes);
  const std::size_t pair = flow % kSoftwareFlows % local.queue_pairs.size();
  probe::WriteReplyAddress({.gid = gid_bytes_,
                            .queue_pair = local.queue_pairs[pair].number,
                            .queue_key = local.queue_key,
                            .lid = local.lid,
                            .flow_label = state.target->LabelOf(flow)},
                           bytes);
  const Status sent =
      datagrams_->Send(state.paths[flow], bytes,
                       {.id = kPingId | std::uint64_t{serial} << 32 | sequence, .solicited = true});
  if (sent.ok()) {
    ++pings_unsent_;
    return true;
  }
  if (sent.code() == Code::kResourceExhausted)
    state.target->table().MarkUnreliable();  // The send queue of this end is full.
  else
    Close(sent);
  return false;
}

// Number of completions handled; 0 after a failure, which closes the port.
std::size_t Port::TakeSome(SteadyTime now, bool late) {
  std::array<host::Datagram, 16> found;
  const auto count = datagrams_->Poll(found);
  Status status = count.status();
  for (std::size_t n = 0; status.ok() && n < *count; ++n) status = TakeOne(found[n], now, late);
  if (status.ok()) return *count;
  Close(status);
  return 0;
}

void Port::Take(SteadyTime now, bool late) {
  while (open() && TakeSome(now, late) > 0) {
  }
}

void Port::TakeAndArm(SteadyTime now) {
  do {
    Take(now, false);
    for (std::uint32_t n = 0; n < kPollsForSendCompletion && open() && awaits_send_completion();
         ++n)
      Take(now, false);
    if (!open()) return;
    const auto events =
        awaits_send_completion() ? host::UdEvents::kAll : host::UdEvents::kSolicited;
    if (const Status status = datagrams_->Arm(events); !status.ok()) return Close(status);
  } while (TakeSome(now, false) > 0);
}

void Port::OnPingSent(const host::Datagram& ping, bool late) {
  --pings_unsent_;
  const auto at = targets_.find(static_cast<std::uint32_t>((ping.id & ~kPingId) >> 32));
  if (at == targets_.end()) return;
  at->second.target->table().Departed(static_cast<std::uint32_t>(ping.id), ping.ticks, late);
}

Status Port::TakeOne(const host::Datagram& datagram, SteadyTime now, bool late) {
  if (!datagram.ok) return {Code::kUnavailable, datagram.error};
  const bool late_time = late && !datagrams_->hardware_clock();
  if (!datagram.arrived) {
    if ((datagram.id & kPingId) == 0) return responder_->OnSent(datagram, late_time);
    OnPingSent(datagram, late_time);
    return {};
  }
  const std::optional<PingMessage> message = probe::ParsePing(datagram.payload);
  if (!message) return {};
  if (message->kind == PingMessage::Kind::kPing) {
    const auto to = probe::ParseReplyAddress(datagram.payload);
    return to ? responder_->Answer(*message, *to, datagram.ticks, late_time, now) : Status();
  }
  if (message->session >> 32 != datagrams_->local().queue_key) return {};  // Of another session
  const auto at = targets_.find(static_cast<std::uint32_t>(message->session));
  if (at == targets_.end()) return {};
  probe::OutstandingPings& table = at->second.target->table();
  if (message->kind == PingMessage::Kind::kReport) {
    table.Reported(message->sequence, message->delay, message->late);
    return {};
  }
  table.Answered(message->sequence, datagram.ticks, now, late_time);
  table.Seen(message->sequence, message->seen);
  return {};
}

void Port::MarkUnreliable() {
  for (auto& [serial, state] : targets_) state.target->table().MarkUnreliable();
}

void Port::Expire(SteadyTime now) {
  for (auto& [serial, state] : targets_) state.target->table().Expire(now);
}

v1::MeshEndpoint Port::Endpoint() const {
  v1::MeshEndpoint endpoint;
  *endpoint.mutable_port() = at_;
  if (open())
    *endpoint.mutable_endpoint() = probe::ToProto(datagrams_->local());
  else
    endpoint.set_reason(closed_because_.message());
  return endpoint;
}

void Port::TakeWindow(v1::MeshWindow& window) {
  for (auto& [serial, state] : targets_) {
    auto summary = state.target->TakeSummary();
    if (!summary && state.failure.ok()) continue;
    v1::MeshPath& path = *window.add_paths();
    *path.mutable_from() = at_;
    *path.mutable_to() = state.target->order().remote();
    path.set_reason(state.failure.message());
    if (!summary) continue;
    summary->set_queue_pair_per_flow(datagrams_->queue_pair_per_flow());
    *path.mutable_ping() = *std::move(summary);
  }
}

}  // namespace fabric::mesh
