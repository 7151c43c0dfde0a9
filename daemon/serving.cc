#include "daemon/serving.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/api/caught.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/health.h"
#include "daemon/grpc_fronts.h"
#include "daemon/http_fronts.h"
#include "daemon/live_subnets.h"
#include "daemon/otlp_export.h"
#include "daemon/own_files.h"
#include "daemon/pages.h"
#include "daemon/reloader.h"
#include "daemon/site_join.h"
#include "proto/timestamps.h"

namespace fabric {
namespace {

constexpr Duration kTickInterval = std::chrono::milliseconds(100);
constexpr time_t kFlushSeconds = 1;    // Operator log
constexpr int kChecksPerRecheck = 10;  // Of agents
constexpr int kFlushesPerLook = 10;    // At the topology file

std::jthread StartTicking(control::Controller& controller, api::Health& health,
                          const Clock& clock) {
  return std::jthread([&controller, &health, &clock](std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const Status status = api::Caught([&] {
        controller.Tick(clock.Now());
        return Status();
      });
      if (!status.ok()) log::Error("turn of the controller: {}", status.message());
      if (status.ok()) health.OnTurn(clock.Now().steady);
      wake.wait_for(lock, stop, kTickInterval, [] { return false; });
    }
  });
}

// A subnet that cannot be read leaves its previous state in place.
void Use(Result<SubnetReading> reading, const std::string& path, control::Controller& controller,
         Moment now) {
  if (!reading.ok()) return log::Error("infiniband-topology: {}", reading.status().message());
  for (const Status& error : reading->errors) log::Error("InfiniBand subnet: {}", error.message());
  for (const std::string& problem : reading->problems) log::Error("{}", problem);
  fleet::InfinibandTopology& topology = reading->topology;
  if (topology.empty()) return;
  const std::string name = path.empty() ? "InfiniBand subnets" : path;
  for (const std::string& end : topology.ambiguous())
    log::Error("{}: {}: expected one cable, saw two; the port is left out", name, end);
  log::Info(
      "{}: {} switches, {} adapter ports, created at {}, {} bad lines; checks: {} pass, {} fail, "
      "{} unknown",
      name, topology.switches().size(), topology.ports(), ToString(ToProto(topology.made_at())),
      reading->problem_count, reading->checks.counts.pass(), reading->checks.counts.fail(),
      reading->checks.counts.unknown());
  controller.SetInfiniband(std::move(topology), std::move(reading->checks), now,
                           std::move(reading->files));
}

// Subnets that agents read.
void UseLive(LiveSubnets& live, SubnetFiles& subnets, control::Controller& controller, Moment now) {
  if (!live.Update(controller, subnets, now)) return;
  SubnetReading all = subnets.All();
  controller.SetInfiniband(std::move(all.topology), std::move(all.checks), now,
                           std::move(all.files));
}

// Logs how far the topology covers the fabric, when that has changed.
void LogCover(control::Controller& controller, fleet::TopologyCoverage& logged, Moment now) {
  const control::InfinibandState state = controller.Infiniband();
  if (!state.known || state.cover == logged) return;
  logged = state.cover;
  const auto line = Format(
      "infiniband-topology, {} h old: {} InfiniBand ports placed, {} missing in the file, {} with "
      "another LID in the file",
      std::chrono::duration_cast<std::chrono::hours>(now.wall - state.made_at).count(),
      logged.placed, logged.unknown, logged.lid_mismatches);
  if (logged.unknown > 0 || logged.lid_mismatches > 0)
    log::Warning("{}", line);
  else
    log::Info("{}", line);
}

// Waits for a signal that ends the program, or until `check` returns false (0). Meanwhile it writes
// the operator log, calls `reload` on SIGHUP, decodes the subnets that agents read, and checks the
// subnet files for changes.
int AwaitEnd(const sigset_t& ending_signals, const Served& with, const std::function<bool()>& check,
             const std::function<void()>& reload) {
  const auto& [clock, controller, operator_log, files] =
      std::tie(with.clock, with.controller, with.operator_log, with.subnets);
  const timespec patience{.tv_sec = kFlushSeconds, .tv_nsec = 0};
  LiveSubnets live;
  fleet::TopologyCoverage logged;
  for (int flushes = 1;; ++flushes) {
    const int signal = sigtimedwait(&ending_signals, nullptr, &patience);
    operator_log.Flush(controller.store_condition());
    if (signal == SIGTERM || signal == SIGINT) return signal;
    if (signal == SIGHUP) reload();
    if (!check()) return 0;
    UseLive(live, files, controller, clock.Now());
    if (flushes % kFlushesPerLook != 0) continue;
    if (auto reading = files.ReadWhenChanged())
      Use(*std::move(reading), files.path(), controller, clock.Now());
    LogCover(controller, logged, clock.Now());
  }
}

// When a leader that cannot reach the database sends its agents away, so that they find another one
// that can. Without another one they come back. Called every second.
class SendAway {
 public:
  bool IsDue(const Leadership* leadership) {
    if (leadership == nullptr || leadership->standing() != Leadership::Standing::kUnconfirmed) {
      seconds_ = 0;
      return false;
    }
    return ++seconds_ % kEverySeconds == kAfterSeconds;
  }

 private:
  static constexpr int kAfterSeconds = 5;
  static constexpr int kEverySeconds = 60;
  int seconds_ = 0;  // Without a confirmed lease
};

bool IsLost(const Leadership* leadership) {
  return leadership != nullptr && leadership->standing() == Leadership::Standing::kLost;
}

// An error changes nothing.
void ReloadBySignal(Reloader& reloader, const Served& with) {
  with.notify("RELOADING=1");
  const auto reloaded = reloader.Reload(with.clock.Now());
  if (!reloaded.ok())
    log::Error("reload refused, the previous files stay in use: {}", reloaded.status().message());
  with.notify("READY=1");
}

// Borrows `with`.
Reloader::Use UseOf(const Served& with) {
  return [&with](Reloader::Loaded next, Moment now) {
    with.controller.SetPolicy(std::move(next.policy), now);
    with.notifier.Replace(std::move(next.receivers));
  };
}

// Checks the leadership before and after each call: an answer that another leader may contradict is
// not given. Both arguments are borrowed.
api::CallFunction WithLeadership(api::Api& fabric_api, const Leadership* leadership) {
  return [&fabric_api, leadership](const api::CallContext& context, auto&&... arguments) {
    if (IsLost(leadership)) return leadership->Refusal();
    const Status status = fabric_api.Call(context, arguments...);
    if (IsLost(leadership)) return leadership->Refusal();
    if (leadership != nullptr && context.notes != nullptr)
      context.notes->warning = leadership->Doubt();
    return status;
  };
}

}  // namespace

void ReadSubnets(SubnetFiles& subnets, control::Controller& controller, Moment now) {
  if (subnets.HasFiles()) Use(subnets.Read(), subnets.path(), controller, now);
}

// On standard output and in the addresses file.
Status ShowAddresses(const Settings& settings, std::string_view scheme,
                     const Addresses& addresses) {
  if (settings.Has("addresses-file"))
    RETURN_IF_ERROR(WriteAddresses(settings.Text("addresses-file"), addresses));
  const std::string text =
      Format("fabricd {}: gRPC on {}{}, REST and /metrics on {}://{}, health on {}://{}", kVersion,
             ToString(addresses.grpc),
             addresses.agents ? ", agents on " + ToString(*addresses.agents) : "", scheme,
             ToString(addresses.rest), scheme, ToString(addresses.health));
  log::Plain(stdout, log::Level::kInfo, text);
  return {};
}

Result<int> ServeFronts(const Settings& settings, const Served& with,
                        const sigset_t& ending_signals) {
  const Clock& clock = with.clock;
  Transport& transport = with.transport;
  SiteAccess& site = with.site;
  control::Controller& controller = with.controller;
  access::Gate& gate = site.gate();
  ASSIGN_OR_RETURN(const std::unique_ptr<SiteJoin> join,
                   SiteJoin::Open(settings, transport.files(), with.agents, clock.Now().wall));
  api::CallMetrics calls;
  api::Api fabric_api(controller, gate, clock, calls, join ? &join->service() : nullptr);
  const api::CallFunction call = WithLeadership(fabric_api, with.leadership);
  Reloader reloader(with.arguments, settings, with.receivers_of, UseOf(with));
  fabric_api.AnswerWith([&](const auto& request, auto& response, Moment now) {
    return reloader.Answer(request, response, now);
  });
  api::Health health(clock.Now().steady);
  ASSIGN_OR_RETURN(const std::unique_ptr<OtlpExport> otlp,
                   OtlpExport::Open(settings, clock, with.events, with.started));
  const auto metrics = MetricsOf(with, calls, otlp.get());
  const std::vector<api::Page> pages = StatusPages(with, health, metrics);
  api::PeerSlots watchers("event watchers", {.total = 256, .per_peer = 64});
  ASSIGN_OR_RETURN(GrpcFronts grpc, GrpcFronts::Listen(settings, call, with.events, watchers,
                                                       with.agents, transport.grpc()));
  if (otlp) otlp->Start([metrics] { return api::CollectMetrics(metrics()); }, grpc.address());
  ASSIGN_OR_RETURN(std::vector<api::Page> rest_pages, AllPages(settings, pages, with.keys, gate));
  ASSIGN_OR_RETURN(const HttpFront rest, ListenRest(settings, call, std::move(rest_pages),
                                                    with.events, watchers, transport.http()));
  ASSIGN_OR_RETURN(const HttpFront status, ListenHealth(HealthAddress(settings), pages, with.events,
                                                        watchers, transport.http()));
  const std::jthread ticking = StartTicking(controller, health, clock);
  RETURN_IF_ERROR(ShowAddresses(
      settings, transport.http_scheme(),
      {grpc.address(), rest.server->address(), status.server->address(), grpc.agents()}));
  with.notify("READY=1");
  OwnFiles own_files(transport, site, with.keys, join.get(), controller);
  const auto check = [&, checks = 0, away = SendAway()]() mutable {
    const bool ready = health.Ready(clock.Now().steady).status == 200;
    if (ready) with.notify("WATCHDOG=1");
    grpc.SetServing(ready);
    site.Tick();
    if (join) join->Tick(clock.Now().wall);
    if (auto key = with.keys.Check()) with.controller.SetSigningKey(*std::move(key));
    transport.Check(clock.Now().wall, with.agents);
    if (otlp) otlp->Check(clock.Now().wall);
    own_files.Check(clock.Now().wall);
    if (++checks % kChecksPerRecheck == 0) with.agents.Recheck();
    if (away.IsDue(with.leadership)) with.agents.EndAll(with.leadership->Refusal());
    return !IsLost(with.leadership);
  };
  const auto reload = [&] { ReloadBySignal(reloader, with); };
  const int signal = AwaitEnd(ending_signals, with, check, reload);
  if (signal != 0) {
    log::Info("stopping: {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
    with.notify("STOPPING=1");
  } else {
    log::Error("another controller leads now: {}", with.leadership->Refusal().message());
  }
  rest.server->Stop();
  status.server->Stop();
  grpc.Stop();
  site.Stop();
  with.notifier.Stop();
  if (otlp) otlp->Stop();
  with.operator_log.Flush(controller.store_condition());
  return signal;
}

}  // namespace fabric
