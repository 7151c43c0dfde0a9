// fabricd, wired by hand:
//
//   agents ──gRPC──► AgentFront ──► Controller ◄── Api ◄──┬── GrpcFront ◄── fabricctl
//          ◄────────────┘ Send        │   │         │     ├── RestServer ◄── curl
//                                     │   │        Gate   │
//                                     │   │        Health ◄── RestServer ◄── probes, Prometheus
//                                     │   └──► EventBus ──► watchers (gRPC and SSE)
//   ticking thread ──Tick───────────► │
//                                     └──► Store (SQLite)
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/input.h"
#include "base/log.h"
#include "base/systemd.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/caught.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/grpc_front.h"
#include "daemon/api/health.h"
#include "daemon/api/rest/rest_server.h"
#include "daemon/config.h"
#include "daemon/control/controller.h"
#include "daemon/files/addresses_file.h"
#include "daemon/files/subnet_files.h"
#include "daemon/http_fronts.h"
#include "daemon/notifications.h"
#include "daemon/operator_log.h"
#include "daemon/pages.h"
#include "daemon/reloader.h"
#include "daemon/signing_keys.h"
#include "daemon/site_access.h"
#include "daemon/site_join.h"
#include "daemon/store/recovery.h"
#include "daemon/store/store.h"
#include "daemon/transport.h"
#include "proto/fabric_service.h"
#include "proto/timestamps.h"

namespace fabric {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr Duration kTickInterval = std::chrono::milliseconds(100);
constexpr time_t kFlushSeconds = 1;    // Operator log
constexpr int kFlushesPerLook = 10;    // At the topology file
constexpr int kChecksPerRecheck = 10;  // Of agents

// Blocks the signals that fabricd waits for, in this thread and the threads that it starts.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Each agent has a connection, and the usual soft limit is 1024 descriptors.
void UseAllDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // Up to the hard limit is always permitted.
}

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

// "fabricd 0.1.0 at head1"
std::string Issuer() {
  const std::string machine = MachineName();
  return Format("fabricd {}{}{}", kVersion, machine.empty() ? "" : " at ", machine);
}

control::MeshSettings MeshOf(const Settings& settings) {
  return {.on = settings.Text("mesh") == "on",
          .paths = settings.Number("mesh-paths"),
          .pings_per_second = settings.Number("mesh-pings")};
}

control::ControllerOptions OptionsOf(const Settings& settings, OperatorLog& operator_log) {
  return {
      .heartbeat_interval = settings.Duration("heartbeat-interval"),
      .lost_after = settings.Duration("lost-after"),
      .lifecycle = {.boot_grace = settings.Duration("boot-grace"),
                    .flap_hold = settings.Duration("flap-hold")},
      .settings_age_max = settings.Duration("settings-age-max"),
      .node_expiry = settings.Duration("node-expiry"),
      .certificates = {.lifetime = settings.Duration("certificate-lifetime"),
                       .issuer = Issuer(),
                       .on_issued =
                           [&](const v1::Certificate& one) { operator_log.OnCertificate(one); }},
      .mesh = MeshOf(settings),
      .on_long_turn = [&](const control::LongTurn& turn) { operator_log.OnLongTurn(turn); }};
}

Result<subnet::Expectations> SubnetExpectations(const Settings& settings) {
  subnet::Expectations expected;
  if (settings.Has("infiniband-extra-hops"))
    expected.extra_hops = settings.Number("infiniband-extra-hops");
  expected.several_lanes = settings.Bool("infiniband-several-lanes");
  if (settings.Has("infiniband-oversubscription")) {
    const auto ratio = subnet::ParseOversubscription(settings.Text("infiniband-oversubscription"));
    if (!ratio.ok()) return ratio.status().In("infiniband-oversubscription");
    expected.oversubscription_max = *ratio;
  }
  return expected;
}

// A subnet that cannot be read leaves its previous state in place.
void Use(Result<SubnetReading> reading, const std::string& path, control::Controller& controller,
         Moment now) {
  if (!reading.ok()) return log::Error("infiniband-topology: {}", reading.status().message());
  for (const Status& error : reading->errors)
    log::Error("infiniband-topology: {}", error.message());
  for (const std::string& problem : reading->problems) log::Error("{}", problem);
  fleet::InfinibandTopology& topology = reading->topology;
  if (topology.empty()) return;
  for (const std::string& end : topology.ambiguous())
    log::Error("{}: {}: expected one cable, saw two; the port is left out", path, end);
  log::Info(
      "{}: {} switches, {} adapter ports, created at {}, {} bad lines; checks: {} pass, {} fail, "
      "{} unknown",
      path, topology.switches().size(), topology.ports(), ToString(ToProto(topology.made_at())),
      reading->problem_count, reading->checks.counts.pass(), reading->checks.counts.fail(),
      reading->checks.counts.unknown());
  controller.SetInfiniband(std::move(topology), std::move(reading->checks), now);
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

// Waits for a signal that ends the program. Meanwhile it writes the operator log, calls `check`,
// calls `reload` on SIGHUP, and checks the subnet files for changes.
int AwaitEnd(const sigset_t& ending_signals, SubnetFiles& files, control::Controller& controller,
             OperatorLog& operator_log, const std::function<void()>& check,
             const std::function<void()>& reload, const Clock& clock) {
  const timespec patience{.tv_sec = kFlushSeconds, .tv_nsec = 0};
  fleet::TopologyCoverage logged;
  for (int flushes = 1;; ++flushes) {
    const int signal = sigtimedwait(&ending_signals, nullptr, &patience);
    operator_log.Flush(controller.store_condition());
    if (signal == SIGTERM || signal == SIGINT) return signal;
    if (signal == SIGHUP) reload();
    check();
    if (flushes % kFlushesPerLook != 0) continue;
    if (auto reading = files.ReadWhenChanged())
      Use(*std::move(reading), files.path(), controller, clock.Now());
    LogCover(controller, logged, clock.Now());
  }
}

// On standard output and in the addresses file.
Status ShowAddresses(const Settings& settings, std::string_view scheme,
                     const Addresses& addresses) {
  if (settings.Has("addresses-file"))
    RETURN_IF_ERROR(WriteAddresses(settings.Text("addresses-file"), addresses));
  const std::string text =
      Format("fabricd {}: gRPC on {}, REST and /metrics on {}://{}, health on {}://{}\n", kVersion,
             ToString(addresses.grpc), scheme, ToString(addresses.rest), scheme,
             ToString(addresses.health));
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return {};
}

api::AgentListener ListenerOf(control::Controller& controller, access::Gate& gate,
                              OperatorLog& operator_log, const Clock& clock) {
  return {
      .admit = [&](const access::Caller& caller,
                   const std::string* node) { return gate.AdmitAgent(caller, node); },
      .on_message =
          [&](SessionId session, v1::AgentMessage message) {
            const Status status = controller.OnMessage(session, std::move(message), clock.Now());
            if (!status.ok()) operator_log.OnRefused(status);
            return status;
          },
      .on_gone =
          [&](SessionId session, const std::string& reason) {
            controller.OnGone(session, reason, clock.Now());
          },
      .on_excess =
          [&](SessionId session, const Excess& excess) {
            operator_log.OnRefused(controller.OnExcess(session, excess, clock.Now()));
          },
  };
}

void Notify(std::string_view state) {
  const Status notified = NotifySystemd(std::getenv("NOTIFY_SOCKET"), state);
  if (!notified.ok()) log::Warning("cannot notify systemd ({}): {}", state, notified.message());
}

void NotifyStopping(int signal) {
  log::Info("stopping: {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
  Notify("STOPPING=1");
}

Result<std::unique_ptr<store::Store>> OpenStore(const Settings& settings, WallTime now) {
  ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store,
                   store::OpenSqlite(settings.Text("state"), now));
  if (const store::Damage& damage = store->damage(); !damage.file.empty())
    log::Error("the state file was damaged: moved to {}, {} rows recovered", damage.file,
               damage.recovered);
  return store;
}

// Replaces the state file by a backup.
Status RestoreState(const Settings& settings, WallTime now) {
  const std::string path = settings.Text("state");
  ASSIGN_OR_RETURN(const std::string previous, store::Restore(settings.Text("restore"), path, now));
  std::printf("%s restored from %s\n", path.c_str(), settings.Text("restore").c_str());
  if (!previous.empty()) std::printf("The previous file is %s\n", previous.c_str());
  std::printf(
      "If the signing key was lost too, restore it from its own backup. Then start fabricd.\n");
  return {};
}

Result<std::unique_ptr<SiteAccess>> OpenSite(const Settings& settings, const Transport& transport,
                                             OperatorLog& operator_log, const Clock& clock) {
  ASSIGN_OR_RETURN(std::unique_ptr<SiteAccess> site,
                   SiteAccess::Open(settings, clock, [&](const v1::AuditEntry& entry) {
                     operator_log.OnAudit(entry);
                   }));
  if (const api::GrpcTls* const tls = transport.grpc())
    site->SetChainCheck([tls](std::string_view chain) { return tls->Verify(chain); });
  return site;
}

// An error changes nothing.
void ReloadBySignal(Reloader& reloader, Moment now) {
  Notify("RELOADING=1");
  const auto reloaded = reloader.Reload(now);
  if (!reloaded.ok())
    log::Error("reload refused, the previous files stay in use: {}", reloaded.status().message());
  Notify("READY=1");
}

Status Serve(const Settings& settings, std::vector<std::string> words,
             const sigset_t& ending_signals) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Transport> transport,
                   Transport::Open(settings, clock.Now().wall));
  ASSIGN_OR_RETURN(control::Policy policy, ReadPolicy(settings));
  ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                   OpenStore(settings, clock.Now().wall));
  ASSIGN_OR_RETURN(const std::unique_ptr<SigningKeys> keys, SigningKeys::Open(settings));
  OperatorLog operator_log;
  control::EventBus events(static_cast<std::uint64_t>(clock.Now().wall.time_since_epoch().count()));
  events.Subscribe(operator_log);
  ASSIGN_OR_RETURN(const std::unique_ptr<notify::Notifier> notifier,
                   OpenNotifier(settings, Issuer(), clock));
  events.Subscribe(*notifier);
  api::AgentFront agents;
  control::ControllerOptions options = OptionsOf(settings, operator_log);
  options.profile = std::move(policy.profile);
  options.sites = fleet::Sites(std::move(policy.places));
  options.custom_rules = std::move(policy.custom_rules);
  options.certificates.key = keys->current();
  control::Controller controller(options, *store, agents, events, clock.Now());
  RETURN_IF_ERROR(controller.Load(clock.Now()));
  if (const std::uint64_t rows = store->damage().rows; rows > 0)
    log::Error("{}: {} rows cannot be decoded and are skipped", settings.Text("state"), rows);
  ASSIGN_OR_RETURN(const subnet::Expectations expected, SubnetExpectations(settings));
  SubnetFiles subnets(settings.Text("infiniband-topology"), expected);
  if (!subnets.path().empty()) Use(subnets.Read(), subnets.path(), controller, clock.Now());
  ASSIGN_OR_RETURN(const std::unique_ptr<SiteAccess> site,
                   OpenSite(settings, *transport, operator_log, clock));
  access::Gate& gate = site->gate();
  agents.SetListener(ListenerOf(controller, gate, operator_log, clock));

  ASSIGN_OR_RETURN(const std::unique_ptr<SiteJoin> join,
                   SiteJoin::Open(settings, transport->files(), agents, clock.Now().wall));

  api::CallMetrics calls;
  api::Api fabric_api(controller, gate, clock, calls, join ? &join->service() : nullptr);
  const api::CallFunction call = [&](auto&&... arguments) { return fabric_api.Call(arguments...); };
  Reloader reloader(std::move(words), settings, [&](control::Policy next, Moment now) {
    controller.SetPolicy(std::move(next), now);
  });
  fabric_api.AnswerWith([&](const auto& request, auto& response, Moment now) {
    return reloader.Answer(request, response, now);
  });
  api::Health health(clock.Now().steady);
  const std::vector<api::Page> pages =
      StatusPages(controller, gate, health, calls, *transport, *notifier, clock);
  api::PeerSlots watchers("event watchers", {.total = 256, .per_peer = 64});
  ASSIGN_OR_RETURN(const auto grpc, api::GrpcFront::Listen(settings.Address("grpc"), call, events,
                                                           watchers, agents, transport->grpc()));
  ASSIGN_OR_RETURN(const HttpFront rest, ListenRest(settings, call, AllPages(pages, *keys, gate),
                                                    events, watchers, transport->http()));
  ASSIGN_OR_RETURN(const HttpFront status, ListenHealth(HealthAddress(settings), pages, events,
                                                        watchers, transport->http()));
  const std::jthread ticking = StartTicking(controller, health, clock);
  RETURN_IF_ERROR(
      ShowAddresses(settings, transport->http_scheme(),
                    {grpc->address(), rest.server->address(), status.server->address()}));
  Notify("READY=1");
  const auto check = [&, checks = 0]() mutable {
    if (health.Ready(clock.Now().steady).status == 200) Notify("WATCHDOG=1");
    site->Tick();
    if (join) join->Tick(clock.Now().wall);
    if (auto key = keys->Check()) controller.SetSigningKey(*std::move(key));
    transport->Check(clock.Now().wall, agents);
    if (++checks % kChecksPerRecheck == 0) agents.Recheck();
  };
  const int signal = AwaitEnd(
      ending_signals, subnets, controller, operator_log, check,
      [&] { ReloadBySignal(reloader, clock.Now()); }, clock);
  NotifyStopping(signal);
  rest.server->Stop();
  status.server->Stop();
  grpc->Stop();
  site->Stop();
  notifier->Stop();
  operator_log.Flush(controller.store_condition());
  return {};
}

int Main(std::span<const char* const> args) {
  const auto settings = Settings::Load(ControllerSettings(), args);
  if (!settings.ok()) {
    std::fprintf(stderr, "fabricd: %s\n", settings.status().message().c_str());
    return kExitUsage;
  }
  switch (settings->request()) {
    case Request::kRun: break;
    case Request::kHelp:
      std::printf(
          "%s", SettingsHelp("fabricd", "Controller of the fabric.", ControllerSettings()).c_str());
      return kExitOk;
    case Request::kShowVersion:
      std::printf("fabricd %s\n", std::string(kVersion).c_str());
      return kExitOk;
    case Request::kPrintConfig: std::printf("%s", settings->Print().c_str()); return kExitOk;
  }
  if (const Status status = CheckTransportSettings(*settings); !status.ok()) {
    std::fprintf(stderr, "fabricd: %s\n", status.message().c_str());
    return kExitUsage;
  }
  umask(077);  // State file, keys
  if (settings->Has("restore")) {
    const Status restored = RestoreState(*settings, SystemClock().Now().wall);
    if (!restored.ok()) std::fprintf(stderr, "fabricd: %s\n", restored.message().c_str());
    return restored.ok() ? kExitOk : kExitFailed;
  }
  const sigset_t ending_signals = BlockSignals();
  const auto level = log::ParseLevel(settings->Text("log-level"));
  log::Init("fabricd", level.ok() ? *level : log::Level::kInfo);
  api::RedirectGrpcLog();
  UseAllDescriptors();
  Status status = CheckListeners(*settings);
  if (status.ok()) status = Serve(*settings, {args.begin(), args.end()}, ending_signals);
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "fabricd: %s\n", status.message().c_str());
  return kExitFailed;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  return fabric::Main({argv + 1, argv + (argc > 0 ? argc : 1)});
}
