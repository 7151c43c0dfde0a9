#include "daemon/control/certificates/certificate_start.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/control/certificates/certificate_plan.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/state.h"
#include "daemon/control/summaries.h"
#include "daemon/plan/plan.h"
#include "daemon/rules/probes/located.h"
#include "proto/bounds.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

constexpr int kNodesMax = Limit("CertificateRequest.nodes");
constexpr int kRailsMax = 64;
constexpr std::size_t kJobBytesMax = 256;
constexpr int kNodesOfTurn = 64;

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

bool IsAsked(const v1::CertificateRequest& request, const fleet::PortView& port) {
  const auto& rails = request.rails();
  return port.rail && !port.expected().unused() &&
         (rails.empty() ||
          std::find(rails.begin(), rails.end(), port.rail->value()) != rails.end());
}

// Sets the obstacles of ports that cannot be probed, and removes these from `found`.
void TakeObstacles(std::deque<AskedPort>& asked, bool alone, plan::Candidates& found) {
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

// The record of a connected node; nullptr: it is not connected.
const fleet::NodeRecord* FindConnected(const State& state, const std::string& node) {
  const fleet::NodeRecord* const record = state.fleet.Find(node);
  return record != nullptr && record->state == v1::NODE_STATE_CONNECTED ? record : nullptr;
}

}  // namespace

Status CertificateStart::Begin(State& state, Moment now) {
  ASSIGN_OR_RETURN(planned_.request, Complete(std::move(planned_.request)));
  RETURN_IF_ERROR(state.certificates.Check(planned_.request, planned_.author));
  began_ = now;
  seed_ = static_cast<std::uint64_t>(now.wall.time_since_epoch().count()) ^
          (state.certificates.next_number() + 1);
  pairs_at_once_ = std::max(state.options.pairs_at_once_max, 1U);
  return {};
}

bool CertificateStart::Gather(State& state) {
  if (state.job_classes.Advance(kNodesOfTurn)) return true;
  if (!gathered_) {
    BeginGathering(state);
    return true;
  }
  const auto& nodes = planned_.request.nodes();
  fleet::ExpectationTable expectations;  // Of this turn: the profile can change.
  for (int left = kNodesOfTurn; next_node_ < nodes.size() && left > 0; ++next_node_, --left)
    if (const fleet::NodeRecord* const record = FindConnected(state, nodes[next_node_]))
      Add(fleet::ViewOf(*record, state.options.profile, expectations), state);
  if (next_node_ < nodes.size()) return true;
  if (gathered_->explaining.Read(state.findings)) return true;
  gathered_->fabric.AddTopology(state.sites);
  return false;
}

void CertificateStart::BeginGathering(State& state) {
  const v1::CertificateRequest& request = planned_.request;
  planned_.classes = state.job_classes.Of(
      request.class_choice(), {.nodes = {request.nodes().begin(), request.nodes().end()},
                               .rails = {request.rails().begin(), request.rails().end()}});
  v1::CampaignSpec all;
  all.add_probes();
  SetClasses(planned_.classes, all);  // Ports without its P_Key cannot be probed.
  v1::CampaignSpec asked;
  *asked.mutable_rails() = request.rails();
  gathered_.emplace(Gathered{.ports = plan::PortFinder(all, state.campaigns.ProbedLately(began_)),
                             .fabric = blame::FabricBuilder(asked)});
  gathered_->pairs = state.located.Pairs();
}

void CertificateStart::Add(const fleet::NodeView& node, const State& state) {
  const v1::CertificateRequest& request = planned_.request;
  std::set<std::uint32_t> missing(request.rails().begin(), request.rails().end());
  bool any = false;
  for (const fleet::PortView& port : node.ports) {
    if (!IsAsked(request, port)) continue;
    any = true;
    missing.erase(port.rail->value());
    AskedPort& made = asked_.emplace_back();
    made.port = plan::ToProbePort(port);
    made.network = port.port->link_layer();
    made.leaf = state.sites.Of(port).leaf;
    planned_.memory.AddPort(made.port, node.node->snapshot);
  }
  for (const std::uint32_t rail : missing)
    planned_.doubts.push_back(CoverageGapOf(node.node->name, v1::COVERAGE_GAP_REASON_NO_PORT,
                                            Format("no port on rail {}", rail)));
  if (!any && missing.empty())
    planned_.doubts.push_back(CoverageGapOf(node.node->name, v1::COVERAGE_GAP_REASON_NO_PORT,
                                            "no RDMA port of the fabric"));
  gathered_->ports.Add(node, state.sites);
  gathered_->fabric.Add(node, state.sites);
  gathered_->expectations.Add(node, state.sites);
}

PlannedCertificate CertificateStart::Plan() {
  plan::Candidates found;
  if (!asked_.empty()) {
    auto ports = std::move(gathered_->ports).Find();
    if (ports.ok()) found = *std::move(ports);
    TakeObstacles(asked_, alone(), found);
  }
  for (const AskedPort& port : asked_)
    if (port.obstacle) planned_.memory.RemovePort(port.port);
  planned_.work = CertificateWork(
      {std::make_move_iterator(asked_.begin()), std::make_move_iterator(asked_.end())}, alone());
  if (found.ports.empty())
    planned_.classes.clear();
  else
    PlanCampaign(std::move(found));
  return std::move(planned_);
}

void CertificateStart::PlanCampaign(plan::Candidates found) {
  std::size_t partners_max = 0;
  for (const AskedPort& port : planned_.work.ports())
    partners_max = std::max<std::size_t>(partners_max, port.partners);
  CertificatePlan fitting =
      PlanWithin(std::chrono::seconds(planned_.request.within_seconds()),
                 {.count = found.ports.size(), .partners_max = partners_max, .alone = alone()},
                 pairs_at_once_);
  planned_.not_covered = std::move(fitting.not_covered);
  v1::CampaignSpec& spec = planned_.campaign.spec;
  spec = SpecOf(planned_.request, fitting, alone(), seed_);
  SetClasses(planned_.classes, spec);
  auto made = plan::MakePlan(std::move(found.ports), std::move(found.leaf_names), spec,
                             std::move(found.pod_names));
  if (!made.ok()) {
    planned_.not_covered.push_back(
        CoverageGapOf(v1::COVERAGE_GAP_REASON_NO_PLAN, made.status().message()));
    return;
  }
  // By the routes between these nodes, where an InfiniBand subnet is known.
  blame::Fabric fabric = std::move(gathered_->fabric).Build();
  fabric.passes_cables = !alone() && !fabric.routes.empty();
  planned_.campaign.work = std::make_unique<CampaignWork>(
      spec,
      CampaignInputs{.plan = *std::move(made),
                     .fabric = std::move(fabric),
                     .classes = planned_.classes,
                     .expectations = std::move(gathered_->expectations),
                     .explained = rules::ExplainedPorts(gathered_->explaining.found()),
                     .pairs = std::move(gathered_->pairs),
                     .settle = !alone()},
      pairs_at_once_);
}

Result<v1::Certificate> StartInTurns(const StateTurns& turns, CertificateStart start, Moment now) {
  RETURN_IF_ERROR(turns.In([&](State& state) { return start.Begin(state, now); }));
  while (turns.In([&](State& state) { return start.Gather(state); })) {
  }
  PlannedCertificate planned = start.Plan();
  return turns.In([&](State& state) { return state.certificates.Start(std::move(planned), now); });
}

Result<PlannedCampaign> PlanInTurns(const StateTurns& turns, const MemoryTest& test, Moment now) {
  PlannedCampaign planned{.spec = test.spec, .work = nullptr};
  plan::PortFinder ports(planned.spec,
                         turns.In([&](State& state) { return state.campaigns.ProbedLately(now); }));
  blame::FabricBuilder fabric(planned.spec);
  std::uint32_t pairs_at_once = 1;
  const auto& nodes = planned.spec.nodes();
  int next = 0;
  const auto read = [&](State& state) {
    fleet::ExpectationTable expectations;
    for (int left = kNodesOfTurn; next < nodes.size() && left > 0; ++next, --left) {
      const fleet::NodeRecord* const record = FindConnected(state, nodes[next]);
      if (record == nullptr) continue;
      const fleet::NodeView view = fleet::ViewOf(*record, state.options.profile, expectations);
      ports.Add(view, state.sites);
      fabric.Add(view, state.sites);
    }
    if (next < nodes.size()) return true;
    fabric.AddTopology(state.sites);
    pairs_at_once = std::max(state.options.pairs_at_once_max, 1U);
    return false;
  };
  while (turns.In(read)) {
  }
  const bool known = !ports.empty();
  ASSIGN_OR_RETURN(plan::Candidates found, std::move(ports).Find());
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(std::move(found), known, planned.spec));
  planned.work = std::make_unique<CampaignWork>(
      planned.spec,
      CampaignInputs{
          .plan = std::move(plan), .fabric = std::move(fabric).Build(), .classes = test.classes},
      pairs_at_once);
  return planned;
}

}  // namespace fabric::control
