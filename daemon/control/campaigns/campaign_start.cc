#include "daemon/control/campaigns/campaign_start.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/blame/cable_pairs.h"
#include "daemon/control/campaigns/probe_check.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/state.h"
#include "daemon/plan/plan.h"
#include "proto/bounds.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

constexpr std::size_t kGatheredOfTurn = 64;

// Removes duplicate names and rails.
void Normalize(v1::CampaignSpec& spec) {
  const std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  spec.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());
  spec.mutable_rails()->Assign(rails.begin(), rails.end());
}

// Agents refuse what exceeds their memory: better before the first probe.
Status CheckMemory(State& state, const v1::CampaignSpec& spec) {
  std::uint64_t needed = 0;
  for (const v1::ProbeSpec& probe : spec.probes()) needed = std::max(needed, MemoryOfEnd(probe));
  const std::set<std::string> named(spec.nodes().begin(), spec.nodes().end());
  for (const auto& [id, session] : state.sessions.all()) {
    if (!named.empty() && !named.contains(session.node.name())) continue;
    const std::uint64_t most = session.probe_memory_max.value_or(Limit("probe_memory_bytes"));
    if (needed > most)
      return {Code::kInvalidArgument,
              Format("probes: expected message_bytes and queue_pairs that need at most {} bytes of "
                     "memory, which the agent of {} can register, saw {}",
                     most, session.node.name(), needed)};
  }
  return {};
}

}  // namespace

Status CampaignStart::Begin(State& state, Moment now) {
  began_ = now;
  pairs_at_once_ = std::max(state.options.pairs_at_once_max, 1U);
  RETURN_IF_ERROR(CheckSpec(state));
  FindNodes(state);
  return {};
}

Status CampaignStart::CheckSpec(State& state) {
  Normalize(spec_);
  RETURN_IF_ERROR(Check(spec_.class_choice()).In("class_choice"));
  RETURN_IF_ERROR(Complete(spec_));
  RETURN_IF_ERROR(state.campaigns.CheckRoom(origin_.author));
  for (const std::string& node : spec_.nodes()) RETURN_IF_ERROR(CheckNode(state, node));
  if (!spec_.hub().empty()) RETURN_IF_ERROR(CheckNode(state, spec_.hub()));
  return CheckMemory(state, spec_);
}

// The connected nodes, and the lost nodes that the spec names: their probes fail at once, with the
// reason. Other lost nodes are skipped.
void CampaignStart::FindNodes(const State& state) {
  std::set<std::string> named(spec_.nodes().begin(), spec_.nodes().end());
  if (!named.empty() && !spec_.hub().empty()) named.insert(spec_.hub());
  nodes_.assign(named.begin(), named.end());
  if (!named.empty()) return;
  for (const auto& [name, record] : state.fleet.nodes()) {
    if (record.state == v1::NODE_STATE_CONNECTED)
      nodes_.push_back(name);
    else
      lost_.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NODE_LOST,
                                    Format("lost: {}", record.lost_reason)));
  }
}

bool CampaignStart::Gather(State& state) {
  if (state.job_classes.Advance(kGatheredOfTurn)) return true;
  if (!gathered_) {
    BeginGathering(state);
    return true;
  }
  if (!gathered_->findings_done) {
    gathered_->findings_done = !gathered_->explaining.Read(state.findings);
    return true;
  }
  const std::size_t end = std::min(nodes_.size(), next_node_ + kGatheredOfTurn);
  fleet::ExpectationTable expectations;  // Of this turn: the profile can change.
  for (; next_node_ < end; ++next_node_) Add(state, nodes_[next_node_], expectations);
  if (next_node_ < nodes_.size()) return true;
  gathered_->fabric.AddTopology(state.sites);
  return false;
}

void CampaignStart::BeginGathering(State& state) {
  ClassScope scope{.nodes = {}, .rails = {spec_.rails().begin(), spec_.rails().end()}};
  if (!spec_.nodes().empty()) scope.nodes.insert(nodes_.begin(), nodes_.end());
  std::vector<v1::TrafficClass> classes = state.job_classes.Of(spec_.class_choice(), scope);
  SetClasses(classes, spec_);
  gathered_.emplace(Gathered{.ports = plan::PortFinder(spec_, state.campaigns.ProbedLately(began_)),
                             .fabric = blame::FabricBuilder(spec_),
                             .classes = std::move(classes)});
  gathered_->pairs = state.located.Pairs();
}

void CampaignStart::Add(const State& state, const std::string& node,
                        fleet::ExpectationTable& expectations) {
  const fleet::NodeRecord* const record = state.fleet.Find(node);
  if (record == nullptr) return;  // Removed in the meantime
  const fleet::NodeView view = fleet::ViewOf(*record, state.options.profile, expectations);
  gathered_->ports.Add(view, state.sites);
  gathered_->fabric.Add(view, state.sites);
  gathered_->expectations.Add(view, state.sites);
  if (spec_.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    AddClasses(view, spec_.probes(0).traffic_class(), gathered_->port_classes);
}

Status CampaignStart::Plan() {
  const bool known = !gathered_->ports.empty();
  ASSIGN_OR_RETURN(plan::Candidates found, std::move(gathered_->ports).Find());
  blame::Fabric fabric = std::move(gathered_->fabric).Build();
  const auto cover = [&](std::span<const v1::ProbePort> ports) -> Result<plan::Cover> {
    ASSIGN_OR_RETURN(blame::PortCover made, blame::CoverPorts(fabric, ports, spec_.seed()));
    return plan::Cover{.rounds = std::move(made.rounds), .gaps = std::move(made.gaps)};
  };
  ASSIGN_OR_RETURN(plan::Plan plan, plan::MakePlan(std::move(found), known, spec_, cover));
  if (spec_.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    RETURN_IF_ERROR(CheckIncast(plan, spec_, pairs_at_once_));
  plan.skipped.insert(plan.skipped.end(), lost_.begin(), lost_.end());
  work_ = std::make_unique<CampaignWork>(
      spec_,
      CampaignInputs{.plan = std::move(plan),
                     .fabric = std::move(fabric),
                     .classes = std::move(gathered_->classes),
                     .expectations = std::move(gathered_->expectations),
                     .port_classes = std::move(gathered_->port_classes),
                     .explained = rules::ExplainedPorts(gathered_->explaining.found()),
                     .pairs = std::move(gathered_->pairs),
                     .settle = !origin_.rechecks.empty()},
      pairs_at_once_);
  return {};
}

Result<v1::Campaign> CampaignStart::Start(State& state, Moment now) {
  RETURN_IF_ERROR(state.campaigns.CheckRoom(origin_.author));
  return state.campaigns.Start(spec_, std::move(work_), origin_, now);
}

Result<v1::Campaign> StartAtOnce(State& state, CampaignStart start, Moment now) {
  RETURN_IF_ERROR(start.Begin(state, now));
  while (start.Gather(state)) {
  }
  RETURN_IF_ERROR(start.Plan());
  return start.Start(state, now);
}

Result<v1::Campaign> StartInTurns(const StateTurns& turns, CampaignStart start, Moment now) {
  RETURN_IF_ERROR(turns.In([&](State& state) { return start.Begin(state, now); }));
  while (turns.In([&](State& state) { return start.Gather(state); })) {
  }
  RETURN_IF_ERROR(start.Plan());
  return turns.In([&](State& state) { return start.Start(state, now); });
}

}  // namespace fabric::control
