#include "agents/mesh/port.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agents/probe/endpoints.h"
#include "agents/probe/port_choice.h"
#include "base/text.h"

namespace fabric::mesh {
namespace {

using probe::PingMessage;

constexpr std::uint32_t kSends = 32;
constexpr std::uint32_t kReceives = 128;
constexpr std::uint32_t kAnswerWithinDefaultMs = 500;
// Until then both ends of a new target find each other's addresses.
constexpr Duration kUncounted = std::chrono::seconds(2);
constexpr Duration kReopenAfter = std::chrono::seconds(5);
constexpr Duration kBackoffMin = std::chrono::seconds(1);
constexpr Duration kBackoffMax = std::chrono::seconds(60);
// What is sent leaves within microseconds: looking for so long costs less than to wake up for it.
constexpr std::uint32_t kLooksForLeaving = 64;
// Marks datagrams that are pings, among the numbers that PingAnswers gives.
constexpr std::uint64_t kPingId = std::uint64_t{1} << 63;

// Nobody answers at that address: the way there is broken, or the partner.
bool Unreachable(const Status& failure) {
  return failure.code() == Code::kDeadlineExceeded || failure.code() == Code::kUnavailable;
}

}  // namespace

class Port::OpenPairs final : public Job {
 public:
  OpenPairs(Port& port, const host::UdOptions& options) : port_(port), options_(options) {}
  void Run() override { opened_ = port_.outside_.verbs.OpenUd(options_); }
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

// All address handles towards one target, or none.
class Port::MakeWays final : public Job {
 public:
  MakeWays(Port& port, std::uint32_t serial, const Target& target)
      : port_(port),
        pairs_(*port.datagrams_),
        opened_(port.opened_),
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
        for (const std::uint32_t made : paths) pairs_.RemovePath(made);
        made_ = path.status();
        return;
      }
      paths.push_back(*path);
    }
    made_ = std::move(paths);
  }
  void Finish(SteadyTime now) override {
    if (opened_ != port_.opened_ || port_.datagrams_ == nullptr) {  // They went with all else.
      --port_.jobs_;
      return port_.FinishClosing();
    }
    port_.OnMade(serial_, std::move(made_), now);
  }

 private:
  Port& port_;
  host::UdQueuePairs& pairs_;
  const std::uint32_t opened_;
  const std::uint32_t serial_;
  const host::Endpoint remote_;
  const std::uint32_t traffic_class_;
  std::vector<std::uint32_t> labels_;
  Result<std::vector<std::uint32_t>> made_ = Status(Code::kUnavailable, "not tried yet");
};

void Port::Start(std::unique_ptr<Job> job) {
  ++jobs_;
  outside_.worker.Start(std::move(job), false);
}

void Port::SetOrder(const v1::MeshPortOrder& order, const v1::MeshOrder& whole, SteadyTime now) {
  const auto within = std::chrono::milliseconds(
      whole.answer_within_ms() == 0 ? kAnswerWithinDefaultMs : whole.answer_within_ms());
  if (whole.traffic_class() != traffic_class_ || within != answer_within_) {
    Close(Status(Code::kUnavailable, "opened anew: the order has other settings"));
    retry_at_ = now;
  }
  traffic_class_ = whole.traffic_class();
  answer_within_ = within;
  wanted_.assign(order.targets().begin(), order.targets().end());
  if (datagrams_ == nullptr) return;  // They are added once it is open.

  std::vector<v1::MeshTarget> fresh = wanted_;
  for (auto at = aims_.begin(); at != aims_.end();) {
    const std::string known = at->second.target->order().SerializeAsString();
    const auto kept = std::find_if(fresh.begin(), fresh.end(), [&](const v1::MeshTarget& one) {
      return one.SerializeAsString() == known;
    });
    if (kept != fresh.end()) {
      fresh.erase(kept);
      ++at;
      continue;
    }
    DropPaths(at->second.paths);
    at = aims_.erase(at);
  }
  for (const v1::MeshTarget& one : fresh) AddAim(one, now);
  FillTurns();
}

void Port::AddAim(const v1::MeshTarget& order, SteadyTime now) {
  host::UdQueuePairs* const pairs = datagrams_.get();
  Aim& aim = aims_[next_serial_++];
  aim.target = std::make_unique<Target>(
      order, Target::Options{.answer_within = answer_within_,
                             .counted_from = now + kUncounted,
                             .hardware_clock = pairs->hardware_clock(),
                             .elapsed = [pairs](std::uint64_t from, std::uint64_t to) {
                               return pairs->Elapsed(from, to);
                             }});
}

// A label of each target, then the next one: pings that follow each other go to different places.
void Port::FillTurns() {
  turns_.clear();
  std::uint32_t most = 0;
  for (const auto& [serial, aim] : aims_) most = std::max(most, aim.target->flows());
  for (std::uint32_t flow = 0; flow < most; ++flow)
    for (const auto& [serial, aim] : aims_)
      if (flow < aim.target->flows()) turns_.push_back({.serial = serial, .flow = flow});
  if (turn_ >= turns_.size()) turn_ = 0;
}

void Port::DropPaths(const std::vector<std::uint32_t>& paths) {
  for (const std::uint32_t path : paths) datagrams_->RemovePath(path);
}

void Port::Retire() {
  retired_ = true;
  Close(Status(Code::kUnavailable, "takes no part any more"));
}

void Port::Close(const Status& why) {
  closed_because_ = why;
  if (datagrams_ == nullptr) return;
  aims_.clear();
  turns_.clear();
  closing_ = std::move(datagrams_);
  closing_answers_ = std::move(answers_);
  FinishClosing();
}

// Jobs may still use what is being closed: it goes when the last one has come back.
void Port::FinishClosing() {
  if (closing_ == nullptr || jobs_ > 0 || closing_answers_->jobs() > 0) return;
  closing_answers_.reset();
  Start(std::make_unique<ClosePairs>(*this, std::move(closing_)));
}

void Port::Check(SteadyTime now) {
  FinishClosing();
  if (retired_) return;
  const std::optional<v1::RdmaDevice> device = outside_.find_device(at_.device());
  const Result<probe::PortAddress> address =
      device ? probe::ChooseAddress(*device, at_.port())
             : Status(Code::kNotFound, Format("{}: no such RDMA device", at_.device()));
  if (!address.ok()) return Close(address.status());
  if (datagrams_ != nullptr &&
      (address->gid_index != gid_index_ || datagrams_->local().gid != address->gid)) {
    Close(Status(Code::kUnavailable,
                 Format("{}/{}: the GID of the port has changed", at_.device(), at_.port())));
    retry_at_ = now;
  }
  if (datagrams_ != nullptr || opening_ || closing_ != nullptr || jobs_ > 0 || now < retry_at_)
    return;
  opening_ = true;
  gid_index_ = address->gid_index;
  gid_ = address->gid;
  Start(std::make_unique<OpenPairs>(
      *this,
      host::UdOptions{.at = {.device = at_.device(), .port = at_.port(), .gid_index = gid_index_},
                      .flows = kSoftwareFlows,
                      .payload_bytes_max = probe::kPingReturnBytes,
                      .sends_max = kSends,
                      .receives_max = kReceives,
                      .events = true}));
}

void Port::OnOpened(Result<std::unique_ptr<host::UdQueuePairs>> opened, SteadyTime now) {
  --jobs_;
  opening_ = false;
  retry_at_ = now + kReopenAfter;
  if (!opened.ok()) {
    closed_because_ = opened.status();
    return;
  }
  ++opened_;
  datagrams_ = *std::move(opened);
  answers_ = std::make_unique<Answers>(*datagrams_, outside_.worker, traffic_class_);
  if (retired_) return Close(closed_because_);
  if (datagrams_->local().gid != gid_)
    return Close(
        Status(Code::kUnavailable, Format("{}/{}: GID {} has changed from {} to {}", at_.device(),
                                          at_.port(), gid_index_, gid_, datagrams_->local().gid)));
  const auto gid = ParseGid(gid_);
  if (!gid.ok()) return Close(gid.status());
  gid_bytes_ = *gid;
  pings_leaving_ = 0;
  if (const Status armed = datagrams_->Arm(host::UdEvents::kAll); !armed.ok()) return Close(armed);
  for (const v1::MeshTarget& one : wanted_) AddAim(one, now);
  FillTurns();
}

void Port::Make(std::uint32_t serial, Aim& aim) {
  aim.making = true;
  Start(std::make_unique<MakeWays>(*this, serial, *aim.target));
}

void Port::OnMade(std::uint32_t serial, Result<std::vector<std::uint32_t>> made, SteadyTime now) {
  --jobs_;
  const auto at = aims_.find(serial);
  if (at == aims_.end()) {
    if (made.ok()) DropPaths(*made);
    return;
  }
  Aim& aim = at->second;
  aim.making = false;
  aim.failure = made.status();
  if (made.ok()) {
    aim.paths = *std::move(made);
    return;
  }
  aim.backoff = std::clamp(2 * aim.backoff, kBackoffMin, kBackoffMax);
  aim.retry_at = now + aim.backoff;
}

bool Port::Ping(SteadyTime now) {
  if (datagrams_ == nullptr || turns_.empty() || outside_.busy(at_)) return false;
  const Turn turn = turns_[turn_];
  turn_ = (turn_ + 1) % turns_.size();
  Aim& aim = aims_.at(turn.serial);
  if (!aim.paths.empty()) return Send(turn.serial, aim, turn.flow, now);
  if (!aim.making && now >= aim.retry_at) Make(turn.serial, aim);
  if (Unreachable(aim.failure)) aim.target->CountUnsent(turn.flow, now);
  return false;
}

bool Port::Send(std::uint32_t serial, Aim& aim, std::uint32_t flow, SteadyTime now) {
  const host::Endpoint& local = datagrams_->local();
  const std::uint32_t sequence = aim.target->table().Post(flow, now);
  std::array<std::byte, probe::kPingReturnBytes> bytes{};
  probe::Write({.session = std::uint64_t{local.queue_key} << 32 | serial,
                .sequence = sequence,
                .flow = flow},
               bytes);
  const std::size_t pair = flow % kSoftwareFlows % local.queue_pairs.size();
  probe::WriteReturn({.gid = gid_bytes_,
                      .queue_pair = local.queue_pairs[pair].number,
                      .queue_key = local.queue_key,
                      .lid = local.lid,
                      .flow_label = aim.target->LabelOf(flow)},
                     bytes);
  const Status sent =
      datagrams_->Send(aim.paths[flow], bytes,
                       {.id = kPingId | std::uint64_t{serial} << 32 | sequence, .solicited = true});
  if (sent.ok()) {
    ++pings_leaving_;
    return true;
  }
  if (sent.code() == Code::kResourceExhausted)
    aim.target->table().Excuse();  // The own end is behind; nothing can be said of it.
  else
    Close(sent);
  return false;
}

// How many there were; none when the port had to be closed.
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
  while (datagrams_ != nullptr && TakeSome(now, late) > 0) {
  }
}

void Port::TakeAndArm(SteadyTime now) {
  do {
    Take(now, false);
    for (std::uint32_t n = 0; n < kLooksForLeaving && datagrams_ != nullptr && awaits_leaving();
         ++n)
      Take(now, false);
    if (datagrams_ == nullptr) return;
    const auto events = awaits_leaving() ? host::UdEvents::kAll : host::UdEvents::kSolicited;
    if (const Status status = datagrams_->Arm(events); !status.ok()) return Close(status);
  } while (TakeSome(now, false) > 0);
}

void Port::TakeLeft(const host::Datagram& ping, bool spoilt) {
  --pings_leaving_;
  const auto at = aims_.find(static_cast<std::uint32_t>((ping.id & ~kPingId) >> 32));
  if (at == aims_.end()) return;
  at->second.target->table().Departed(static_cast<std::uint32_t>(ping.id), ping.ticks, spoilt);
}

Status Port::TakeOne(const host::Datagram& datagram, SteadyTime now, bool late) {
  if (!datagram.ok) return {Code::kUnavailable, datagram.error};
  const bool spoilt = late && !datagrams_->hardware_clock();
  if (!datagram.arrived) {
    if ((datagram.id & kPingId) == 0) return answers_->Left(datagram, spoilt);
    TakeLeft(datagram, spoilt);
    return {};
  }
  const std::optional<PingMessage> message = probe::ParsePing(datagram.payload);
  if (!message) return {};
  if (message->kind == PingMessage::Kind::kPing) {
    const auto to = probe::ParseReturn(datagram.payload);
    return to ? answers_->Answer(*message, *to, datagram.ticks, spoilt, now) : Status();
  }
  if (message->session >> 32 != datagrams_->local().queue_key) return {};  // Somebody else's
  const auto at = aims_.find(static_cast<std::uint32_t>(message->session));
  if (at == aims_.end()) return {};
  probe::PingTable& table = at->second.target->table();
  if (message->kind == PingMessage::Kind::kReport) {
    table.Reported(message->sequence, message->delay, message->late);
    return {};
  }
  table.Answered(message->sequence, datagram.ticks, now, spoilt);
  table.Seen(message->sequence, message->seen);
  return {};
}

void Port::Excuse() {
  for (auto& [serial, aim] : aims_) aim.target->table().Excuse();
}

void Port::Expire(SteadyTime now) {
  for (auto& [serial, aim] : aims_) aim.target->table().Expire(now);
}

v1::MeshEndpoint Port::Endpoint() const {
  v1::MeshEndpoint endpoint;
  *endpoint.mutable_port() = at_;
  if (datagrams_ != nullptr)
    *endpoint.mutable_endpoint() = probe::ToProto(datagrams_->local());
  else
    endpoint.set_reason(closed_because_.message());
  return endpoint;
}

void Port::TakeWindow(v1::MeshWindow& window) {
  for (auto& [serial, aim] : aims_) {
    auto summary = aim.target->TakeSummary();
    if (!summary && aim.failure.ok()) continue;
    v1::MeshPath& path = *window.add_paths();
    *path.mutable_from() = at_;
    *path.mutable_to() = aim.target->order().remote();
    path.set_reason(aim.failure.message());
    if (!summary) continue;
    summary->set_queue_pair_per_flow(datagrams_->queue_pair_per_flow());
    *path.mutable_ping() = *std::move(summary);
  }
}

}  // namespace fabric::mesh
