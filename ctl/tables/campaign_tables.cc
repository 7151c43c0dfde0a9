#include "ctl/tables/campaign_tables.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/kind_tables.h"
#include "ctl/tables/result_tables.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

bool Ok(const v1::PairResult& pair) {
  return pair.result().status() == v1::PROBE_STATUS_OK;
}

std::uint32_t MessageBytes(const v1::ProbeSpec& spec) {
  const auto* const kind =
      v1::ProbeSpec::descriptor()->FindFieldByNumber(static_cast<int>(spec.kind_case()));
  if (kind == nullptr) return 0;
  const auto& message = spec.GetReflection()->GetMessage(spec, kind);
  const auto* const bytes = message.GetDescriptor()->FindFieldByName("message_bytes");
  return bytes == nullptr ? 0 : message.GetReflection()->GetUInt32(message, bytes);
}

// The quantity that a kind measures.
enum class Figure { kLatency, kBandwidth, kPing, kMtu, kGpuMemory };

Figure FigureOf(const v1::ProbeSpec& spec) {
  if (spec.has_ud_ping()) return Figure::kPing;
  if (spec.has_path_mtu()) return Figure::kMtu;
  if (spec.has_gpu_memory()) return Figure::kGpuMemory;
  return spec.has_incast() || ProbeKindName(spec).ends_with("bandwidth") ? Figure::kBandwidth
                                                                         : Figure::kLatency;
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
    if (step.crossed()) largest = std::max(largest, step.mtu_bytes());
  return largest;
}

// Bandwidth of the fastest way between GPUs.
double FastestGpuBps(const v1::ProbeResult& result) {
  double fastest = 0;
  for (const v1::GpuMemoryStep& step : result.gpu_memory())
    fastest = std::max(fastest, step.bandwidth().mean_bps());
  return fastest;
}

double Value(const v1::PairResult& pair) {
  switch (FigureOf(pair.probe())) {
    case Figure::kLatency: return pair.result().latency().median_us();
    case Figure::kBandwidth: return pair.result().bandwidth().mean_bps();
    case Figure::kPing: return pair.result().ping().network_round_trip().median_us();
    case Figure::kMtu: return LargestMtu(pair.result());
    case Figure::kGpuMemory: return FastestGpuBps(pair.result());
  }
  return 0;
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
  const Figure figure = FigureOf(first.probe());
  const std::uint32_t bytes = MessageBytes(first.probe());
  const std::string size = bytes == 0 ? std::string() : Format(" of {} bytes", bytes);
  const std::string_view what = figure == Figure::kLatency ? "median, "
                                : figure == Figure::kPing  ? "median network round trip, "
                                                           : "";
  return Format("rail {}: {}{}, {}{} (rows: from, columns: to)", RailName(first.from(), first.to()),
                KindWords(first.probe()), size, what, unit);
}

void ChooseUnit(Matrix& matrix) {
  double largest = 0;
  for (const v1::PairResult* pair : matrix.pairs)
    if (Ok(*pair)) largest = std::max(largest, Value(*pair));
  std::string_view name = "µs";
  const Figure figure = FigureOf(matrix.pairs.front()->probe());
  if (figure == Figure::kBandwidth || figure == Figure::kGpuMemory) {
    matrix.unit = largest >= 1e9 ? 1e9 : 1e6;
    name = largest >= 1e9 ? "Gb/s" : "Mb/s";
  }
  largest /= matrix.unit;
  matrix.decimals = largest < 100 ? 2 : largest < 1000 ? 1 : 0;
  if (figure == Figure::kMtu) {
    matrix.decimals = 0;
    name = "bytes";
  }
  matrix.title = Title(*matrix.pairs.front(), name);
}

// Also shows the number of lost pings.
std::string MatrixCell(const v1::PairResult& pair, const Matrix& matrix) {
  const v1::PingSummary& ping = pair.result().ping();
  if (FigureOf(pair.probe()) == Figure::kPing && ping.answered() == 0) return "lost";
  std::string cell = Format("{:.{}f}", Value(pair) / matrix.unit, matrix.decimals);
  if (ping.lost() > 0) cell += Format(" -{}", ping.lost());
  return cell;
}

Table MatrixTable(Matrix matrix) {
  ChooseUnit(matrix);
  std::vector<std::string> nodes;
  for (const v1::PairResult* pair : matrix.pairs) {
    nodes.push_back(pair->from().node());
    nodes.push_back(pair->to().node());
  }
  std::ranges::sort(nodes, NaturalLess);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
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
  std::string line =
      Format("campaign {}: {}, {} in {}: {} ok, {} failed", campaign.id(), Name(campaign.state()),
             Plural(campaign.probes_planned(), "probe"), Plural(campaign.rounds(), "round"),
             campaign.probes_ok(), campaign.probes_failed());
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
  std::string lines;
  for (const std::string& skipped : campaign.skipped()) lines += Format("skipped {}\n", skipped);
  return lines;
}

std::vector<Table> ResultTables(const v1::Campaign& campaign) {
  std::vector<const v1::PairResult*> figures, pings, mtus, gpus;
  for (const v1::PairResult* pair : Sorted(campaign)) {
    const Figure figure = FigureOf(pair->probe());
    (figure == Figure::kPing        ? pings
     : figure == Figure::kMtu       ? mtus
     : figure == Figure::kGpuMemory ? gpus
                                    : figures)
        .push_back(pair);
  }
  std::vector<Table> tables;
  if (!figures.empty() || campaign.results().empty()) tables.push_back(PairTable(figures));
  if (!pings.empty()) tables.push_back(PingTable(pings));
  if (!mtus.empty()) tables.push_back(MtuTable(mtus));
  if (!gpus.empty()) tables.push_back(GpuMemoryTable(gpus));
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
  for (auto& [key, matrix] : matrices) tables.push_back(MatrixTable(std::move(matrix)));
  return tables;
}

std::string FailureLines(const v1::Campaign& campaign) {
  std::string lines;
  for (const v1::PairResult* pair : Sorted(campaign)) {
    if (Ok(*pair)) continue;
    const std::string& reason = pair->result().reason();
    lines += Format("{} -> {}, rail {}, {}: {}{}{}\n", pair->from().node(), pair->to().node(),
                    RailName(pair->from(), pair->to()), ProbeKindName(pair->probe()),
                    Name(pair->result().status()), reason.empty() ? "" : ": ", reason);
  }
  return lines;
}

void KeepKind(std::string_view kind, v1::Campaign& campaign) {
  if (kind == "both") return;
  const Figure wanted = kind == "latency"     ? Figure::kLatency
                        : kind == "bandwidth" ? Figure::kBandwidth
                        : kind == "ping"      ? Figure::kPing
                                              : Figure::kMtu;
  auto& results = *campaign.mutable_results();
  results.erase(
      std::remove_if(results.begin(), results.end(),
                     [&](const v1::PairResult& pair) { return FigureOf(pair.probe()) != wanted; }),
      results.end());
}

Output CampaignOutput(v1::Campaign campaign) {
  Output output;
  output.before = CampaignLine(campaign);
  output.tables = ResultTables(campaign);
  output.after = SkippedLines(campaign) + BlameLines(campaign.blame());
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
  return campaign.probes_failed() > 0 || blamed || bad ? kExitFindings : kExitOk;
}

}  // namespace fabric::ctl
