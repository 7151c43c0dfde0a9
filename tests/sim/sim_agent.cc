#include "tests/sim/sim_agent.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "agents/probe/probe.h"
#include "proto/timestamps.h"
#include "tests/testing/counter_rates.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr Duration kSteadyBase = 500s;
constexpr WallTime kWallBase{1'800'000'000s};
// As agent::AgentLoop does.
constexpr Duration kTickMax = 1s;
constexpr Duration kTickMin = 1ms;

class SimCounters final : public probe::PortCounters {
 public:
  SimCounters(Surroundings& around, std::uint32_t number, const v1::ProbePort& port)
      : around_(around), number_(number), port_(port) {}
  std::map<std::string, std::uint64_t> Read() override { return around_.Counters(number_, port_); }

 private:
  Surroundings& around_;
  std::uint32_t number_;
  v1::ProbePort port_;
};

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const probe::ProbeKind* kind : probe::AllProbeKinds()) names.emplace_back(kind->name);
  return names;
}

}  // namespace

SimAgent::SimAgent(std::uint32_t number, const SimAgentOptions& options, Surroundings& around)
    : number_(number), options_(options), around_(around), runner_(*this), mesh_(*this) {}

SteadyTime SimAgent::SteadyNow() const {
  const auto since = static_cast<double>((now() - clock_set_at_).count());
  return SteadyTime(kSteadyBase + clock_then_ +
                    Duration(static_cast<Duration::rep>(since * (1 + gain_))));
}

Moment SimAgent::Now() const {
  const SteadyTime steady = SteadyNow();
  return {steady, kWallBase + (steady.time_since_epoch() - kSteadyBase) + wall_offset_};
}

void SimAgent::SetClock(Duration wall_offset, double gain) {
  clock_then_ = SteadyNow().time_since_epoch() - kSteadyBase;
  clock_set_at_ = now();
  wall_offset_ = wall_offset;
  gain_ = gain;
}

void SimAgent::Later(Duration delay, std::function<void()> act) {
  const auto real =
      Duration(static_cast<Duration::rep>(static_cast<double>(delay.count()) / (1 + gain_)));
  around_.queue().After(real, [this, begun = incarnation_, act = std::move(act)]() mutable {
    if (begun == incarnation_) WhenAwake(std::move(act));
  });
}

void SimAgent::WhenAwake(std::function<void()> act) {
  if (!frozen()) return act();
  around_.queue().At(frozen_until_, [this, begun = incarnation_, act = std::move(act)]() mutable {
    if (begun == incarnation_) WhenAwake(std::move(act));
  });
}

void SimAgent::Boot() {
  ++incarnation_;
  agent_.emplace(
      agent::AgentOptions{.probe_kinds = KindNames(),
                          .seed = SplitMix(options_.seed ^ SplitMix(number_) ^ incarnation_)},
      *this);
  outbox_.emplace();
  dialed_ = greeted_ = writing_ = writing_state_ = false;
  wake_at_ = now() - 1ns;
  Later(Scaled(20), [this] { Inspect(); });
  if (options_.counters) Later(1s, [this] { Sample(); });
}

void SimAgent::Crash(bool quiet) {
  if (!up()) return;
  ++incarnation_;
  runner_.Vanish();
  mesh_.Vanish();
  if (dialed_) around_.wire().Abandon(session_, quiet);
  dialed_ = false;
  agent_.reset();
  inbox_.clear();
  frozen_until_ = now();
}

void SimAgent::Freeze(Duration how_long) {
  if (!frozen()) frozen_from_ = now();
  frozen_until_ = std::max(frozen_until_, now() + how_long);
}

void SimAgent::Inspect() {
  InspectNow();
  Later(options_.inspect_every, [this] { Inspect(); });
}

void SimAgent::InspectNow() {
  if (!up()) return;
  if (frozen()) return WhenAwake([this] { InspectNow(); });
  v1::NodeSnapshot snapshot = around_.Inspect(number_);
  *snapshot.mutable_taken_at() = ToProto(Now().wall);
  devices_.assign(snapshot.rdma_devices().begin(), snapshot.rdma_devices().end());
  agent_->OnSnapshot(std::move(snapshot), Now());
  Drive();
}

// Nothing but a little traffic on the ports.
void SimAgent::Sample() {
  if (values_.empty() || table_ == 0) {
    const testing::Pair pair = testing::PairOf({around_.Inspect(number_)});
    counters::Table table{.number = ++table_, .sets = pair.before.front().counters()};
    values_.clear();
    traffic_.clear();
    for (const v1::CounterSet& set : table.sets)
      for (const v1::Counter& counter : set.counters()) {
        if (counter.neutral().starts_with("rdma_")) traffic_.push_back(values_.size());
        values_.push_back({.value = counter.value()});
      }
    agent_->OnCounterTable(std::move(table));
  }
  for (const std::size_t place : traffic_)
    if (around_.random().Chance(0.5)) values_[place].value += 100;
  agent_->OnCounterSample({.table = table_, .taken_at = Now().wall, .values = values_});
  Drive();
  Later(1s, [this] { Sample(); });
}

// As agent::AgentLoop: Tick after everything that comes, and when it is time.
void SimAgent::Drive() {
  agent_->Tick(Now());
  const Duration wait = std::clamp(Duration(agent_->next_tick() - SteadyNow()), kTickMin, kTickMax);
  if (wake_at_ > now() && wake_at_ <= now() + wait) return;
  wake_at_ = now() + wait;
  Later(wait, [this, at = wake_at_] {
    if (at != wake_at_) return;  // Another one came to be due earlier.
    wake_at_ = now() - 1ns;
    Drive();
  });
}

void SimAgent::Dial() {
  session_ = around_.wire().Dial(number_);
  dialed_ = true;
  greeted_ = writing_ = writing_state_ = false;
  outbox_.emplace();
  Later(0s, [this, session = session_] {
    if (session != session_ || !dialed_) return;
    agent_->OnConnected(Now());
    Drive();
  });
}

void SimAgent::Send(const v1::AgentMessage& message) {
  greeted_ |= dialed_ && message.has_hello();
  if (!dialed_ || !greeted_) return;
  outbox_->Put(message);
  WriteNext();
}

void SimAgent::WriteNext() {
  if (writing_) return;
  auto message = outbox_->Take();
  if (!message) return;
  writing_ = true;
  writing_state_ = message->has_snapshot() || message->has_change();
  around_.wire().Write(session_, *std::move(message));
}

void SimAgent::OnWritten(SessionId session) {
  WhenAwake([this, session] {
    if (session != session_ || !dialed_) return;
    const bool was_idle = Idle();
    writing_ = writing_state_ = false;
    WriteNext();
    if (!was_idle && Idle()) Drive();
  });
}

void SimAgent::OnMessage(SessionId session, v1::ControllerMessage message) {
  if (session != session_ || !dialed_) return;
  inbox_.push_back(std::move(message));
  WhenAwake([this] {
    if (inbox_.empty()) return;
    const v1::ControllerMessage next = std::move(inbox_.front());
    inbox_.pop_front();
    agent_->OnMessage(next, Now());
    Drive();
  });
}

void SimAgent::OnEnded(SessionId session, const Status& why) {
  WhenAwake([this, session, why] {
    if (session != session_ || !std::exchange(dialed_, false)) return;
    inbox_.clear();
    agent_->OnDisconnected(why, Now());
    Drive();
  });
}

std::optional<v1::RdmaDevice> SimAgent::FindDevice(const std::string& name) const {
  for (const v1::RdmaDevice& device : devices_)
    if (device.name() == name) return device;
  return std::nullopt;
}

Duration SimAgent::Scaled(double milliseconds) {
  const double some = milliseconds * around_.random().Between(0.5, 1.5) * slow_;
  return std::chrono::duration_cast<Duration>(Milliseconds(some));
}

Duration SimAgent::OpenTakes() {
  return Scaled(2);
}

Duration SimAgent::ProbeTakes(const v1::ProbeSpec& spec, bool ok) {
  // An RC queue pair gives up after its retries; of pings the last ones are waited for.
  if (!ok) return Scaled(spec.has_ud_ping() ? 150 : 1200);
  const bool quick = spec.has_rc_write_latency() && spec.rc_write_latency().iterations() == 16;
  return Scaled(quick ? 2 : Milliseconds(options_.probe_takes).count());
}

// A driver that takes its time takes no longer because all else is slow: what it waits for is over
// at some time.
Duration SimAgent::CloseTakes() {
  constexpr Duration kMax = 2s;
  return std::min(Scaled(around_.random().Chance(options_.slow_closes) ? 1000 : 1), kMax);
}

probe::PortWatch SimAgent::Watch(const v1::ProbePort& port) {
  return {port, [this, port](const std::string&, std::uint32_t) {
            return std::make_unique<SimCounters>(around_, number_, port);
          }};
}

// Of what is slow some part is away, as on a machine whose processors others have.
Duration SimAgent::AwaySince(SteadyTime then) const {
  const Duration since = SteadyNow() - then;
  const Duration begun = now() - since;
  const Duration frozen = std::max<Duration>(
      std::min(now(), frozen_until_) - std::max(begun, frozen_from_), Duration::zero());
  const auto ran = static_cast<double>((since - frozen).count());
  return frozen + Duration(static_cast<Duration::rep>(ran * (1 - 1 / std::max(slow_, 1.0))));
}

}  // namespace fabric::sim
