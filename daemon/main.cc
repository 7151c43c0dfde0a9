// fabricd, wired by hand:
//
//   agents ──gRPC──► AgentFront ──► Controller ◄── Api ◄──┬── GrpcFront ◄── fabricctl
//          ◄────────────┘ Send        │   │         │     ├── RestServer ◄── curl
//                                     │   │        Gate   │
//                                     │   │        Health ◄── RestServer ◄── probes, Prometheus
//                                     │   └──► EventBus ──► watchers (gRPC and SSE)
//   ticking thread ──Tick───────────► │
//                                     └──► Store (SQLite, or PostgreSQL with Leadership)
//
// With a state in PostgreSQL, Standby answers until Leadership has the lease.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/input.h"
#include "base/jws.h"
#include "base/log.h"
#include "base/systemd.h"
#include "base/text.h"
#include "base/version.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_front.h"
#include "daemon/config.h"
#include "daemon/control/controller.h"
#include "daemon/custom/node_rules.h"
#include "daemon/files/rule_files.h"
#include "daemon/files/subnet_files.h"
#include "daemon/http_fronts.h"
#include "daemon/leadership.h"
#include "daemon/operator_log.h"
#include "daemon/profile/places.h"
#include "daemon/profile/profile_yaml.h"
#include "daemon/serving.h"
#include "daemon/site_access.h"
#include "daemon/standby.h"
#include "daemon/state.h"
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

Result<std::string> ReadText(const std::string& path) {
  return ReadFile(path, profile::kFileBytesMax);
}

// Logs the loaded rules. Returns the number of problems.
std::uint32_t LogRules(std::span<const custom::RuleFile> files) {
  std::uint32_t problems = 0;
  for (const custom::RuleFile& file : files) {
    log::Info("{}: {} rules", file.name, file.rules.size());
    for (const yaml::Problem& problem : file.problems)
      log::Error("rule skipped: {}", yaml::ToString(problem));
    problems += static_cast<std::uint32_t>(file.problems.size());
  }
  return problems;
}

control::MeshSettings MeshOf(const Settings& settings) {
  return {.on = settings.Text("mesh") == "on",
          .paths = settings.Number("mesh-paths"),
          .pings_per_second = settings.Number("mesh-pings")};
}

control::ControllerOptions OptionsOf(const Settings& settings,
                                     std::span<const custom::RuleFile> rules,
                                     OperatorLog& operator_log) {
  return {
      .heartbeat_interval = settings.Duration("heartbeat-interval"),
      .lost_after = settings.Duration("lost-after"),
      .lifecycle = {.boot_grace = settings.Duration("boot-grace"),
                    .flap_hold = settings.Duration("flap-hold")},
      .settings_age_max = settings.Duration("settings-age-max"),
      .node_expiry = settings.Duration("node-expiry"),
      .custom_rules = {.rules = custom::NodeRules(rules),
                       .infos = custom::Infos(rules),
                       .problems = LogRules(rules)},
      .certificates = {.lifetime = settings.Duration("certificate-lifetime"),
                       .issuer = Issuer(),
                       .on_issued =
                           [&](const v1::Certificate& one) { operator_log.OnCertificate(one); }},
      .mesh = MeshOf(settings),
      .on_long_turn = [&](const control::LongTurn& turn) { operator_log.OnLongTurn(turn); }};
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

// What the site's files say.
struct SiteFiles {
  profile::Profile profile;
  profile::Places places;
  std::vector<custom::RuleFile> rules;
};

Result<SiteFiles> ReadSiteFiles(const Settings& settings) {
  auto profile = profile::LoadProfile(settings.Text("profile"), ReadText);
  if (!profile.ok()) return profile.status().In("profile");
  if (!profile->name().empty()) log::Info("profile {}", profile->name());
  ASSIGN_OR_RETURN(profile::Places places, profile::LoadPlaces(settings.Text("profile"), ReadText));
  auto rules = ReadRuleFiles(settings.Text("rules"));
  if (!rules.ok()) return rules.status().In("rules");
  return SiteFiles{*std::move(profile), std::move(places), *std::move(rules)};
}

// Returns the signal that ends the program; 0: another controller leads now, serve again.
Result<int> Serve(const Settings& settings, const sigset_t& ending_signals) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Transport> transport,
                   Transport::Open(settings, clock.Now().wall));
  ASSIGN_OR_RETURN(SiteFiles files, ReadSiteFiles(settings));
  ASSIGN_OR_RETURN(const std::unique_ptr<Leadership> leadership, OpenLeadership(settings));
  OperatorLog operator_log;
  const auto on_audit = [&](const v1::AuditEntry& entry) { operator_log.OnAudit(entry); };
  std::unique_ptr<SiteAccess> site;
  std::unique_ptr<Standby> standby;
  if (leadership) {
    ASSIGN_OR_RETURN(site, SiteAccess::Open(settings, clock, on_audit));
    ASSIGN_OR_RETURN(standby,
                     Standby::Listen(settings, *leadership, site->gate(), *transport, clock));
    ASSIGN_OR_RETURN(const int signal, AwaitLead(settings, *leadership, *standby,
                                                 transport->http_scheme(), ending_signals));
    if (signal != 0) return signal;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                   OpenStore(settings, leadership.get(), clock.Now().wall));
  ASSIGN_OR_RETURN(const KeyFile key, LoadKey(settings));
  control::EventBus events(static_cast<std::uint64_t>(clock.Now().wall.time_since_epoch().count()));
  events.Subscribe(operator_log);
  api::AgentFront agents;
  LeaderAgents leader_agents(agents, leadership.get(), store->epoch());
  control::ControllerOptions options = OptionsOf(settings, files.rules, operator_log);
  options.profile = std::move(files.profile);
  options.sites = fleet::Sites(std::move(files.places));
  options.certificates.key = key.key;
  control::Controller controller(options, *store, leader_agents, events, clock.Now());
  RETURN_IF_ERROR(controller.Load(clock.Now()));
  if (const std::uint64_t rows = store->damage().rows; rows > 0)
    log::Error("{}: {} rows cannot be decoded and are skipped", store->path(), rows);
  SubnetFiles subnets(settings.Text("infiniband-topology"));
  ReadSubnets(subnets, controller, clock.Now());
  if (!site) {
    ASSIGN_OR_RETURN(site, SiteAccess::Open(settings, clock, on_audit));
  }
  agents.SetListener(ListenerOf(controller, site->gate(), operator_log, clock));
  standby.reset();
  return ServeFronts(settings,
                     {.clock = clock,
                      .transport = *transport,
                      .leadership = leadership.get(),
                      .site = *site,
                      .key = key.key.Public(),
                      .operator_log = operator_log,
                      .events = events,
                      .agents = agents,
                      .controller = controller,
                      .subnets = subnets,
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
  if (const Status status = CheckTransportSettings(*settings); !status.ok()) {
    std::fprintf(stderr, "fabricd: %s\n", status.message().c_str());
    return kExitUsage;
  }
  umask(077);  // State file, keys
  if (settings->Has("copy-state-from")) {
    const Status copied = CopyStateFrom(*settings);
    if (!copied.ok()) std::fprintf(stderr, "fabricd: %s\n", copied.message().c_str());
    return copied.ok() ? kExitOk : kExitFailed;
  }
  const sigset_t ending_signals = BlockSignals();
  const auto level = log::ParseLevel(settings->Text("log-level"));
  log::Init("fabricd", level.ok() ? *level : log::Level::kInfo);
  api::RedirectGrpcLog();
  UseAllDescriptors();
  const Status listens = CheckListeners(*settings);
  Result<int> signal = listens.ok() ? Result<int>(0) : Result<int>(listens);
  while (signal.ok() && *signal == 0) signal = Serve(*settings, ending_signals);
  if (signal.ok()) return kExitOk;
  std::fprintf(stderr, "fabricd: %s\n", signal.status().message().c_str());
  return kExitFailed;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  return fabric::Main({argv + 1, argv + (argc > 0 ? argc : 1)});
}
