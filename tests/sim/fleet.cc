#include "tests/sim/fleet.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "tests/testing/full_count.h"
#include "tests/testing/nodes.h"

namespace fabric::sim {
namespace {

constexpr std::uint32_t kPageMax = 10'000;  // Above the nodes, ports and findings of a scenario

using namespace std::chrono_literals;

constexpr Duration kTickEvery = 100ms;
constexpr WallTime kWallBase{1'800'000'000s};
constexpr std::uint32_t kPingsPerLabel = 25;  // What a ping of the campaign is taken to be

Duration CpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

// What is signed with it says nothing that a run depends on.
SigningKey NewKey() {
  auto key = SigningKey::Generate();
  if (!key.ok()) std::abort();
  return *std::move(key);
}

v1::ProbeResult Broken(const v1::ProbeSpec& spec) {
  v1::ProbeResult result;
  result.set_status(v1::PROBE_STATUS_FAILED);
  if (spec.has_ud_ping()) {
    result.set_reason("none of 100 pings was answered");
    result.mutable_ping()->set_sent(4 * kPingsPerLabel);
    result.mutable_ping()->set_lost(4 * kPingsPerLabel);
  } else {
    result.set_reason("transport retry counter exceeded");
  }
  return result;
}

}  // namespace

template <class Work>
auto Fleet::Busy(Work work) {
  struct Timer {
    Duration& sum;
    Duration begun = CpuTime();
    ~Timer() { sum += CpuTime() - begun; }
  } timer{controller_busy_};
  return work();
}

Fleet::Fleet(const FleetOptions& options)
    : options_(options),
      key_(NewKey()),
      random_(options.seed),
      trace_(options.show),
      clos_(options.shape, options.seed),
      bursts_(queue_),
      checks_(queue_, trace_),
      sink_(*this),
      wire_(queue_, random_, *this) {
  bus_.Subscribe(checks_);
  for (std::uint32_t number = 0; number < options.shape.nodes; ++number)
    agents_.push_back(
        std::make_unique<SimAgent>(number,
                                   SimAgentOptions{.seed = options.seed,
                                                   .counters = options.counters,
                                                   .probe_takes = options.probe_takes,
                                                   .slow_closes = options.slow_closes},
                                   *this));
  OpenController();
  queue_.After(kTickEvery, [this] { Tick(); });
}

Fleet::~Fleet() {
  bus_.Unsubscribe(checks_);
}

Moment Fleet::Now() const {
  return {SteadyTime(1000s + queue_.now()), kWallBase + queue_.now()};
}

// What a failing start would mean is no matter of the simulation.
void Fleet::OpenController() {
  auto opened = store::OpenSqlite(directory_.path() + "/state.db");
  if (!opened.ok()) std::abort();
  store_ = *std::move(opened);
  controller_ = std::make_unique<control::Controller>(
      control::ControllerOptions{.pairs_at_once_max = options_.pairs_at_once,
                                 .certificates = {.key = key_},
                                 .mesh = {.on = options_.mesh, .paths = options_.shape.spines}},
      *store_, sink_, bus_, Now());
  if (++controllers_ > 1 && !Busy([&] { return controller_->Load(Now()); }).ok()) std::abort();
  wire_.Listen();
}

void Fleet::Tick() {
  queue_.After(kTickEvery, [this] { Tick(); });
  if (controller_up() && !wire_.controller_stalled()) Busy([&] { controller_->Tick(Now()); });
  constexpr int kTicksOfCount = 50;
  if (!controller_up() || ++ticks_ % kTicksOfCount != 0) return;
  if (const auto text = testing::DifferenceToFullCount(*controller_, Now()); !text.empty())
    checks_.Violate("numbers for /metrics: " + text);
}

void Fleet::BootAll(Duration within) {
  for (const auto& agent : agents_)
    queue_.After(
        Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(within.count()))),
        [&agent = *agent] { agent.Boot(); });
}

Result<std::string> Fleet::StartCampaign(const v1::CampaignSpec& spec) {
  if (!controller_up()) return Status(Code::kUnavailable, "the controller is down");
  v1::StartCampaignRequest request;
  *request.mutable_spec() = spec;
  v1::Campaign campaign;
  RETURN_IF_ERROR(Busy([&] { return controller_->Call(request, campaign, Now()); }));
  return campaign.id();
}

Status Fleet::Cancel(const std::string& campaign) {
  if (!controller_up()) return {Code::kUnavailable, "the controller is down"};
  v1::CancelCampaignRequest request;
  request.set_id(campaign);
  v1::Campaign ended;
  return Busy([&] { return controller_->Call(request, ended, Now()); });
}

v1::Campaign Fleet::Campaign(const std::string& id, bool results) {
  v1::GetCampaignRequest request;
  request.set_id(id);
  v1::Campaign campaign;
  if (const Status got = controller_->Call(request, campaign, Now()); !got.ok())
    checks_.Violate(Format("campaign {} is not known: {}", id, got.message()));
  v1::ListCampaignResultsRequest list;
  list.set_id(id);
  while (results) {
    v1::ListCampaignResultsResponse page;
    if (const Status got = controller_->Call(list, page, Now()); !got.ok())
      checks_.Violate(Format("campaign {} has no results: {}", id, got.message()));
    campaign.mutable_results()->MergeFrom(page.results());
    list.set_page_token(page.next_page_token());
    if (list.page_token().empty()) break;
  }
  return campaign;
}

std::vector<v1::NodeSummary> Fleet::Nodes() {
  v1::ListNodesResponse response;
  v1::ListNodesRequest request;
  request.set_page_size(kPageMax);
  (void)controller_->Call(request, response, Now());
  return {response.nodes().begin(), response.nodes().end()};
}

std::vector<v1::DeviceSummary> Fleet::Devices() {
  v1::ListDevicesResponse response;
  v1::ListDevicesRequest request;
  request.set_page_size(kPageMax);
  (void)controller_->Call(request, response, Now());
  return {response.devices().begin(), response.devices().end()};
}

std::vector<v1::Finding> Fleet::Findings() {
  v1::ListFindingsResponse response;
  v1::ListFindingsRequest request;
  request.set_page_size(kPageMax);
  (void)controller_->Call(request, response, Now());
  std::vector<v1::Finding> failing;
  for (const v1::Finding& finding : response.findings())
    if (finding.verdict() == v1::VERDICT_FAIL) failing.push_back(finding);
  return failing;
}

v1::MeshStatus Fleet::Mesh() {
  v1::MeshStatus status;
  (void)controller_->Call(v1::GetMeshRequest(), status, Now());
  return status;
}

Result<std::string> Fleet::Certify(const v1::CertificateRequest& request) {
  if (!controller_up()) return Status(Code::kUnavailable, "the controller is down");
  v1::StartCertificateRequest start;
  *start.mutable_request() = request;
  v1::Certificate certificate;
  RETURN_IF_ERROR(Busy([&] { return controller_->Call(start, certificate, Now()); }));
  return certificate.id();
}

v1::GetCertificateResponse Fleet::Certificate(const std::string& id) {
  v1::GetCertificateRequest request;
  request.set_id(id);
  v1::GetCertificateResponse response;
  if (const Status got = controller_->Call(request, response, Now()); !got.ok())
    checks_.Violate(Format("certificate {} is not known: {}", id, got.message()));
  return response;
}

void Fleet::CrashController(Duration down_for) {
  if (!controller_up()) return;
  trace_.Tell(now(), "the controller crashes");
  wire_.StopListening();
  controller_.reset();
  store_.reset();
  checks_.OnControllerCrash();
  queue_.After(down_for, [this] {
    OpenController();
    trace_.Tell(now(), "the controller is started");
  });
}

void Fleet::StallController(Duration how_long) {
  trace_.Tell(now(), Format("the controller stands still for {} ms", how_long / 1ms));
  wire_.StallController(now() + how_long);
}

void Fleet::SetLink(const Port& port, bool up) {
  if (up)
    links_down_.erase({port.node, port.rail});
  else
    links_down_.insert({port.node, port.rail});
  queue_.After(2ms, [this, node = port.node] { agents_[node]->InspectNow(); });
}

void Fleet::AddDouble(std::uint32_t of, bool same_id) {
  const auto number = static_cast<std::uint32_t>(agents_.size());
  doubles_.push_back({of, same_id});
  agents_.push_back(std::make_unique<SimAgent>(
      number, SimAgentOptions{.seed = options_.seed, .probe_takes = options_.probe_takes}, *this));
  agents_.back()->Boot();
}

void Fleet::RemoveDoubles() {
  for (std::size_t number = size(); number < agents_.size(); ++number)
    agents_[number]->Crash(false);
}

bool Fleet::HasDouble(std::uint32_t of) const {
  return std::any_of(doubles_.begin(), doubles_.end(),
                     [&](const Double& twin) { return twin.of == of; });
}

std::uint32_t Fleet::MachineOf(std::uint32_t number) const {
  return number < size() ? number : doubles_[number - size()].of;
}

v1::NodeSnapshot Fleet::Inspect(std::uint32_t number) {
  const std::uint32_t machine = MachineOf(number);
  v1::NodeSnapshot snapshot = clos_.Snapshot(machine);
  for (std::uint32_t rail = 0; rail < options_.shape.rails; ++rail)
    if (links_down_.contains({machine, rail})) testing::LinkDown(snapshot, rail);
  if (number != machine && !doubles_[number - size()].same_id)
    snapshot.mutable_node()->set_machine_id(Format("{:032x}", 1'000'000 + number));
  return snapshot;
}

bool Fleet::Reaches(std::uint32_t number, const v1::ProbeAssignment& assignment,
                    const v1::ProbeEndpoint& remote) const {
  const std::uint64_t partner = remote.remote_address();
  if (partner >= agents_.size()) return false;
  const SimAgent& other = *agents_[partner];
  const auto cut = [&](std::uint32_t machine, std::uint32_t rail) {
    return links_down_.contains({MachineOf(machine), rail});
  };
  return !cut(number, assignment.local().rail()) &&
         !cut(static_cast<std::uint32_t>(partner), assignment.remote().rail()) && other.up() &&
         other.runner().Answers(remote.remote_key());
}

v1::ProbeResult Fleet::BurstOf(std::uint32_t number, const v1::ProbeAssignment& assignment) const {
  const auto bytes = bursts_.BytesOf({MachineOf(number), assignment.local().rail()});
  if (bytes.value_or(0) == 0) return Broken(assignment.spec());
  const double seconds = assignment.spec().incast().duration_ms() / 1e3;
  v1::ProbeResult result;
  result.set_status(v1::PROBE_STATUS_OK);
  result.mutable_bandwidth()->set_bytes(*bytes);
  result.mutable_bandwidth()->set_seconds(seconds);
  result.mutable_bandwidth()->set_mean_bps(static_cast<double>(*bytes) * 8 / seconds);
  return result;
}

void Fleet::BeginBurst(std::uint32_t number, const v1::ProbeAssignment& assignment,
                       Duration how_long) {
  const v1::ProbePort& to = assignment.remote();
  const auto receiver = static_cast<std::uint32_t>(std::stoul(to.node().substr(1))) - 1;
  bursts_.Begin({MachineOf(number), assignment.local().rail()}, {receiver, to.rail()}, how_long);
}

v1::ProbeResult Fleet::Measure(std::uint32_t number, const v1::ProbeAssignment& assignment,
                               const v1::ProbeEndpoint& remote) {
  const v1::ProbeSpec& spec = assignment.spec();
  if (!Reaches(number, assignment, remote)) return Broken(spec);
  if (spec.has_incast()) return BurstOf(number, assignment);
  google::protobuf::RepeatedPtrField<v1::PairResult> both;
  const auto second = static_cast<std::uint32_t>(now() / 1s);
  clos_.SetTrafficClass(spec.traffic_class());
  clos_.Probe(assignment.local(), assignment.remote(), second, both);
  const v1::ProbeResult& ping = both[0].result();
  const v1::ProbeResult& bandwidth = both[1].result();
  if (spec.has_ud_ping()) {
    if (ping.ping().answered() == 0) return Broken(spec);
    return ping;
  }
  if (bandwidth.status() != v1::PROBE_STATUS_OK) return Broken(spec);
  if (bandwidth.has_bandwidth() && spec.has_rc_write_bandwidth()) {
    v1::ProbeResult measured = bandwidth;
    if (!spec.rc_write_bandwidth().bidirectional()) measured.clear_reverse_bandwidth();
    return measured;
  }
  v1::ProbeResult latency;
  latency.set_status(v1::PROBE_STATUS_OK);
  latency.mutable_latency()->set_median_us(ping.ping().network_round_trip().median_us() / 2 + 0.1);
  latency.mutable_latency()->set_samples(1000);
  return latency;
}

void Fleet::OnQueuePairs(std::uint32_t number, const v1::ProbeAssignment& assignment, bool open) {
  checks_.OnQueuePairs(number, assignment, open);
  const bool sent = assignment.spec().has_incast() && assignment.role() == v1::PROBE_ROLE_INITIATOR;
  if (sent && !open) bursts_.EndNow({MachineOf(number), assignment.local().rail()});
}

// What is sent to a queue pair that is not there any more is lost.
v1::FlowSummary Fleet::Ping(std::uint32_t number, const v1::ProbePort& from,
                            const v1::MeshTarget& to, std::uint32_t flow_label,
                            std::uint32_t count) {
  const std::uint64_t partner = to.endpoint().remote_address();
  const auto cut = [&](std::uint32_t machine, std::uint32_t rail) {
    return links_down_.contains({MachineOf(machine), rail});
  };
  const bool answered =
      partner < agents_.size() && agents_[partner]->up() && !agents_[partner]->frozen() &&
      agents_[partner]->mesh().Answers(to.endpoint().queue_pair_number()) &&
      !cut(number, from.rail()) && !cut(static_cast<std::uint32_t>(partner), to.remote().rail());
  if (answered)
    return clos_.Flow(from, to.remote(), flow_label, count, static_cast<std::uint32_t>(now() / 1s));
  v1::FlowSummary lost;
  lost.set_flow_label(flow_label);
  lost.set_sent(count);
  lost.set_lost(count);
  return lost;
}

Status Fleet::OnAgentMessage(SessionId session, const v1::AgentMessage& message) {
  trace_.Number(session.value() << 8 | static_cast<std::uint64_t>(message.body_case()));
  trace_.Add(now());
  if (const auto node = wire_.AgentOf(session))
    checks_.OnHeard(NodeName(MachineOf(*node)), message);
  return Busy([&] { return controller_->OnMessage(session, message, Now()); });
}

void Fleet::OnAgentGone(SessionId session, const std::string& reason) {
  if (!controller_up()) return;
  Busy([&] { controller_->OnGone(session, reason, Now()); });
}

void Fleet::OnControllerMessage(std::uint32_t agent, SessionId session,
                                v1::ControllerMessage message) {
  agents_[agent]->OnMessage(session, std::move(message));
}

void Fleet::OnStreamEnded(std::uint32_t agent, SessionId session, const Status& why) {
  agents_[agent]->OnEnded(session, why);
}

void Fleet::OnWritten(std::uint32_t agent, SessionId session) {
  agents_[agent]->OnWritten(session);
}

void Fleet::Sink::Send(SessionId session, const v1::ControllerMessage& message) {
  fleet_.checks_.OnSent(message);
  fleet_.wire_.Send(session, message);
}

void Fleet::Sink::Close(SessionId session, const Status& status) {
  if (const auto agent = fleet_.wire_.AgentOf(session))
    fleet_.checks_.OnSessionEnded(NodeName(fleet_.MachineOf(*agent)));
  fleet_.trace_.Tell(fleet_.now(), "session closed: " + status.message());
  fleet_.wire_.Close(session, status);
}

}  // namespace fabric::sim
