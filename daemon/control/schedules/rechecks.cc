#include "daemon/control/schedules/rechecks.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/control/summaries.h"
#include "daemon/rules/probes/located.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEvery = 1s;    // All open findings are read.
constexpr Duration kSettles = 5s;  // From a repair to its check: settings of both ends change
constexpr Duration kRetry = 60s;   // After a campaign that could not start
constexpr int kRequestedMax = 1000;

std::string PortText(const v1::Subject& port) {
  return Format("{}/{}/{}", port.node(), port.device(), port.port());
}

// Only a run of the schedule compares the part with its past.
bool IsDrift(const v1::Finding& finding) {
  return finding.located_by().starts_with("schedule ");
}

// A repair of one of many ports says nothing about a path that they share.
bool IsOfFewPorts(const v1::Finding& finding) {
  const v1::SuspectKind kind = finding.suspect().kind();
  return kind == v1::SUSPECT_KIND_PORT || kind == v1::SUSPECT_KIND_HOST ||
         kind == v1::SUSPECT_KIND_PAIR;
}

}  // namespace

Rechecks::Others Rechecks::FindOthers() const {
  Others others;
  for (const auto& [id, finding] : sources_.findings.open()) {
    if (finding.verdict() != v1::VERDICT_FAIL || finding.rule() == rules::kProbeBlame) continue;
    others.ids.insert(id);
    for (const v1::Subject& subject : finding.affected()) {
      if (subject.node().empty()) continue;
      if (subject.device().empty())
        others.nodes.insert(subject.node());
      else
        others.ports.insert(PortText(subject));
    }
  }
  return others;
}

bool Rechecks::IsRelated(const v1::Finding& finding, const Others& others) {
  if (others.ids.contains(finding.explained_by())) return true;
  if (!IsOfFewPorts(finding)) return false;
  return std::ranges::any_of(finding.affected(), [&](const v1::Subject& port) {
    return others.ports.contains(PortText(port)) || others.nodes.contains(port.node());
  });
}

// Compares each located fault with the other findings.
void Rechecks::Watch(Moment now) {
  const auto& located = sources_.located.faults();
  std::erase_if(watched_, [&](const auto& one) { return !located.contains(one.first); });
  if (located.empty()) return;
  const Others others = FindOthers();
  for (const auto& [id, fault] : located) {
    // The registry's copy knows the finding that explains it.
    const auto open = sources_.findings.open().find(id);
    if (open == sources_.findings.open().end() || IsDrift(fault)) continue;
    Watched& watched = watched_[id];
    const bool related = IsRelated(open->second, others);
    if (watched.related && !related && watched.runs < kRunsOfFinding)
      watched.due = now.steady + kSettles;
    watched.related = related;
  }
}

std::vector<v1::Finding> Rechecks::Due(Moment now) {
  std::erase_if(runs_, [&](SteadyTime at) { return now.steady - at >= 1h; });
  std::vector<v1::Finding> due;
  for (const auto& [id, watched] : watched_) {
    if (!watched.due || now.steady < *watched.due) continue;
    if (!watched.requested && runs_.size() >= kRunsPerHour) continue;
    due.push_back(sources_.located.faults().at(id));
  }
  return due;
}

Result<v1::Campaign> Rechecks::Run(const std::vector<v1::Finding>& findings, Moment now) {
  RecheckFleet fleet;
  for (const auto& [name, node] : sources_.fleet.nodes())
    if (node.state == v1::NODE_STATE_CONNECTED) fleet.connected.push_back(name);
  for (const auto& [id, fault] : sources_.located.faults())
    fleet.suspected.merge(NodesOfLocated(fault));
  fleet.bandwidth_probe = [this](const std::string& finding) {
    return sources_.campaigns.BandwidthProbeOf(finding);
  };
  const RecheckPlan plan = PlanRecheck(findings, fleet);
  const Result<v1::Campaign> campaign = start_(plan, now);
  const bool requested = std::ranges::all_of(
      plan.findings, [&](const std::string& id) { return watched_[id].requested; });
  if (!requested) runs_.push_back(now.steady);
  for (const std::string& id : plan.findings) {
    Watched& watched = watched_[id];
    if (!watched.requested) ++watched.runs;
    watched.due.reset();
    if (!campaign.ok() && watched.runs < kRunsOfFinding) watched.due = now.steady + kRetry;
    watched.requested = false;
  }
  if (campaign.ok()) campaign_ = campaign->id();
  return campaign;
}

Result<v1::Campaign> Rechecks::Request(const v1::RecheckFindingsRequest& request, Moment now) {
  if (request.findings_size() > kRequestedMax)
    return Status(Code::kInvalidArgument, Format("findings: expected at most {}, saw {}",
                                                 kRequestedMax, request.findings_size()));
  std::vector<v1::Finding> findings;
  const auto& located = sources_.located.faults();
  for (const std::string& id : request.findings()) {
    ASSIGN_OR_RETURN(const v1::Finding finding, sources_.findings.Find(id));
    const auto at = located.find(finding.id());
    if (at == located.end() || IsDrift(at->second))
      return Status(Code::kFailedPrecondition,
                    Format("finding {}: expected an open finding of rule {} that a campaign or the "
                           "mesh located, saw one of rule {}{}",
                           finding.id(), rules::kProbeBlame, finding.rule(),
                           finding.has_resolved_at() ? ", resolved"
                           : at == located.end()     ? ""
                                                     : ", located by a " + finding.located_by()));
    findings.push_back(at->second);
  }
  for (const auto& [id, finding] : located)
    if (request.findings().empty() && !IsDrift(finding)) findings.push_back(finding);
  if (findings.empty())
    return Status(Code::kFailedPrecondition,
                  "campaigns and the mesh have located no fault that is still open");
  for (const v1::Finding& finding : findings) {
    watched_[finding.id()].requested = true;
    watched_[finding.id()].due = now.steady;
  }
  auto campaign = Run(findings, now);
  if (campaign.ok()) return campaign;
  for (const v1::Finding& finding : findings) watched_[finding.id()] = {};
  return campaign;
}

void Rechecks::Tick(Moment now) {
  if (now.steady - ticked_at_ < kEvery) return;
  ticked_at_ = now.steady;
  Watch(now);
  if (!campaign_.empty() && sources_.campaigns.Runs(campaign_)) return;
  if (const std::vector<v1::Finding> due = Due(now); !due.empty()) (void)Run(due, now);
}

}  // namespace fabric::control
