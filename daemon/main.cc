// fabricd, wired by hand:
//
//   agents ──gRPC──► AgentFront ──► Controller ◄── Api ◄──┬── GrpcFront ◄── fabricctl
//          ◄────────────┘ Send        │   │         │     ├── RestServer ◄── curl
//                                     │   │        Gate   │
//                                     │   │        Health ◄── RestServer ◄── probes, Prometheus
//                                     │   └──► EventBus ──► watchers (gRPC, SSE, OTLP)
//   ticking thread ──Tick───────────► │
//                                     └──► Store (SQLite, or PostgreSQL with Leadership)
//
// With a state in PostgreSQL, Standby answers reads until Leadership has the lease.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/systemd.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_front.h"
#include "daemon/config.h"
#include "daemon/control/controller.h"
#include "daemon/files/subnet_files.h"
#include "daemon/http_fronts.h"
#include "daemon/leadership.h"
#include "daemon/loading.h"
#include "daemon/notifications.h"
#include "daemon/operator_log.h"
#include "daemon/otlp_export.h"
#include "daemon/reloader.h"
#include "daemon/serving.h"
#include "daemon/signing_keys.h"
#include "daemon/site_access.h"
#include "daemon/site_join.h"
#include "daemon/standby.h"
#include "daemon/state.h"
#include "daemon/store/recovery.h"
#include "daemon/store/store.h"
#include "daemon/transport.h"

namespace fabric {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

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

// "fabricd 0.1.0 at head1"
std::string Issuer() {
  const std::string machine = MachineName();
  return Format("fabricd {}{}{}", kVersion, machine.empty() ? "" : " at ", machine);
}

// Borrows the clock.
std::function<Result<std::vector<notify::Receiver>>(const Settings&)> ReceiversFor(
    const Clock& clock) {
  return [&clock](const Settings& settings) { return ReadReceivers(settings, Issuer(), clock); };
}

control::MeshSettings MeshOf(const Settings& settings) {
  return {.on = settings.Text("mesh") == "on",
          .paths = settings.Number("mesh-paths"),
          .pings_per_second = settings.Number("mesh-pings")};
}

control::ActionOptions ActionsOf(const Settings& settings) {
  const std::string mode = settings.Text("remediation");
  return {.mode = mode == "automatic" ? control::Remediation::kAutomatic
                  : mode == "approve" ? control::Remediation::kApprove
                                      : control::Remediation::kOff,
          .per_hour = settings.Number("remediation-per-hour"),
          .nodes_percent = settings.Number("remediation-percent")};
}

control::ControllerOptions OptionsOf(const Settings& settings, OperatorLog& operator_log) {
  return {
      .heartbeat_interval = settings.Duration("heartbeat-interval"),
      .lost_after = settings.Duration("lost-after"),
      .pairs_at_once_max = settings.Number("pairs-at-once-max"),
      .lifecycle = {.boot_grace = settings.Duration("boot-grace"),
                    .flap_hold = settings.Duration("flap-hold")},
      .settings_age_max = settings.Duration("settings-age-max"),
      .node_expiry = settings.Duration("node-expiry"),
      .certificates = {.lifetime = settings.Duration("certificate-lifetime"),
                       .issuer = Issuer(),
                       .on_issued =
                           [&](const v1::Certificate& one) { operator_log.OnCertificate(one); }},
      .mesh = MeshOf(settings),
      .actions = ActionsOf(settings),
      .subnet_interval = settings.Duration("infiniband-interval"),
      .on_long_turn = [&](const control::LongTurn& turn) { operator_log.OnLongTurn(turn); }};
}

Result<subnet::Expectations> SubnetExpectations(const Settings& settings) {
  subnet::Expectations expected;
  if (settings.Has("infiniband-extra-hops"))
    expected.extra_hops = settings.Number("infiniband-extra-hops");
  expected.several_lanes = settings.Bool("infiniband-several-lanes");
  if (settings.Has("infiniband-routing")) {
    const auto routing = subnet::ParseRoutingEngine(settings.Text("infiniband-routing"));
    if (!routing.ok()) return routing.status().In("infiniband-routing");
    expected.routing = *routing;
  }
  if (settings.Has("infiniband-oversubscription")) {
    const auto ratio = subnet::ParseOversubscription(settings.Text("infiniband-oversubscription"));
    if (!ratio.ok()) return ratio.status().In("infiniband-oversubscription");
    expected.oversubscription_max = *ratio;
  }
  return expected;
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

// Answers as standby until this controller leads. Returns the signal that ends the program, or 0.
Result<int> AwaitLead(const Settings& settings, Leadership& leadership, Standby& standby,
                      std::string_view scheme, const sigset_t& ending_signals) {
  RETURN_IF_ERROR(ShowAddresses(settings, scheme, standby.addresses()));
  Notify("READY=1");
  log::Info("standing by: {}", leadership.Refusal().message());
  constexpr timespec kNow{};
  while (!leadership.AwaitTerm(std::chrono::milliseconds(500))) {
    const int signal = sigtimedwait(&ending_signals, nullptr, &kNow);
    if (signal == SIGTERM || signal == SIGINT) return signal;
    standby.Tick();
    Notify("WATCHDOG=1");
  }
  return 0;
}

// A file next to the state, where none is: entries and uses of tokens since the backup stay.
Status RestoreBeside(const Settings& settings, std::string_view suffix, const std::string& path,
                     const char* what) {
  const std::string backup = settings.Text("restore") + std::string(suffix);
  ASSIGN_OR_RETURN(const bool restored, store::RestoreIfMissing(backup, path));
  if (restored)
    std::printf("%s restored from %s\n", path.c_str(), backup.c_str());
  else if (std::filesystem::exists(path))
    std::printf("%s is kept: it also contains %s recorded since the backup\n", path.c_str(), what);
  else
    std::printf("%s is not in the backup\n", path.c_str());
  return {};
}

// Replaces the state file by a backup.
Status RestoreState(const Settings& settings, WallTime now) {
  const std::string path = settings.Text("state");
  if (path.find("://") != path.npos)
    return {Code::kInvalidArgument,
            "--restore: expected a file as the setting state, saw a URL; restore a database with "
            "the tools of PostgreSQL"};
  ASSIGN_OR_RETURN(const std::string previous, store::Restore(settings.Text("restore"), path, now));
  std::printf("%s restored from %s\n", path.c_str(), settings.Text("restore").c_str());
  if (!previous.empty()) std::printf("The previous file is %s\n", previous.c_str());
  RETURN_IF_ERROR(
      RestoreBeside(settings, store::kAuditSuffix, AuditPath(settings), "audit entries"));
  if (settings.Has("join-ca"))
    RETURN_IF_ERROR(
        RestoreBeside(settings, store::kJoinSuffix, RegistryPath(settings), "uses of join tokens"));
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

// The database can fail while this controller takes over, for example because it fails over itself.
// Returns 0, to stand by again after a moment, or the signal that ends the program. Other failures
// end it.
Result<int> StandByAgain(const Status& failure, const Leadership* leadership,
                         const sigset_t& ending_signals) {
  if (leadership == nullptr || failure.code() != Code::kUnavailable) return failure;
  log::Warning("cannot take over, standing by again: {}", failure.message());
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 500'000'000};
  const int signal = sigtimedwait(&ending_signals, nullptr, &kMoment);
  return signal == SIGTERM || signal == SIGINT ? signal : 0;
}

// Meanwhile the health listener of `health` answers. nullptr: those of a standby are open.
Status LoadState(control::Controller& controller, store::Store& store, const Settings* health,
                 Transport& transport, const Clock& clock) {
  std::unique_ptr<Loading> loading;
  if (health != nullptr) {
    ASSIGN_OR_RETURN(loading, Loading::Listen(*health, transport, clock));
  }
  RETURN_IF_ERROR(controller.Load(clock.Now()));
  if (const std::uint64_t rows = store.damage().rows; rows > 0)
    log::Error("{}: {} rows cannot be decoded and are skipped", store.path(), rows);
  return {};
}

// Returns the signal that ends the program; 0: another controller leads now, serve again.
Result<int> Serve(const Settings& settings, const std::vector<std::string>& arguments,
                  WallTime started, const sigset_t& ending_signals) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Transport> transport,
                   Transport::Open(settings, clock.Now().wall));
  ASSIGN_OR_RETURN(control::Policy policy, ReadPolicy(settings));
  ASSIGN_OR_RETURN(const std::unique_ptr<Leadership> leadership, OpenLeadership(settings));
  OperatorLog operator_log;
  control::ControllerOptions options = OptionsOf(settings, operator_log);
  options.profile = std::move(policy.profile);
  options.sites = fleet::Sites(std::move(policy.places));
  options.custom_rules = std::move(policy.custom_rules);
  std::unique_ptr<SiteAccess> site;
  std::unique_ptr<Standby> standby;
  if (leadership) {
    ASSIGN_OR_RETURN(site, OpenSite(settings, *transport, operator_log, clock));
    ASSIGN_OR_RETURN(
        standby, Standby::Listen(settings, *leadership, site->gate(), *transport, clock, options));
    ASSIGN_OR_RETURN(const int signal, AwaitLead(settings, *leadership, *standby,
                                                 transport->http_scheme(), ending_signals));
    if (signal != 0) return signal;
  }
  const auto opened = OpenStore(settings, leadership.get(), clock.Now().wall);
  if (!opened.ok()) return StandByAgain(opened.status(), leadership.get(), ending_signals);
  const std::unique_ptr<store::Store>& store = *opened;
  ASSIGN_OR_RETURN(const std::unique_ptr<SigningKeys> keys, SigningKeys::Open(settings));
  control::EventBus events(static_cast<std::uint64_t>(clock.Now().wall.time_since_epoch().count()));
  events.Subscribe(operator_log);
  ASSIGN_OR_RETURN(const std::unique_ptr<notify::Notifier> notifier,
                   OpenNotifier(settings, Issuer(), clock));
  events.Subscribe(*notifier);
  api::AgentFront agents;
  LeaderAgents leader_agents(agents, leadership.get(), store->epoch());
  options.certificates.key = keys->current();
  const std::unique_ptr<control::Background> background = control::StartBackground();
  options.background = background.get();
  control::Controller controller(options, *store, leader_agents, events, clock.Now());
  const Status loaded =
      LoadState(controller, *store, standby == nullptr ? &settings : nullptr, *transport, clock);
  if (!loaded.ok()) return StandByAgain(loaded, leadership.get(), ending_signals);
  ASSIGN_OR_RETURN(const subnet::Expectations expected, SubnetExpectations(settings));
  SubnetFiles subnets(settings.Text("infiniband-topology"), expected,
                      settings.Text("infiniband-plan"));
  subnets.SetLimits(controller.FleetExpectations());
  ReadSubnets(subnets, controller, clock.Now());
  if (!site) {
    ASSIGN_OR_RETURN(site, OpenSite(settings, *transport, operator_log, clock));
  }
  agents.SetListener(ListenerOf(controller, site->gate(), operator_log, clock));
  standby.reset();
  return ServeFronts(settings,
                     {.clock = clock,
                      .started = started,
                      .transport = *transport,
                      .leadership = leadership.get(),
                      .site = *site,
                      .keys = *keys,
                      .operator_log = operator_log,
                      .events = events,
                      .agents = agents,
                      .controller = controller,
                      .subnets = subnets,
                      .notifier = *notifier,
                      .receivers_of = ReceiversFor(clock),
                      .arguments = arguments,
                      .notify = Notify},
                     ending_signals);
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
  for (const auto check : {CheckTransportSettings, CheckOtlpSettings}) {
    const Status status = check(*settings);
    if (status.ok()) continue;
    std::fprintf(stderr, "fabricd: %s\n", status.message().c_str());
    return kExitUsage;
  }
  umask(077);  // State file, keys
  if (settings->Has("restore")) {
    const Status restored = RestoreState(*settings, SystemClock().Now().wall);
    if (!restored.ok()) std::fprintf(stderr, "fabricd: %s\n", restored.message().c_str());
    return restored.ok() ? kExitOk : kExitFailed;
  }
  if (settings->Has("copy-state-from")) {
    const Status copied = CopyStateFrom(*settings);
    if (!copied.ok()) std::fprintf(stderr, "fabricd: %s\n", copied.message().c_str());
    return copied.ok() ? kExitOk : kExitFailed;
  }
  const sigset_t ending_signals = BlockSignals();
  log::Init("fabricd", *settings);
  api::RedirectGrpcLog();
  UseAllDescriptors();
  const Status listens = CheckListeners(*settings);
  Result<int> signal = listens.ok() ? Result<int>(0) : Result<int>(listens);
  const WallTime started = SystemClock().Now().wall;
  while (signal.ok() && *signal == 0)
    signal = Serve(*settings, {args.begin(), args.end()}, started, ending_signals);
  if (signal.ok()) return kExitOk;
  log::Plain(stderr, log::Level::kError, Format("fabricd: {}", signal.status().message()));
  return kExitFailed;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  return fabric::Main({argv + 1, argv + (argc > 0 ? argc : 1)});
}
