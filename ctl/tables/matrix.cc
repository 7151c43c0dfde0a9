#include "ctl/tables/matrix.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/render.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/kind_tables.h"
#include "ctl/tables/result_tables.h"
#include "proto/names.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {
namespace {

std::uint32_t MessageBytes(const v1::ProbeSpec& spec) {
  const auto* const settings = ProbeSettingsOf(spec);
  if (settings == nullptr) return 0;
  const auto* const bytes = settings->GetDescriptor()->FindFieldByName("message_bytes");
  return bytes == nullptr ? 0 : settings->GetReflection()->GetUInt32(*settings, bytes);
}

// Rails, kind and message size.
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

// A result that holds for both directions, which are in the same matrix.
bool IsRoundTrip(const v1::PairResult& pair) {
  const v1::Measure measure = MeasureOf(pair.probe());
  return pair.from().rail() == pair.to().rail() &&
         (measure == v1::MEASURE_LATENCY || measure == v1::MEASURE_PING);
}

std::string Title(const v1::PairResult& first, std::string_view unit) {
  const v1::Measure measure = MeasureOf(first.probe());
  const std::uint32_t bytes = MessageBytes(first.probe());
  const std::string size = bytes == 0 ? std::string() : Format(" of {} bytes", bytes);
  const std::string_view what = measure == v1::MEASURE_LATENCY ? ", median, "
                                : measure == v1::MEASURE_PING  ? ", median network round trip, "
                                : unit.empty()                 ? ""
                                                               : ", ";
  return Format("rail {}: {}{}{}{} (rows: from, columns: to{})", RailName(first.from(), first.to()),
                KindWords(first.probe()), size, what, unit,
                IsRoundTrip(first) ? "; round trip" : "");
}

void ChooseUnit(Matrix& matrix) {
  double largest = 0;
  for (const v1::PairResult* pair : matrix.pairs)
    if (IsOk(*pair)) largest = std::max(largest, MeasuredValue(*pair).value_or(0));
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

std::string ValueText(const PairCell& cell, const Matrix& matrix) {
  if (!cell.value) return std::string(kAbsent);
  return Format("{:.{}f}", *cell.value / matrix.unit, matrix.decimals);
}

// Also shows the number of lost pings.
std::string MatrixCell(const PairCell& cell, const Matrix& matrix) {
  const v1::PingSummary& ping = cell.pair->result().ping();
  const v1::Measure measure = MeasureOf(cell.pair->probe());
  if (!IsOk(*cell.pair)) return std::string(ShortWord(cell.pair->result().status()));
  if (measure == v1::MEASURE_UNSPECIFIED) return "ok";
  if (measure == v1::MEASURE_PING && ping.answered() == 0) return "lost";
  const std::string text = ValueText(cell, matrix);
  return ping.lost() > 0 ? Format("{} -{}", text, ping.lost()) : text;
}

// Failed, lossy, below the expectation, and then by the value.
bool IsWorse(const PairCell& cell, const PairCell& other, bool is_rate) {
  const auto faults = [](const PairCell& of) {
    return std::tuple(!IsOk(*of.pair), of.pair->result().ping().lost(),
                      !of.reverse && of.pair->expectation().missed(), of.value.has_value());
  };
  if (faults(cell) != faults(other)) return faults(cell) > faults(other);
  return cell.value && (is_rate ? *cell.value < *other.value : *cell.value > *other.value);
}

// A matrix of this size fits a terminal of 120 columns.
constexpr std::size_t kMatrixNodesMax = 12;
constexpr std::size_t kMatrixNodesMin = 2;

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
  for (const auto& [names, cell] : CellsOf(matrix)) {
    const auto row = index.find(names.first), column = index.find(names.second);
    if (row != index.end() && column != index.end())
      table.rows[row->second][1 + column->second] = MatrixCell(cell, matrix);
  }
  return table;
}

struct TableWidths {
  std::size_t line = 0;
  std::size_t column = 1;  // The widest one, with its gap
};

TableWidths Widths(const Table& table) {
  TableWidths widths;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    std::size_t width = DisplayWidth(table.columns[at].title);
    for (const auto& row : table.rows) width = std::max(width, DisplayWidth(row[at]));
    width += at == 0 || table.columns[at].tight ? 0 : 2;
    widths.line += width;
    widths.column = std::max(widths.column, width);
  }
  return widths;
}

// Of at most `count` nodes, and of fewer while the lines are longer than `columns`.
Table TableOfWorst(const Matrix& matrix, std::size_t count, std::size_t columns, MakeTable make) {
  const std::size_t all = MatrixNodes(matrix).size();
  while (true) {
    Matrix worst = matrix;
    if (count < all)
      worst.title += Format("\nthe worst {} of {} nodes; -o wide shows all", count, all);
    Table table = make(worst, WorstNodes(matrix, count));
    const TableWidths widths = Widths(table);
    if (columns == 0 || widths.line <= columns || count <= kMatrixNodesMin) return table;
    const std::size_t fewer = std::max<std::size_t>(1, (widths.line - columns) / widths.column);
    count = std::max(kMatrixNodesMin, count - std::min(count, fewer));
  }
}

}  // namespace

bool IsOk(const v1::PairResult& pair) {
  return pair.result().status() == v1::PROBE_STATUS_OK;
}

std::vector<const v1::PairResult*> SortedResults(const v1::Campaign& campaign) {
  std::vector<const v1::PairResult*> sorted;
  for (const v1::PairResult& pair : campaign.results()) sorted.push_back(&pair);
  std::ranges::stable_sort(sorted, Before);
  return sorted;
}

std::optional<double> MeasuredValue(const v1::PairResult& pair) {
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

bool IsRate(const Matrix& matrix) {
  const v1::Measure measure = MeasureOf(matrix.pairs.front()->probe());
  return measure == v1::MEASURE_BANDWIDTH || measure == v1::MEASURE_GPU_MEMORY ||
         measure == v1::MEASURE_PATH_MTU;
}

std::map<std::pair<std::string, std::string>, PairCell> CellsOf(const Matrix& matrix) {
  std::map<std::pair<std::string, std::string>, PairCell> cells;
  const bool is_rate = IsRate(matrix);
  const auto place = [&](const v1::ProbePort& from, const v1::ProbePort& to, const PairCell& cell) {
    PairCell& shown = cells[{from.node(), to.node()}];
    if (shown.pair == nullptr || IsWorse(cell, shown, is_rate)) shown = cell;
  };
  for (const v1::PairResult* pair : matrix.pairs) {
    place(pair->from(), pair->to(), {.pair = pair, .value = MeasuredValue(*pair)});
    const v1::ProbeResult& result = pair->result();
    if (IsOk(*pair) && result.has_reverse_bandwidth())
      place(pair->to(), pair->from(),
            {.pair = pair, .reverse = true, .value = result.reverse_bandwidth().mean_bps()});
  }
  if (!IsRoundTrip(*matrix.pairs.front())) return cells;
  for (const auto& [names, cell] : std::map(cells))
    cells.try_emplace({names.second, names.first}, cell);
  return cells;
}

std::vector<std::string> MatrixNodes(const Matrix& matrix) {
  std::vector<std::string> nodes;
  for (const v1::PairResult* pair : matrix.pairs) {
    nodes.push_back(pair->from().node());
    nodes.push_back(pair->to().node());
  }
  std::ranges::sort(nodes, NaturalLess);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<std::string> WorstNodes(const Matrix& matrix, std::size_t count) {
  std::vector<std::string> nodes = MatrixNodes(matrix);
  std::map<std::string, std::uint64_t> bad;
  for (const v1::PairResult* pair : matrix.pairs) {
    const std::uint64_t weight =
        !IsOk(*pair) ? 1'000'000
                     : pair->result().ping().lost() + (pair->expectation().missed() ? 1'000 : 0);
    bad[pair->from().node()] += weight;
    bad[pair->to().node()] += weight;
  }
  std::ranges::stable_sort(
      nodes, [&](const std::string& a, const std::string& b) { return bad[a] > bad[b]; });
  nodes.resize(std::min(nodes.size(), count));
  std::ranges::sort(nodes, NaturalLess);
  return nodes;
}

std::vector<Matrix> MatricesOf(const v1::Campaign& campaign) {
  std::map<MatrixKey, Matrix> matrices;
  for (const v1::PairResult* pair : SortedResults(campaign))
    matrices[KeyOf(*pair)].pairs.push_back(pair);
  std::vector<Matrix> all;
  for (auto& [key, matrix] : matrices) {
    ChooseUnit(matrix);
    all.push_back(std::move(matrix));
  }
  return all;
}

std::vector<Table> TablesOf(const v1::Campaign& campaign, std::size_t nodes_max,
                            std::size_t columns, MakeTable make) {
  std::vector<Table> tables;
  for (const Matrix& matrix : MatricesOf(campaign)) {
    const std::vector<std::string> nodes = MatrixNodes(matrix);
    Table all = make(matrix, nodes);
    const std::size_t count = std::min(nodes.size(), nodes_max);
    all.wide_only = count < nodes.size() || (columns > 0 && Widths(all).line > columns);
    if (all.wide_only) {
      tables.push_back(TableOfWorst(matrix, count, columns, make));
      tables.back().in_table_only = true;
    }
    tables.push_back(std::move(all));
  }
  return tables;
}

std::vector<Table> MatrixTables(const v1::Campaign& campaign, std::size_t columns) {
  return TablesOf(campaign, kMatrixNodesMax, columns, MatrixTable);
}

}  // namespace fabric::ctl
