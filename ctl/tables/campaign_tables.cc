#include "ctl/tables/campaign_tables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/campaign_spec.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/campaign_summary.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/class_lines.h"
#include "ctl/tables/kind_tables.h"
#include "ctl/tables/result_tables.h"
#include "proto/coverage.h"
#include "proto/names.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {
namespace {

bool Ok(const v1::PairResult& pair) {
  return pair.result().status() == v1::PROBE_STATUS_OK;
}

std::uint32_t MessageBytes(const v1::ProbeSpec& spec) {
  const auto* const settings = ProbeSettingsOf(spec);
  if (settings == nullptr) return 0;
  const auto* const bytes = settings->GetDescriptor()->FindFieldByName("message_bytes");
  return bytes == nullptr ? 0 : settings->GetReflection()->GetUInt32(*settings, bytes);
}

// Key of a matrix: rails, kind and message size.
using MatrixKey = std::tuple<std::uint32_t, std::uint32_t, int, std::uint32_t>;

MatrixKey KeyOf(const v1::PairResult& pair) {
  return {pair.from().rail(), pair.to().rail(), static_cast<int>(pair.probe().kind_case()),
          MessageBytes(pair.probe())};
}

bool Before(const v1::PairResult* a, const v1::PairResult* b) {
  if (KeyOf(*a) != KeyOf(*b)) return KeyOf(*a) < KeyOf(*b);
  if (a->from().node() != b->from().node()) return NaturalLess(a->from().node(), b->from().node());
  if (a->to().node() != b->to().node()) return NaturalLess(a->to().node(), b->to().node());
  return std::tuple(a->round(), a->from().device(), a->from().port()) <
         std::tuple(b->round(), b->from().device(), b->from().port());
}

std::vector<const v1::PairResult*> Sorted(const v1::Campaign& campaign) {
  std::vector<const v1::PairResult*> sorted;
  for (const v1::PairResult& pair : campaign.results()) sorted.push_back(&pair);
  std::ranges::stable_sort(sorted, Before);
  return sorted;
}

// At most eight columns, to keep rows of failures narrow.
std::string_view ShortWord(v1::ProbeStatus status) {
  switch (status) {
    case v1::PROBE_STATUS_REFUSED: return "refused";
    case v1::PROBE_STATUS_UNREACHABLE: return "unreach";
    case v1::PROBE_STATUS_SETUP_FAILED: return "setup";
    case v1::PROBE_STATUS_TIMED_OUT: return "timeout";
    case v1::PROBE_STATUS_CANCELLED: return "cancel";
    default: return "failed";
  }
}

// A matrix before rendering, with the unit of its cells.
struct Matrix {
  std::vector<const v1::PairResult*> pairs;
  std::string title;
  double unit = 1;
  int decimals = 0;
};

std::uint32_t LargestMtu(const v1::ProbeResult& result) {
  std::uint32_t largest = 0;
  for (const v1::MtuStep& step : result.mtu_steps())
    if (step.delivered()) largest = std::max(largest, step.mtu_bytes());
  return largest;
}

// Bandwidth of the fastest way between GPUs.
double FastestGpuBps(const v1::ProbeResult& result) {
  double fastest = 0;
  for (const v1::GpuMemoryStep& step : result.gpu_memory())
    fastest = std::max(fastest, step.bandwidth().mean_bps());
  return fastest;
}

std::optional<double> If(bool present, double value) {
  return present ? std::optional(value) : std::nullopt;
}

// No value: not measured.
std::optional<double> Value(const v1::PairResult& pair) {
  const v1::ProbeResult& result = pair.result();
  const v1::LatencySummary& round_trip = result.ping().network_round_trip();
  switch (MeasureOf(pair.probe())) {
    case v1::MEASURE_LATENCY:
      return If(result.latency().median_us() > 0, result.latency().median_us());
    case v1::MEASURE_BANDWIDTH: return If(result.has_bandwidth(), result.bandwidth().mean_bps());
    case v1::MEASURE_PING:
      return If(result.ping().has_network_round_trip(), round_trip.median_us());
    case v1::MEASURE_PATH_MTU: return If(LargestMtu(result) > 0, LargestMtu(result));
    case v1::MEASURE_GPU_MEMORY: return If(FastestGpuBps(result) > 0, FastestGpuBps(result));
    default: return {};
  }
}

// "RC read latency"
std::string KindWords(const v1::ProbeSpec& spec) {
  std::string words;
  for (const std::string_view word : Split(ProbeKindName(spec), '_')) {
    const bool shortened = word == "rc" || word == "ud" || word == "mtu" || word == "gpu";
    words += words.empty() ? "" : " ";
    for (const char letter : word)
      words += shortened ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return words;
}

std::string Title(const v1::PairResult& first, std::string_view unit) {
  const v1::Measure measure = MeasureOf(first.probe());
  const std::uint32_t bytes = MessageBytes(first.probe());
  const std::string size = bytes == 0 ? std::string() : Format(" of {} bytes", bytes);
  const std::string_view what = measure == v1::MEASURE_LATENCY ? ", median, "
                                : measure == v1::MEASURE_PING  ? ", median network round trip, "
                                : unit.empty()                 ? ""
                                                               : ", ";
  return Format("rail {}: {}{}{}{} (rows: from, columns: to)", RailName(first.from(), first.to()),
                KindWords(first.probe()), size, what, unit);
}

void ChooseUnit(Matrix& matrix) {
  double largest = 0;
  for (const v1::PairResult* pair : matrix.pairs)
    if (Ok(*pair)) largest = std::max(largest, Value(*pair).value_or(0));
  std::string_view name = "µs";
  const v1::Measure measure = MeasureOf(matrix.pairs.front()->probe());
  if (measure == v1::MEASURE_UNSPECIFIED) name = "";
  if (measure == v1::MEASURE_BANDWIDTH || measure == v1::MEASURE_GPU_MEMORY) {
    matrix.unit = largest >= 1e9 ? 1e9 : 1e6;
    name = largest >= 1e9 ? "Gb/s" : "Mb/s";
  }
  largest /= matrix.unit;
  matrix.decimals = largest < 100 ? 2 : largest < 1000 ? 1 : 0;
  if (measure == v1::MEASURE_PATH_MTU) {
    matrix.decimals = 0;
    name = "bytes";
  }
  matrix.title = Title(*matrix.pairs.front(), name);
}

// Also shows the number of lost pings.
std::string MatrixCell(const v1::PairResult& pair, const Matrix& matrix) {
  const v1::PingSummary& ping = pair.result().ping();
  const v1::Measure measure = MeasureOf(pair.probe());
  if (measure == v1::MEASURE_UNSPECIFIED) return "ok";
  if (measure == v1::MEASURE_PING && ping.answered() == 0) return "lost";
  const std::optional<double> value = Value(pair);
  std::string cell =
      value ? Format("{:.{}f}", *value / matrix.unit, matrix.decimals) : std::string(kAbsent);
  if (ping.lost() > 0) cell += Format(" -{}", ping.lost());
  return cell;
}

std::vector<std::string> NodesOf(const Matrix& matrix) {
  std::vector<std::string> nodes;
  for (const v1::PairResult* pair : matrix.pairs) {
    nodes.push_back(pair->from().node());
    nodes.push_back(pair->to().node());
  }
  std::ranges::sort(nodes, NaturalLess);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// A matrix of this size fits a terminal of 120 columns.
constexpr std::size_t kMatrixNodesMax = 12;

// The nodes with the most failures, lost pings and values outside the limits.
std::vector<std::string> WorstNodes(const Matrix& matrix, std::vector<std::string> nodes) {
  std::map<std::string, std::uint64_t> bad;
  for (const v1::PairResult* pair : matrix.pairs) {
    const std::uint64_t weight =
        !Ok(*pair) ? 1'000'000
                   : pair->result().ping().lost() + (pair->expectation().missed() ? 1'000 : 0);
    bad[pair->from().node()] += weight;
    bad[pair->to().node()] += weight;
  }
  std::ranges::stable_sort(
      nodes, [&](const std::string& a, const std::string& b) { return bad[a] > bad[b]; });
  nodes.resize(std::min(nodes.size(), kMatrixNodesMax));
  std::ranges::sort(nodes, NaturalLess);
  return nodes;
}

// Only cells between these nodes.
Table MatrixTable(const Matrix& matrix, const std::vector<std::string>& nodes) {
  std::map<std::string, std::size_t> index;
  Table table{.title = matrix.title, .columns = {{.title = "FROM"}}};
  for (const std::string& node : nodes) {
    index.emplace(node, index.size());
    table.columns.push_back({.title = node, .right_aligned = true});
    table.rows.emplace_back(nodes.size() + 1, std::string(kAbsent));
    table.rows.back()[0] = node;
  }
  const auto cell = [&](const v1::ProbePort& from, const v1::ProbePort& to) -> std::string& {
    return table.rows[index.at(from.node())][1 + index.at(to.node())];
  };
  for (const v1::PairResult* pair : matrix.pairs) {
    if (!index.contains(pair->from().node()) || !index.contains(pair->to().node())) continue;
    const v1::ProbeResult& result = pair->result();
    cell(pair->from(), pair->to()) =
        Ok(*pair) ? MatrixCell(*pair, matrix) : std::string(ShortWord(result.status()));
    if (Ok(*pair) && result.has_reverse_bandwidth())
      cell(pair->to(), pair->from()) =
          Format("{:.{}f}", result.reverse_bandwidth().mean_bps() / matrix.unit, matrix.decimals);
  }
  return table;
}

}  // namespace

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
  for (const v1::PairResult* pair : Sorted(campaign)) {
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

std::vector<Table> MatrixTables(const v1::Campaign& campaign) {
  std::map<MatrixKey, Matrix> matrices;
  for (const v1::PairResult* pair : Sorted(campaign)) matrices[KeyOf(*pair)].pairs.push_back(pair);
  std::vector<Table> tables;
  for (auto& [key, matrix] : matrices) {
    ChooseUnit(matrix);
    const std::vector<std::string> nodes = NodesOf(matrix);
    if (nodes.size() > kMatrixNodesMax) {
      tables.push_back(MatrixTable(matrix, WorstNodes(matrix, nodes)));
      tables.back().title +=
          Format(", the worst {} of {} nodes; -o wide shows all", kMatrixNodesMax, nodes.size());
    }
    tables.push_back(MatrixTable(matrix, nodes));
    tables.back().wide_only = nodes.size() > kMatrixNodesMax;
  }
  return tables;
}

std::string FailureLines(const v1::Campaign& campaign) {
  constexpr std::uint32_t kShown = 20;
  std::string lines;
  std::uint32_t failed = 0;
  for (const v1::PairResult* pair : Sorted(campaign)) {
    if (Ok(*pair) || ++failed > kShown) continue;
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
