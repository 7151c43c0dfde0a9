#include "daemon/control/certificates/certificates.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/certificates/certificate_plan.h"
#include "daemon/control/summaries.h"
#include "daemon/plan/plan.h"
#include "daemon/plan/ports.h"
#include "daemon/rules/causes/common_cause.h"
#include "daemon/rules/rule.h"
#include "proto/affected.h"
#include "proto/bounds.h"
#include "proto/coverage.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr int kNodesMax = Limit("CertificateRequest.nodes");
constexpr std::size_t kUnknownMax = 1'000;  // A longer list of unknown names is a mistake.
constexpr int kRailsMax = 64;
constexpr std::size_t kJobBytesMax = 256;

Status Wrong(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// Checks the request, sorts it, removes duplicates and sets the default time.
Result<v1::CertificateRequest> Complete(v1::CertificateRequest request) {
  if (request.nodes().empty()) return Wrong("nodes: expected at least one, saw none");
  if (request.nodes_size() > kNodesMax)
    return Wrong(Format("nodes: expected at most {}, saw {}", kNodesMax, request.nodes_size()));
  for (const std::string& node : request.nodes()) RETURN_IF_ERROR(CheckNodeName(node).In("nodes"));
  if (request.rails_size() > kRailsMax)
    return Wrong(Format("rails: expected at most {}, saw {}", kRailsMax, request.rails_size()));
  if (request.job_id().size() > kJobBytesMax)
    return Wrong(
        Format("job_id: expected at most {} bytes, saw {}", kJobBytesMax, request.job_id().size()));
  if (request.within_seconds() == 0) request.set_within_seconds(kWithinDefaultSeconds);
  if (request.within_seconds() < kWithinMinSeconds || request.within_seconds() > kWithinMaxSeconds)
    return Wrong(Format("within_seconds: expected {} to {}, saw {}", kWithinMinSeconds,
                        kWithinMaxSeconds, request.within_seconds()));
  RETURN_IF_ERROR(Check(request.class_choice()).In("class_choice"));
  const std::set<std::string> nodes(request.nodes().begin(), request.nodes().end());
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  const std::set<std::uint32_t> rails(request.rails().begin(), request.rails().end());
  request.mutable_rails()->Assign(rails.begin(), rails.end());
  return request;
}

Duration WithinOf(const v1::CertificateRequest& request) {
  return std::chrono::seconds(request.within_seconds());
}

bool IsAsked(const v1::CertificateRequest& request, const fleet::PortView& port) {
  const auto& rails = request.rails();
  return port.rail && !port.expected().unused() &&
         (rails.empty() ||
          std::find(rails.begin(), rails.end(), port.rail->value()) != rails.end());
}

// The requested ports, and the nodes without one.
struct Asked {
  std::vector<AskedPort> ports;
  std::vector<v1::CoverageGap> without;
};

Asked PortsAskedFor(const fleet::FleetView& view, const fleet::Sites& sites,
                    const v1::CertificateRequest& request) {
  Asked asked;
  for (const fleet::NodeView& node : view.nodes()) {
    std::set<std::uint32_t> missing(request.rails().begin(), request.rails().end());
    bool any = false;
    for (const fleet::PortView& port : node.ports) {
      if (!IsAsked(request, port)) continue;
      any = true;
      missing.erase(port.rail->value());
      AskedPort& made = asked.ports.emplace_back();
      made.port.set_node(port.node->name);
      made.port.set_device(port.device->name());
      made.port.set_port(port.port->number());
      made.port.set_rail(port.rail->value());
      made.network = port.port->link_layer();
      made.leaf = sites.Of(port).leaf;
    }
    for (const std::uint32_t rail : missing)
      asked.without.push_back(CoverageGapOf(node.node->name, v1::COVERAGE_GAP_REASON_NO_PORT,
                                            Format("no port on rail {}", rail)));
    if (!any && missing.empty())
      asked.without.push_back(CoverageGapOf(node.node->name, v1::COVERAGE_GAP_REASON_NO_PORT,
                                            "no RDMA port of the fabric"));
  }
  return asked;
}

// Sets the obstacles of ports that cannot be probed, and removes these from `found`.
void TakeObstacles(std::vector<AskedPort>& asked, bool alone, plan::Candidates& found) {
  std::map<std::string, v1::CoverageGap> skipped;
  for (const v1::CoverageGap& gap : found.skipped) skipped[SubjectName(gap)] = gap;
  std::map<std::pair<std::uint32_t, v1::LinkLayer>, std::size_t> partners;
  for (AskedPort& port : asked) {
    const auto at = skipped.find(plan::PortName(port.port));
    if (at != skipped.end()) port.obstacle = at->second;
    if (!port.obstacle) ++partners[{port.port.rail(), port.network}];
  }
  for (AskedPort& port : asked)
    if (!alone && !port.obstacle && partners[{port.port.rail(), port.network}] < 2)
      port.obstacle =
          CoverageGapOf(port.port, v1::COVERAGE_GAP_REASON_NO_PARTNER,
                        Format("no partner on rail {} among these nodes", port.port.rail()));
  std::set<std::string> usable;
  for (const AskedPort& port : asked)
    if (!port.obstacle) usable.insert(plan::PortName(port.port));
  std::erase_if(found.ports, [&](const plan::Port& port) {
    return !usable.contains(plan::PortName(port.port));
  });
}

v1::CampaignSpec SpecOf(const v1::CertificateRequest& request, const CertificatePlan& planned,
                        bool alone, std::uint64_t seed) {
  v1::CampaignSpec spec;
  *spec.mutable_nodes() = request.nodes();
  *spec.mutable_rails() = request.rails();
  spec.set_pattern(alone ? v1::CAMPAIGN_PATTERN_LOOPBACK : v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  spec.set_seed(seed);
  if (!alone) spec.set_degree(planned.rounds);
  spec.set_until_decided(!planned.all_pairs && !alone);
  spec.mutable_probes()->Assign(planned.probes.begin(), planned.probes.end());
  return spec;
}

}  // namespace

Certificates::Certificates(const CertificateOptions& options, const CertificateSources& sources,
                           std::uint32_t pairs_at_once, Outbox& outbox)
    : options_(options), sources_(sources), pairs_at_once_(pairs_at_once), outbox_(outbox) {}

// The epoch makes ids unique across runs of the controller.
std::string Certificates::IdOf(std::uint64_t number) const {
  return Format("cert-{:x}-{}", outbox_.store().file().epoch(), number);
}

Status Certificates::CheckRoom(const std::string& author) const {
  if (waiting_.size() >= kRunningMax)
    return {Code::kResourceExhausted,
            Format("{} certificates are in progress: retry when one is done", waiting_.size())};
  const auto own = static_cast<std::uint64_t>(std::ranges::count_if(
      waiting_, [&](std::uint64_t one) { return known_.at(one).running->author == author; }));
  if (author.empty() || own < Limit("certificates_of_caller")) return {};
  return ToStatus({.bound = &BoundOf("certificates_of_caller"), .seen = own + 1}).In(author);
}

Result<v1::Certificate> Certificates::Start(const v1::CertificateRequest& request,
                                            const std::string& author, Moment now) {
  ASSIGN_OR_RETURN(const v1::CertificateRequest complete, Complete(request));
  RETURN_IF_ERROR(CheckKnown(complete));
  if (!options_.key) return Status(Code::kFailedPrecondition, "the controller has no signing key");
  RETURN_IF_ERROR(CheckRoom(author));
  Forget();
  const std::uint64_t number = next_++;
  Known& known = known_[number];
  v1::Certificate& certificate = *known.answer.mutable_certificate();
  certificate.set_id(IdOf(number));
  certificate.set_state(v1::CERTIFICATE_STATE_RUNNING);
  *certificate.mutable_request() = complete;
  certificate.set_issuer(options_.issuer);
  *certificate.mutable_started_at() = ToProto(now.wall);
  waiting_.insert(number);
  known.running.emplace(Running{.work = CertificateWork({}, false),
                                .doubts = {},
                                .not_covered = {},
                                .probing_until = now.steady + ProbingTime(WithinOf(complete)),
                                .deadline = now.steady + WithinOf(complete),
                                .author = author});
  Status status = Probe(certificate, *known.running, now);
  if (status.ok())
    status = outbox_.store().Durably(
        [&](store::Store& store) { return store.PutCertificate(known.answer); });
  if (status.ok()) return certificate;
  if (!certificate.campaign().empty()) {
    (void)sources_.campaigns.Cancel(certificate.campaign(), now);
    running_.erase(certificate.campaign());
  }
  waiting_.erase(number);
  known_.erase(number);
  return status;
}

// Starts a campaign over the requested ports that can be probed.
Status Certificates::Probe(v1::Certificate& certificate, Running& running, Moment now) {
  const v1::CertificateRequest& request = certificate.request();
  fleet::ExpectationTable expectations;
  const fleet::FleetView view(ConnectedNodes(request, expectations));
  Asked asked = PortsAskedFor(view, sources_.sites, request);
  running.doubts = std::move(asked.without);
  const bool alone = request.nodes_size() == 1;
  plan::Candidates found;
  std::vector<v1::TrafficClass> classes = sources_.job_classes.Of(
      request.class_choice(), {.nodes = {request.nodes().begin(), request.nodes().end()},
                               .rails = {request.rails().begin(), request.rails().end()}});
  if (!asked.ports.empty()) {
    v1::CampaignSpec all;
    all.add_probes();
    SetClasses(classes, all);  // Ports without its P_Key cannot be probed.
    for (const AskedPort& port : asked.ports) all.add_rails(port.port.rail());
    auto ports = plan::FindPorts(view, all, sources_.campaigns.ProbedLately(now), sources_.sites);
    if (ports.ok()) found = *std::move(ports);
    TakeObstacles(asked.ports, alone, found);
  }
  for (const AskedPort& port : asked.ports)
    if (!port.obstacle)
      running.memory.AddPort(port.port, sources_.fleet.Find(port.port.node())->snapshot);
  running.work = CertificateWork(std::move(asked.ports), alone);
  if (found.ports.empty()) return {};  // Tick() says so.
  std::size_t partners_max = 0;
  for (const AskedPort& port : running.work.ports())
    partners_max = std::max<std::size_t>(partners_max, port.partners);
  CertificatePlan planned = PlanWithin(
      WithinOf(request),
      {.count = found.ports.size(), .partners_max = partners_max, .alone = alone}, pairs_at_once_);
  running.not_covered = std::move(planned.not_covered);
  const std::uint64_t seed =
      static_cast<std::uint64_t>(now.wall.time_since_epoch().count()) ^ next_;
  v1::CampaignSpec spec = SpecOf(request, planned, alone, seed);
  SetClasses(classes, spec);
  certificate.mutable_classes()->Assign(classes.begin(), classes.end());
  auto made = plan::MakePlan(std::move(found.ports), std::move(found.leaf_names), spec,
                             std::move(found.pod_names));
  if (!made.ok()) {
    running.not_covered.push_back(
        CoverageGapOf(v1::COVERAGE_GAP_REASON_NO_PLAN, made.status().message()));
    return {};
  }
  // By the routes between these nodes, where an InfiniBand subnet is known.
  blame::Fabric fabric = blame::FabricOf(view, sources_.sites, spec);
  fabric.passes_cables = !alone && !fabric.routes.empty();
  // Probes can have results while the campaign starts.
  certificate.set_campaign(sources_.campaigns.NextId());
  running_[certificate.campaign()] = next_ - 1;
  const auto started =
      sources_.campaigns.Start(spec,
                               {.plan = *std::move(made),
                                .fabric = std::move(fabric),
                                .classes = std::move(classes),
                                .expectations = Expectations(view, sources_.sites),
                                .explained = rules::ExplainedPorts(sources_.findings.Failing()),
                                .pairs = sources_.located.Pairs(),
                                .settle = !alone},
                               now);
  if (started.ok()) return {};
  running_.erase(certificate.campaign());
  certificate.clear_campaign();
  return started.status();
}

Status Certificates::CheckKnown(const v1::CertificateRequest& request) const {
  std::size_t unknown = 0;
  for (const std::string& name : request.nodes())
    if (sources_.fleet.Find(name) == nullptr) ++unknown;
  if (unknown <= kUnknownMax) return {};
  return Wrong(Format("nodes: expected at most {} unknown names, saw {}", kUnknownMax, unknown));
}

void Certificates::Take(const std::string& campaign, const v1::PairResult& result) {
  const auto at = running_.find(campaign);
  if (at == running_.end()) return;
  Known& known = known_.at(at->second);
  if (!known.running) return;
  if (campaign == known.answer.certificate().gpu_campaign())
    known.running->memory.Take(result);
  else
    known.running->work.Take(result);
}

void Certificates::Tick(const Unjudged& unjudged, Moment now) {
  const std::set<std::uint64_t> waiting = waiting_;
  for (const std::uint64_t number : waiting) {
    Known& known = known_.at(number);
    const v1::Certificate& certificate = known.answer.certificate();
    Running& running = *known.running;
    const std::string& campaign = certificate.campaign();
    if (!campaign.empty() && sources_.campaigns.Runs(campaign)) {
      if (now.steady < running.probing_until) continue;
      running.cut_off = true;
      (void)sources_.campaigns.Cancel(campaign, now);  // It exists: it runs.
      if (sources_.campaigns.Runs(campaign)) continue;
    }
    if (TestMemory(number, now)) continue;
    // Its campaign can show that a fault is repaired, whose finding is open until an evaluation.
    if (unjudged.located && now.steady < running.deadline) continue;
    const auto& nodes = certificate.request().nodes();
    const bool judged = std::none_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      return unjudged.nodes.contains(node);
    });
    if (!judged && now.steady < running.probing_until) continue;
    Issue(known, unjudged.nodes, now);
    running_.erase(certificate.campaign());
    running_.erase(certificate.gpu_campaign());
    waiting_.erase(number);
  }
}

std::vector<v1::CoverageGap> Certificates::Doubts(const v1::Certificate& certificate,
                                                  const Running& running,
                                                  const std::set<std::string>& unjudged) const {
  std::vector<v1::CoverageGap> doubts = running.doubts;
  std::vector<std::string_view> names;
  std::size_t unknown = 0;
  for (const std::string& name : certificate.request().nodes()) {
    const fleet::NodeRecord* const record = sources_.fleet.Find(name);
    if (record == nullptr) {
      if (names.empty())
        for (const auto& [known, other] : sources_.fleet.nodes()) names.emplace_back(known);
      const bool suggest = unknown++ < Limit("suggestions");
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NODE_UNKNOWN,
                                     "unknown node" + (suggest ? Suggest(name, names) : "")));
    } else if (record->state != v1::NODE_STATE_CONNECTED) {
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NODE_LOST,
                                     Format("lost: {}", record->lost_reason)));
    } else if (record->outdated) {
      doubts.push_back(CoverageGapOf(
          name, v1::COVERAGE_GAP_REASON_SETTINGS_OUTDATED,
          Format("no settings reported since {}", ToString(ToProto(record->inspected_at.wall)))));
    } else if (unjudged.contains(name)) {
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NOT_EVALUATED,
                                     "its report has not been judged yet"));
    }
  }
  return doubts;
}

// Common causes are left out: the findings that they summarize are included.
std::vector<FindingWithNodes> Certificates::Findings() const {
  std::vector<FindingWithNodes> findings;
  const auto add = [&](const v1::Finding& finding, bool held) {
    if (finding.common_cause()) return;
    // Doubts() covers lost nodes.
    if (finding.rule() == rules::kNodeConnected) return;
    findings.push_back({.finding = finding, .nodes = NodesOf(finding), .held = held});
  };
  for (const auto& [id, finding] : sources_.findings.open()) add(finding, false);
  for (const v1::Finding& finding : sources_.findings.Held()) add(finding, true);
  return findings;
}

void Certificates::Issue(Known& known, const std::set<std::string>& unjudged, Moment now) {
  v1::Certificate& certificate = *known.answer.mutable_certificate();
  const Running& running = *known.running;
  CertificateFacts facts{.work = running.work,
                         .findings = Findings(),
                         .doubts = Doubts(certificate, running, unjudged),
                         .cut_off = {},
                         .suspicious = {},
                         .not_covered = running.not_covered,
                         .memory = running.memory};
  if (!certificate.campaign().empty()) {
    const auto campaign = sources_.campaigns.Get(certificate.campaign());
    if (campaign.ok()) *certificate.mutable_blame() = campaign->blame();
    facts.suspicious = sources_.campaigns.Suspicious(certificate.campaign());
    facts.not_judged = sources_.campaigns.NotJudged(certificate.campaign());
    if (running.cut_off)
      facts.cut_off =
          CoverageGapOf(v1::COVERAGE_GAP_REASON_TIME_LIMIT,
                        Format("not probed within {} s", certificate.request().within_seconds()));
    else if (campaign.ok() && campaign->state() == v1::CAMPAIGN_STATE_CANCELLED)
      facts.cut_off = CoverageGapOf(v1::COVERAGE_GAP_REASON_CANCELLED,
                                    Format("campaign {} was cancelled", certificate.campaign()));
  }
  Judge(facts, certificate);
  const auto& nodes = certificate.request().nodes();
  if (auto coverage = sources_.evaluator.CoverageOf({nodes.begin(), nodes.end()}))
    *certificate.mutable_coverage() = *std::move(coverage);
  known.running.reset();
  Sign(known.answer, now);
  known.bytes = known.answer.ByteSizeLong();
}

}  // namespace fabric::control
