#include "ctl/tables/campaign_tables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/campaign_summary.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/class_lines.h"
#include "ctl/tables/kind_tables.h"
#include "ctl/tables/matrix.h"
#include "ctl/tables/result_tables.h"
#include "proto/coverage.h"
#include "proto/names.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {

std::string CampaignLine(const v1::Campaign& campaign) {
  std::string line = Format("campaign {}: {}, {} in {}: {}", campaign.id(), Name(campaign.state()),
                            Plural(campaign.probes_planned(), "probe"),
                            Plural(campaign.rounds(), "round"), CountsText(campaign));
  if (campaign.rounds_saved() > 0)
    line += Format("; located after {}, {} saved", Plural(campaign.rounds_done(), "round"),
                   campaign.rounds_saved());
  return line + "\n";
}

std::string ProgressLine(const v1::Campaign& campaign) {
  std::string line = Format("campaign {}: {} of {}, {} failed", campaign.id(),
                            campaign.probes_ok() + campaign.probes_failed(),
                            Plural(campaign.probes_planned(), "probe"), campaign.probes_failed());
  if (campaign.rounds_done() > 0)
    line += Format(", round {} of {}", campaign.rounds_done(), campaign.rounds());
  if (!campaign.has_remaining_seconds()) return line;
  const double seconds = campaign.remaining_seconds();
  const std::string_view most = campaign.spec().until_decided() ? "at most " : "";
  return line + (seconds < 120 ? Format(", {}{:.0f} s left", most, seconds)
                               : Format(", {}{:.0f} min left", most, seconds / 60));
}

std::string WaitText(const v1::Campaign& campaign,
                     const google::protobuf::RepeatedPtrField<v1::Campaign>& campaigns) {
  constexpr std::size_t kShown = 3;
  const bool has_result = campaign.probes_ok() + campaign.probes_failed() > 0;
  if (campaign.state() != v1::CAMPAIGN_STATE_RUNNING || has_result) return {};
  std::vector<std::string> others;
  for (const v1::Campaign& other : campaigns)
    if (other.state() == v1::CAMPAIGN_STATE_RUNNING && other.id() != campaign.id())
      others.push_back(other.id());
  if (others.empty()) return {};
  return Format("; no result yet; {} also {} and can hold the ports", ListSome(others, kShown),
                others.size() == 1 ? "runs" : "run");
}

std::string SkippedLines(const v1::Campaign& campaign) {
  constexpr int kShown = 10;
  std::string lines;
  for (int n = 0; n < std::min(kShown, campaign.skipped_size()); ++n)
    lines += Format("skipped {}\n", ToString(campaign.skipped(n)));
  if (campaign.skipped_size() > kShown)
    lines += Format("skipped {} more (-o yaml)\n", campaign.skipped_size() - kShown);
  return lines;
}

std::vector<Table> ResultTables(const v1::Campaign& campaign) {
  std::map<v1::Measure, PairResults> pairs;
  // Latency, bandwidth and kinds without figures share a table.
  for (const v1::PairResult* pair : SortedResults(campaign)) {
    const v1::Measure measure = MeasureOf(pair->probe());
    pairs[measure < v1::MEASURE_PING ? v1::MEASURE_UNSPECIFIED : measure].push_back(pair);
  }
  if (pairs.empty()) pairs[v1::MEASURE_UNSPECIFIED];
  std::vector<Table> tables;
  for (const auto& [measure, of_measure] : pairs)
    tables.push_back(measure == v1::MEASURE_PING         ? PingTable(of_measure)
                     : measure == v1::MEASURE_PATH_MTU   ? MtuTable(of_measure)
                     : measure == v1::MEASURE_GPU_MEMORY ? GpuMemoryTable(of_measure)
                                                         : PairTable(of_measure));
  if (!campaign.incasts().empty()) {
    tables.push_back(IncastTable(campaign));
    tables.push_back(MovesTable(campaign));
  }
  return tables;
}

std::string FailureLines(const v1::Campaign& campaign) {
  constexpr std::uint32_t kShown = 20;
  std::string lines;
  std::uint32_t failed = 0;
  for (const v1::PairResult* pair : SortedResults(campaign)) {
    if (IsOk(*pair) || ++failed > kShown) continue;
    const std::string& reason = pair->result().reason();
    lines += Format("{} -> {}, rail {}, {}: {}{}{}\n", pair->from().node(), pair->to().node(),
                    RailName(pair->from(), pair->to()), ProbeKindName(pair->probe()),
                    StatusWord(pair->result()), reason.empty() ? "" : ": ", reason);
  }
  if (failed > kShown)
    lines += Format("{} more failed: fabricctl probe show {}\n", failed - kShown, campaign.id());
  return lines;
}

Status KeepKind(std::string_view word, v1::Campaign& campaign) {
  if (word == kKindFallback) return {};
  ASSIGN_OR_RETURN(const auto arms, KindsOf(word));
  auto& results = *campaign.mutable_results();
  results.erase(std::remove_if(results.begin(), results.end(),
                               [&](const v1::PairResult& pair) {
                                 return MeasureOf(pair.probe()) != OptionsOf(*arms[0]).measure();
                               }),
                results.end());
  return {};
}

Output CampaignOutput(v1::Campaign campaign) {
  Output output;
  output.before = CampaignLine(campaign) + ClassLines(campaign.classes());
  std::vector<Table> all = ResultTables(campaign);
  if (campaign.results_size() > kResultsShownMax) {
    output.tables = SummaryTables(campaign);
    for (Table& table : all) table.wide_only = true;
    output.after = Format("{} results in all: -o wide\n", campaign.results_size());
  }
  std::ranges::move(all, std::back_inserter(output.tables));
  output.after += LimitLines(campaign) + SkippedLines(campaign) + BlameLines(campaign.blame());
  output.names.push_back(campaign.id());
  output.exit_status = CampaignExitStatus(campaign);
  output.message = std::make_unique<v1::Campaign>(std::move(campaign));
  return output;
}

int CampaignExitStatus(const v1::Campaign& campaign) {
  const bool blamed = !campaign.blame().suspects().empty();
  const bool bad =
      std::any_of(campaign.incasts().begin(), campaign.incasts().end(),
                  [](const v1::IncastReport& report) { return IsBad(report.verdict()); });
  return campaign.probes_failed() > 0 || campaign.probes_below_expectation() > 0 || blamed || bad
             ? kExitFindings
             : kExitOk;
}

}  // namespace fabric::ctl
