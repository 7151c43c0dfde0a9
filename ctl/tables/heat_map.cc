#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/matrix.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {
namespace {

// Cells of a heat map. render.cc has their colours and their forms in ASCII.
constexpr std::string_view kNotMeasured = "··";
constexpr std::string_view kBad = "██";
constexpr std::string_view kFailed = "XX";

// A value is at most this multiple of the median; of bandwidth the median is that of the value.
struct Shade {
  double ratio;
  std::string_view cell;
};
constexpr Shade kShades[] = {{1.15, "░░"}, {1.5, "▒▒"}, {2, "▓▓"}};

// From best to worst.
int RankOf(std::string_view cell) {
  if (cell == kNotMeasured) return -1;
  int rank = 0;
  for (const Shade& shade : kShades) {
    if (cell == shade.cell) return rank;
    ++rank;
  }
  return cell == kBad ? rank : rank + 1;
}

constexpr std::size_t kHeatNodesMax = 48;  // Fits a terminal of 120 columns.

bool IsRate(const v1::PairResult& pair) {
  const v1::Measure measure = MeasureOf(pair.probe());
  return measure == v1::MEASURE_BANDWIDTH || measure == v1::MEASURE_GPU_MEMORY ||
         measure == v1::MEASURE_PATH_MTU;
}

// Of the lower half when the number is even, so that it is a measured value. 0: none.
double MedianOf(const Matrix& matrix) {
  std::vector<double> values;
  for (const v1::PairResult* pair : matrix.pairs)
    if (const auto value = MeasuredValue(*pair); IsOk(*pair) && value) values.push_back(*value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string_view ShadeOf(double value, double median, bool is_rate) {
  const double ratio = is_rate ? median / value : value / median;
  for (const Shade& shade : kShades)
    if (ratio <= shade.ratio) return shade.cell;
  return kBad;
}

std::string_view HeatCell(const v1::PairResult& pair, double median) {
  const v1::PingSummary& ping = pair.result().ping();
  const std::optional<double> value = MeasuredValue(pair);
  if (!IsOk(pair) || ping.lost() > 0) return kFailed;
  if (pair.expectation().missed()) return kBad;
  if (MeasureOf(pair.probe()) == v1::MEASURE_UNSPECIFIED) return kShades[0].cell;
  return !value || *value <= 0 ? kNotMeasured : ShadeOf(*value, median, IsRate(pair));
}

std::string Legend(const Matrix& matrix, double median) {
  std::string legend;
  if (median > 0) {
    const bool is_rate = IsRate(*matrix.pairs.front());
    const std::string middle = Format("{:.{}f}", median / matrix.unit, matrix.decimals);
    for (const Shade& shade : kShades)
      legend += Format("{} {} {:.{}f}  ", shade.cell, is_rate ? "from" : "to",
                       (is_rate ? median / shade.ratio : median * shade.ratio) / matrix.unit,
                       matrix.decimals);
    legend += Format("{} worse, or below the expectation  ", kBad);
    legend = Format("median {}: {}", middle, legend);
  }
  return legend + Format("{} failed or lossy  {} not measured", kFailed, kNotMeasured);
}

Table HeatTable(const Matrix& matrix, const std::vector<std::string>& nodes) {
  const double median = MedianOf(matrix);
  std::map<std::string, std::size_t> index;
  Table table{.title = matrix.title + "\n" + Legend(matrix, median),
              .columns = {{.title = "#", .right_aligned = true}, {.title = "FROM"}}};
  for (const std::string& node : nodes) {
    index.emplace(node, index.size());
    // The last two digits of the row, so that columns stay narrow.
    table.columns.push_back({.title = Format("{}", index.size() % 100),
                             .right_aligned = true,
                             .coloured = true,
                             .tight = true});
    table.rows.emplace_back(nodes.size() + 2, std::string(kNotMeasured));
    table.rows.back()[0] = Format("{}", index.size());
    table.rows.back()[1] = node;
  }
  if (!nodes.empty()) table.columns[2].tight = false;
  const auto place = [&](const v1::ProbePort& from, const v1::ProbePort& to,
                         std::string_view cell) {
    const auto row = index.find(from.node());
    const auto column = index.find(to.node());
    if (row == index.end() || column == index.end()) return;
    // Several ports or rounds of a pair: the worst one, so that none hides a failure.
    std::string& shown = table.rows[row->second][2 + column->second];
    if (RankOf(cell) > RankOf(shown)) shown = cell;
  };
  for (const v1::PairResult* pair : matrix.pairs) {
    place(pair->from(), pair->to(), HeatCell(*pair, median));
    const v1::ProbeResult& result = pair->result();
    if (IsOk(*pair) && result.has_reverse_bandwidth() && median > 0)
      place(pair->to(), pair->from(), ShadeOf(result.reverse_bandwidth().mean_bps(), median, true));
  }
  return table;
}

}  // namespace

std::vector<Table> HeatTables(const v1::Campaign& campaign) {
  return TablesOf(campaign, kHeatNodesMax, HeatTable);
}

}  // namespace fabric::ctl
