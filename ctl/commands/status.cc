#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/campaign_tables.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kCausesShown = 12;
constexpr std::size_t kChangesShown = 8;
constexpr std::size_t kPlaceMin = 10;
constexpr std::size_t kPlaceWanted = 18;  // "gpu-0101/mlx5_0/1"
constexpr std::size_t kRuleMin = 24;      // Whole names of nearly all rules, for `explain RULE`

constexpr Option kStatusOptions[] = {
    {.name = "since",
     .type = OptionType::kDuration,
     .fallback = "1h",
     .min = "1s",
     .max = "3650d",
     .doc = "Period of the changes that are listed."},
    kSelectorOption,
};

std::string NodeLine(const v1::ListNodesResponse& nodes) {
  std::size_t lost = 0;
  std::vector<std::string> names;
  std::uint64_t ports = 0, active = 0, not_known = 0;
  for (const v1::NodeSummary& node : nodes.nodes()) {
    const bool is_lost = node.state() == v1::NODE_STATE_LOST;
    if (is_lost) names.push_back(node.name());
    lost += is_lost ? 1 : 0;
    ports += node.ports();
    if (is_lost || !node.has_ports_active())
      not_known += node.ports();
    else
      active += node.ports_active();
  }
  std::string line = Format("Nodes:     {} connected, {} lost{}\n",
                            static_cast<std::size_t>(nodes.nodes_size()) - lost, lost,
                            names.empty() ? "" : ": " + ListSome(names, 5));
  line += Format("Ports:     {} of {} active", active, ports);
  return line + (not_known > 0 ? Format(", {} not known\n", not_known) : "\n");
}

std::string CoverageLine(const v1::ListNodesResponse& nodes,
                         const v1::ListFindingsResponse& findings) {
  const auto lost = static_cast<std::uint64_t>(
      std::ranges::count(nodes.nodes(), v1::NODE_STATE_LOST, &v1::NodeSummary::state));
  const std::string not_judged =
      lost == 0 ? std::string() : "; not judged: " + Plural(lost, "lost node");
  const v1::VerdictCounts& counts = findings.counts();
  const std::uint64_t judged = std::uint64_t{counts.pass()} + counts.fail();
  const std::uint64_t all = judged + counts.unknown();
  if (all == 0) return "Coverage:  no verdicts yet" + not_judged + "\n";
  return Format("Coverage:  {} verdicts: {} pass, {} fail, {} unknown ({:.1f} % judged){}\n", all,
                counts.pass(), counts.fail(), counts.unknown(),
                100.0 * static_cast<double>(judged) / static_cast<double>(all), not_judged);
}

std::string MeshLine(const v1::MeshStatus& mesh) {
  if (!mesh.enabled()) return Format("Mesh:      off: {}\n", Cell(mesh.reason()));
  const int suspects = mesh.blame().suspects_size() + mesh.blame().undecided_size();
  return Format(
      "Mesh:      {}, {:.0f} pings/s, {}\n", Plural(mesh.ports(), "port"), mesh.pings_per_second(),
      mesh.windows() == 0 ? "no results yet"
      : suspects == 0
          ? "no fault found"
          : Plural(static_cast<std::uint64_t>(suspects), "suspect") + "; see `fabricctl mesh`");
}

bool Counts(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.state() == v1::FINDING_STATE_OPEN &&
         !finding.has_silenced() && finding.explained_by().empty();
}

// Open findings of one rule.
struct Cause {
  const v1::Finding* first = nullptr;  // The oldest
  std::size_t findings = 0;
  std::size_t explained = 0;
  std::set<std::string> places;
};

std::vector<Cause> CausesOf(const Findings& findings) {
  std::map<std::tuple<int, std::string>, Cause> by_rule;
  for (const v1::Finding& finding : findings) {
    if (!Counts(finding)) continue;
    Cause& cause = by_rule[{-finding.severity(), finding.rule()}];
    ++cause.findings;
    cause.explained += static_cast<std::size_t>(finding.explains_size());
    cause.places.insert(SubjectName(finding.subject()));
    if (cause.first == nullptr ||
        Nanoseconds(finding.opened_at()) < Nanoseconds(cause.first->opened_at()))
      cause.first = &finding;
  }
  std::vector<Cause> causes;
  for (auto& [key, cause] : by_rule) causes.push_back(std::move(cause));
  return causes;
}

Table CauseTable(const std::vector<Cause>& causes, WallTime now) {
  Table table{.title = "Open findings by cause",
              .columns = {{.title = "SEVERITY", .coloured = true},
                          {.title = "COUNT", .right_aligned = true, .drop = 3},
                          {.title = "AGE", .right_aligned = true, .drop = 4},
                          {.title = "RULE", .elastic = true, .cut_min = kRuleMin},
                          {.title = "WHERE",
                           .elastic = true,
                           .cut_min = kPlaceMin,
                           .cut_late = kPlaceWanted},
                          {.title = "WHAT", .elastic = true, .main = true},
                          {.title = "EXPLAINS", .right_aligned = true, .drop = 1},
                          {.title = "ID", .drop = 2}},
              .empty_note = "No open findings."};
  for (const Cause& cause : causes) {
    if (table.rows.size() == kCausesShown) break;
    std::vector<std::string> places(cause.places.begin(), cause.places.end());
    std::ranges::sort(places, NaturalLess);
    table.rows.push_back({Cell(Name(cause.first->severity())), Format("{}", cause.findings),
                          AgeCell(cause.first->opened_at(), now), cause.first->rule(),
                          ListSome(places, 2), Cell(cause.first->title()),
                          cause.explained == 0 ? Cell("") : Format("{}", cause.explained),
                          Cell(cause.first->id())});
  }
  return table;
}

struct Change {
  google::protobuf::Timestamp at;
  std::string what, subject, text;
};

void AddChange(std::vector<Change>& changes, WallTime first, Change change) {
  if (Nanoseconds(change.at) > 0 && FromProto(change.at) >= first)
    changes.push_back(std::move(change));
}

std::vector<Change> ChangesOf(const v1::ListNodesResponse& nodes, const Findings& findings,
                              const v1::ListCampaignsResponse& campaigns, WallTime first) {
  std::vector<Change> changes;
  for (const v1::NodeSummary& node : nodes.nodes())
    AddChange(changes, first,
              {node.state_since(), node.state() == v1::NODE_STATE_LOST ? "lost" : "connected",
               node.name(), Cell(node.lost_reason())});
  for (const v1::Finding& finding : findings) {
    if (finding.verdict() != v1::VERDICT_FAIL || !finding.explained_by().empty()) continue;
    const std::string subject = SubjectName(finding.subject());
    const std::string text = Format("{}: {}", finding.rule(), finding.title());
    AddChange(changes, first, {finding.opened_at(), "opened", subject, text});
    if (finding.state() == v1::FINDING_STATE_RESOLVED)
      AddChange(changes, first, {finding.resolved_at(), "resolved", subject, text});
  }
  for (const v1::Campaign& campaign : campaigns.campaigns())
    AddChange(
        changes, first,
        {campaign.ended_at(), std::string(Name(campaign.state())), campaign.id(),
         Format("{} probes, {} failed", campaign.probes_planned(), campaign.probes_failed())});
  std::ranges::stable_sort(changes, [](const Change& one, const Change& other) {
    return Nanoseconds(one.at) > Nanoseconds(other.at);
  });
  return changes;
}

Table ChangeTable(const std::vector<Change>& changes, Duration period, WallTime now) {
  Table table{.title = Format("Changes of the last {}: {}", ToString(period), changes.size()),
              .columns = {{.title = "AGE", .right_aligned = true},
                          {.title = "CHANGE", .coloured = true},
                          {.title = "SUBJECT",
                           .elastic = true,
                           .cut_min = kPlaceMin,
                           .cut_late = kPlaceWanted},
                          {.title = "WHAT", .elastic = true, .main = true}},
              .empty_note = Format("No changes in the last {}.", ToString(period))};
  for (const Change& change : changes) {
    if (table.rows.size() == kChangesShown) break;
    table.rows.push_back(
        {AgeCell(change.at, now), change.what, Cell(change.subject), Cell(change.text)});
  }
  return table;
}

// What is known of the whole fleet only.
Result<std::string> FleetLines(Client& client, const v1::ListNodesResponse& nodes,
                               const v1::ListFindingsResponse& findings,
                               const v1::ListCampaignsResponse& campaigns) {
  v1::GetMeshRequest summary;
  summary.set_page_size(1);
  ASSIGN_OR_RETURN(const auto mesh, client.Call<v1::MeshStatus>(summary));
  std::string lines = CoverageLine(nodes, findings) + MeshLine(mesh);
  for (const v1::Campaign& campaign : campaigns.campaigns())
    if (campaign.state() == v1::CAMPAIGN_STATE_RUNNING)
      lines += Format("Campaign:  {}{}\n", ProgressLine(campaign),
                      WaitText(campaign, campaigns.campaigns()));
  return lines;
}

Result<Output> RunStatus(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const auto version,
                   client.Call<v1::GetVersionResponse>(v1::GetVersionRequest()));
  const bool selected = arguments.Has("selector");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, ""));
  ASSIGN_OR_RETURN(auto nodes, client.List<v1::ListNodesResponse>(v1::ListNodesRequest()));
  const int known = nodes.nodes_size();
  if (selected) KeepNodes(names, &v1::NodeSummary::name, *nodes.mutable_nodes());
  v1::ListFindingsRequest all;
  all.set_include_resolved(true);
  all.mutable_nodes()->Assign(names.begin(), names.end());
  ASSIGN_OR_RETURN(auto findings, client.List<v1::ListFindingsResponse>(all));
  v1::ListCampaignsResponse campaigns;
  if (!selected) {
    v1::ListCampaignsRequest newest;
    newest.set_page_size(10);
    ASSIGN_OR_RETURN(campaigns, client.Call<v1::ListCampaignsResponse>(newest));
  }
  const WallTime now = stream.Now();
  Output output;
  output.before = Format("fabricd:   {} at {}, up {}{}\n", version.version(),
                         arguments.Text("controller"), AgeCell(version.started_at(), now),
                         version.store().failure().empty()
                             ? ""
                             : "; cannot write its state: " + version.store().failure());
  if (selected) output.before += Format("Selected:  {} of {} nodes\n", nodes.nodes_size(), known);
  output.before += NodeLine(nodes);
  if (!selected) {
    ASSIGN_OR_RETURN(const std::string lines, FleetLines(client, nodes, findings, campaigns));
    output.before += lines;
  }
  const std::vector<Cause> causes = CausesOf(findings.findings());
  output.tables.push_back(CauseTable(causes, now));
  if (causes.size() > kCausesShown)
    output.after = Format("{} more rules have open findings: `fabricctl findings`.\n",
                          causes.size() - kCausesShown);
  const Duration period = arguments.Duration("since");
  output.tables.push_back(
      ChangeTable(ChangesOf(nodes, findings.findings(), campaigns, now - period), period, now));
  for (const Cause& cause : causes) output.names.push_back(cause.first->id());
  const bool store_fails = !version.store().failure().empty();
  output.exit_status = AnyFailing(findings.findings()) || store_fails ? kExitFindings : kExitOk;
  output.message = std::make_unique<v1::ListFindingsResponse>(std::move(findings));
  return output;
}

}  // namespace

extern const Command status = {
    .path = "status",
    .summary = "Show the state of the fabric on one screen: open findings by cause, and changes.",
    .description =
        "Open findings are grouped by rule; findings that another one explains and silenced "
        "findings are not counted. AGE, WHAT and ID are of the oldest finding of the group. "
        "Coverage is the share of verdicts that are not unknown. On a narrow terminal, columns are "
        "left out: -o wide has all. -o json prints the findings. With --selector, shows nodes with "
        "these labels and the findings about them, without coverage, mesh and campaigns. Exits "
        "with 1 if a finding is "
        "open, or if the controller cannot write its state.",
    .example =
        "fabricctl status --watch\n"
        "fabricctl status --since 8h\n"
        "fabricctl status -l pool=h100",
    .options = kStatusOptions,
    .run = RunStatus,
    .watch = true,
};

}  // namespace fabric::ctl
