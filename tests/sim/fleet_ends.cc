// What is looked at when a simulated run is over.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/text.h"
#include "proto/names.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEndsLook = 100ms;

class NoAgents final : public control::AgentSink {
 public:
  void Send(SessionId, const v1::ControllerMessage&) override {}
  void Close(SessionId, const Status&) override {}
};

std::vector<std::string> Lines(const std::vector<v1::NodeSummary>& nodes,
                               const std::vector<v1::DeviceSummary>& devices,
                               const std::vector<v1::Finding>& findings) {
  std::vector<std::string> lines;
  for (const v1::NodeSummary& node : nodes)
    lines.push_back(Format("{} state {} devices {} ports {} active {} findings {}", node.name(),
                           static_cast<int>(node.state()), node.devices(), node.ports(),
                           node.ports_active(), node.findings_open()));
  for (const v1::DeviceSummary& device : devices) lines.push_back(device.ShortDebugString());
  for (const v1::Finding& finding : findings)
    lines.push_back(Format("{} {}", finding.rule(), SubjectName(finding.subject())));
  return lines;
}

void CheckBlame(Fleet& fleet, const v1::Campaign& campaign) {
  for (const v1::Suspect& suspect : campaign.blame().suspects()) {
    fleet.trace().Tell(fleet.now(), Format("campaign {} suspects {} {} {:.3f}", campaign.id(),
                                           v1::SuspectKind_Name(suspect.kind()), suspect.name(),
                                           suspect.confidence()));
    const std::string& who = suspect.node().empty() ? suspect.leaf() : suspect.node();
    const bool pair = suspect.kind() == v1::SUSPECT_KIND_PAIR;  // No scenario has such a fault.
    if (pair || who.empty() || !fleet.checks().Excused(who))
      fleet.checks().Violate(Format(
          "campaign {} names {} {}, to which nobody did anything: {}", campaign.id(),
          v1::SuspectKind_Name(suspect.kind()), suspect.name(),
          Join(std::vector<std::string>(suspect.evidence().begin(), suspect.evidence().end()),
               "; ")));
  }
}

}  // namespace

bool AwaitFleet(Fleet& fleet, Duration most) {
  const Duration until = fleet.now() + most;
  std::string missing;
  while (fleet.now() < until) {
    fleet.Run(kEndsLook);
    if (!fleet.controller_up()) continue;
    missing.clear();
    const std::vector<v1::NodeSummary> nodes = fleet.Nodes();
    for (const v1::NodeSummary& node : nodes)
      if (node.state() != v1::NODE_STATE_CONNECTED) missing = node.name();
    if (nodes.size() < fleet.size()) missing = Format("{} nodes", fleet.size() - nodes.size());
    if (missing.empty()) {
      fleet.Run(1s);
      return true;
    }
  }
  fleet.checks().Violate("not there in time: " + missing);
  return false;
}

bool AwaitCampaign(Fleet& fleet, const std::string& campaign, Duration most) {
  const Duration until = fleet.now() + most;
  while (fleet.now() < until) {
    if (fleet.controller_up() && fleet.Campaign(campaign, false).has_ended_at()) return true;
    fleet.Run(kEndsLook);
  }
  fleet.checks().Violate(Format("campaign {} does not end", campaign));
  return false;
}

void CheckCampaign(Fleet& fleet, const std::string& id) {
  const v1::Campaign campaign = fleet.Campaign(id, true);
  FleetChecks& checks = fleet.checks();
  const std::uint32_t recorded =
      campaign.probes_ok() + campaign.probes_failed() + campaign.probes_cancelled();
  const bool restarted = std::any_of(
      campaign.skipped().begin(), campaign.skipped().end(), [](const v1::CoverageGap& gap) {
        return gap.reason() == v1::COVERAGE_GAP_REASON_CONTROLLER_RESTARTED;
      });
  // What is recorded of a round is counted when the next one begins.
  if (!restarted && static_cast<std::uint32_t>(campaign.results_size()) != recorded)
    checks.Violate(
        Format("campaign {}: {} results, {} were counted", id, campaign.results_size(), recorded));
  if (campaign.state() == v1::CAMPAIGN_STATE_DONE && campaign.rounds_saved() == 0 &&
      recorded != campaign.probes_planned())
    checks.Violate(Format("campaign {} is done with {} results of {} probes", id, recorded,
                          campaign.probes_planned()));
  std::set<std::string> seen;
  for (const v1::PairResult& result : campaign.results()) {
    const std::string key =
        Format("{} {}/{} {}/{} {}", result.round(), result.from().node(), result.from().device(),
               result.to().node(), result.to().device(), ProbeKindName(result.probe()));
    if (!seen.insert(key).second) checks.Violate(Format("campaign {}: twice: {}", id, key));
  }
  CheckBlame(fleet, campaign);
}

void CheckNothingLeft(Fleet& fleet) {
  for (const std::string& held : fleet.checks().QueuePairsOpen())
    fleet.checks().Violate("left behind: " + held);
}

void CheckAgainstScratch(Fleet& fleet) {
  testing::TempTree directory;
  auto store = store::OpenSqlite(directory.path() + "/state.db");
  if (!store.ok()) return fleet.checks().Violate(store.status().message());
  NoAgents nobody;
  control::EventBus events;
  control::Controller fresh({}, **store, nobody, events, fleet.Now());
  for (std::uint32_t number = 0; number < fleet.size(); ++number) {
    v1::AgentMessage hello, state;
    *state.mutable_snapshot() = fleet.Inspect(number);
    *hello.mutable_hello()->mutable_node() = state.snapshot().node();
    const SessionId session(number + 1);
    for (const v1::AgentMessage* message : {&hello, &state})
      if (const Status heard = fresh.OnMessage(session, *message, fleet.Now()); !heard.ok())
        fleet.checks().Violate(heard.message());
  }
  Moment later = fleet.Now();
  later.steady += 1s;
  later.wall += 1s;
  fresh.Tick(later);
  v1::ListNodesResponse nodes;
  v1::ListDevicesResponse devices;
  v1::ListFindingsResponse findings;
  (void)fresh.Call(v1::ListNodesRequest(), nodes, later);
  (void)fresh.Call(v1::ListDevicesRequest(), devices, later);
  (void)fresh.Call(v1::ListFindingsRequest(), findings, later);
  std::vector<v1::Finding> failing;
  for (const v1::Finding& finding : findings.findings())
    if (finding.verdict() == v1::VERDICT_FAIL) failing.push_back(finding);
  const auto expected = Lines({nodes.nodes().begin(), nodes.nodes().end()},
                              {devices.devices().begin(), devices.devices().end()}, failing);
  // A new controller does not know what campaigns and the mesh have located, and which sessions
  // were refused in the last minutes.
  std::vector<v1::NodeSummary> known = fleet.Nodes();
  std::vector<v1::Finding> of_settings;
  for (const v1::Finding& finding : fleet.Findings()) {
    if (!finding.has_suspect() && finding.rule() != "node_claimed_twice") {
      of_settings.push_back(finding);
      continue;
    }
    std::set<std::string> about;
    for (const v1::Subject& subject : finding.affected()) about.insert(subject.node());
    for (v1::NodeSummary& node : known)
      if (about.contains(node.name())) node.set_findings_open(node.findings_open() - 1);
  }
  const auto seen = Lines(known, fleet.Devices(), of_settings);
  const std::set<std::string> both(seen.begin(), seen.end());
  for (const std::string& line : expected)
    if (!both.contains(line)) fleet.checks().Violate("told anew, but not known: " + line);
  const std::set<std::string> anew(expected.begin(), expected.end());
  for (const std::string& line : seen)
    if (!anew.contains(line)) fleet.checks().Violate("known, but not told anew: " + line);
}

}  // namespace fabric::sim
