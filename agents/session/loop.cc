#include "agents/session/loop.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "agents/session/schedule.h"
#include "base/log.h"
#include "base/mutex.h"

namespace fabric::agent {
namespace {

constexpr Duration kTickMax = std::chrono::seconds(1);
constexpr Duration kTickMin = std::chrono::milliseconds(1);
constexpr Duration kAwaitInspection = std::chrono::milliseconds(50);
constexpr Duration kTlsCheckInterval = std::chrono::seconds(2);
constexpr Duration kExpiryWarningEvery = std::chrono::hours(24);

// Waits for `duration` or until stopped.
void Pause(const std::stop_token& stop, Duration duration) {
  Mutex mutex;
  std::condition_variable_any never;
  MutexLock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
}

// Kept from one sample to the next.
struct Counting {
  counters::Table table;
  bool planned = false;
};

// False before the first inspection, and when stopped.
bool SampleOnce(const CounterLoop& loop, Counting& state, const std::stop_token& stop) {
  if (auto found = loop.shared.TakeFoundCounters()) {
    loop.sampling.Plan(*std::move(found));
    state.planned = true;
  }
  if (!state.planned) return false;
  auto sampled = loop.sampling.Sample(stop);
  if (!sampled) return false;
  if (sampled->table) {
    ++state.table.number;
    state.table.sets = *std::move(sampled->table);
    loop.shared.SetCounterTable(state.table);
    loop.deliver_table(state.table);
  }
  counters::Sample sample{.table = state.table.number,
                          .taken_at = loop.clock.Now().wall,
                          .values = std::move(sampled->values)};
  loop.deliver_sample(sample);
  loop.shared.SetCounterSample(std::move(sample));
  return true;
}

// gRPC hides why a TLS connection fails.
std::string ReasonOf(const Status& why, const std::function<Status()>& explain) {
  if (why.code() != Code::kUnavailable || !explain) return why.message();
  const Status tls = explain();
  return tls.ok() ? why.message() : tls.message();
}

// The next dial uses new files; the stream in use stays.
void CheckTls(tls::TlsFiles* files, Moment now, SteadyTime& checked_at, WallTime& warned_at) {
  if (files == nullptr || now.steady - checked_at < kTlsCheckInterval) return;
  checked_at = now.steady;
  if (now.wall - warned_at >= kExpiryWarningEvery)
    for (const tls::FilePeriod& period : files->Expiring(now.wall)) {
      warned_at = now.wall;
      log::Warning("{}: the {} expires at {}", period.path, period.what, tls::ToText(period.to));
    }
  switch (files->Check(now.wall)) {
    case tls::TlsFiles::Change::kNone: return;
    case tls::TlsFiles::Change::kReloaded:
      return log::Info("TLS files reloaded; certificate valid until {}",
                       tls::ToText(files->not_after()));
    case tls::TlsFiles::Change::kRefused:
      return log::Error("new TLS files refused, the previous ones stay in use: {}",
                        files->problem().message());
  }
}

}  // namespace

void InspectionLoop::Run(const std::stop_token& stop) {
  InspectionSchedule schedule(check_interval, clock.Now().steady);
  while (!stop.stop_requested()) {
    const SteadyTime begun = clock.Now().steady;
    const host::EventSet why = schedule.Take(begun);
    if (why.empty()) {
      schedule.OnEvents(events.Wait(stop, schedule.next()));
      for (const Status& problem : events.TakeProblems())
        log::Warning("event source unavailable, relying on polling: {}", problem.message());
      continue;
    }
    std::optional<v1::NodeSnapshot> snapshot = inspect(why, stop);
    const SteadyTime ended = clock.Now().steady;
    schedule.OnInspected(begun, ended);
    log::Debug("inspected{} in {:.1f} ms",
               why == host::EventSet::All() ? " all" : " after an event",
               std::chrono::duration<double, std::milli>(ended - begun).count());
    if (!snapshot) continue;
    shared.SetSnapshot(*snapshot, ended - begun);
    deliver(*std::move(snapshot));
  }
}

void CounterLoop::Run(const std::stop_token& stop) {
  Counting state;
  SteadyTime next = clock.Now().steady;
  while (!stop.stop_requested()) {
    const std::size_t hanging = sampling.hanging();
    const bool sampled = SampleOnce(*this, state, stop);
    if (sampling.hanging() > hanging)
      log::Warning("{} counter reads are blocked in drivers; omitting their counters",
                   sampling.hanging());
    const SteadyTime now = clock.Now().steady;
    // Missed samples are not made up for.
    next = std::max(next + (sampled ? interval : kAwaitInspection), now);
    Pause(stop, next - now);
  }
}

void AgentLoop::Run(const std::stop_token& stop) {
  std::string last_reason;
  bool connected = false;
  SteadyTime tls_checked_at{};
  WallTime expiry_warned_at{};
  while (!stop.stop_requested()) {
    const Duration wait = agent.next_tick() - clock.Now().steady;
    auto event = inbox.Next(stop, std::clamp(wait, kTickMin, kTickMax));
    const Moment now = clock.Now();
    if (event) {
      if (auto* snapshot = std::get_if<v1::NodeSnapshot>(&*event))
        agent.OnSnapshot(std::move(*snapshot), now);
      else if (auto* table = std::get_if<counters::Table>(&*event))
        agent.OnCounterTable(std::move(*table));
      else if (auto* sample = std::get_if<counters::Sample>(&*event))
        agent.OnCounterSample(std::move(*sample));
      else if (const auto* message = std::get_if<v1::ControllerMessage>(&*event))
        agent.OnMessage(*message, now);
      else if (std::holds_alternative<Connected>(*event))
        agent.OnConnected(now);
      else if (const auto* gone = std::get_if<Disconnected>(&*event)) {
        agent.OnDisconnected(gone->why, now);
        if (std::exchange(last_reason, gone->why.message()) != gone->why.message())
          log::Warning("not connected to {}: {}", link.controller(), ReasonOf(gone->why, explain));
      }  // Idle: Tick() sends what waited for it.
    }
    CheckTls(tls, now, tls_checked_at, expiry_warned_at);
    agent.Tick(now);
    if (agent.connected() != connected) {
      connected = agent.connected();
      shared.SetConnected(connected);
      if (connected) log::Info("connected to {}", link.controller());
      if (connected) last_reason.clear();
    }
    shared.SetDropped(link.dropped());
  }
}

}  // namespace fabric::agent
