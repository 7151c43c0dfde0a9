#include "ctl/tables/heat_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {
namespace {

// In the order of Shade. render.cc has their colours and their forms in ASCII.
constexpr std::array<std::string_view, 6> kCells = {"··", "░░", "▒▒", "▓▓", "██", "XX"};

// A value is at most this multiple of the median; of bandwidth the median is that of the value.
struct Limit {
  double ratio;
  Shade shade;
};
constexpr Limit kLimits[] = {{1.15, Shade::kGood}, {1.5, Shade::kFair}, {2, Shade::kPoor}};

constexpr std::size_t kHeatNodesMax = 48;  // Fits a terminal of 120 columns.

std::string_view CellOf(Shade shade) {
  return kCells[static_cast<std::size_t>(shade)];
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

Shade ShadeOf(const PairCell& cell, double median, bool is_rate) {
  const v1::PairResult& pair = *cell.pair;
  if (!IsOk(pair) || pair.result().ping().lost() > 0) return Shade::kFailed;
  if (!cell.reverse && pair.expectation().missed()) return Shade::kBad;
  if (MeasureOf(pair.probe()) == v1::MEASURE_UNSPECIFIED) return Shade::kGood;
  if (!cell.value || *cell.value <= 0) return Shade::kNotMeasured;
  const double ratio = is_rate ? median / *cell.value : *cell.value / median;
  for (const Limit& limit : kLimits)
    if (ratio <= limit.ratio) return limit.shade;
  return Shade::kBad;
}

void AddLegend(const Matrix& matrix, double median, HeatMap& map) {
  if (median > 0) {
    map.median = Format("median {:.{}f}", median / matrix.unit, matrix.decimals);
    for (const Limit& limit : kLimits)
      map.legend.emplace_back(
          limit.shade,
          Format("{} {:.{}f}", IsRate(matrix) ? "from" : "to",
                 (IsRate(matrix) ? median / limit.ratio : median * limit.ratio) / matrix.unit,
                 matrix.decimals));
    map.legend.emplace_back(Shade::kBad, "worse, or below the expectation");
  }
  map.legend.emplace_back(Shade::kFailed, "failed or lossy");
  map.legend.emplace_back(Shade::kNotMeasured, "not measured");
}

std::string LegendText(const HeatMap& map) {
  std::string text = map.median.empty() ? "" : map.median + ":";
  for (const auto& [shade, words] : map.legend) {
    // Two lines, each shorter than 80 columns
    const bool second = shade == Shade::kBad && !text.empty();
    text += second ? "\n" : text.empty() ? "" : text.ends_with(':') ? " " : "  ";
    text += Format("{} {}", CellOf(shade), words);
  }
  return text;
}

Table HeatTable(const Matrix& matrix, const std::vector<std::string>& nodes) {
  const HeatMap map = HeatMapOf(matrix, nodes);
  Table table{.title = map.title + "\n" + LegendText(map),
              .columns = {{.title = "#", .right_aligned = true}, {.title = "FROM"}}};
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    // The last two digits of the row, so that columns stay narrow.
    table.columns.push_back({.title = Format("{}", (n + 1) % 100),
                             .right_aligned = true,
                             .coloured = true,
                             .tight = n > 0});
    std::vector<std::string>& row =
        table.rows.emplace_back(std::vector{Format("{}", n + 1), nodes[n]});
    for (std::size_t to = 0; to < nodes.size(); ++to)
      row.emplace_back(CellOf(map.cells[n * nodes.size() + to]));
  }
  return table;
}

}  // namespace

HeatMap HeatMapOf(const Matrix& matrix, const std::vector<std::string>& nodes) {
  const double median = MedianOf(matrix);
  const bool is_rate = IsRate(matrix);
  HeatMap map{.title = matrix.title, .nodes = nodes};
  AddLegend(matrix, median, map);
  map.cells.resize(nodes.size() * nodes.size(), Shade::kNotMeasured);
  std::map<std::string, std::size_t> index;
  for (const std::string& node : nodes) index.emplace(node, index.size());
  for (const auto& [names, cell] : CellsOf(matrix)) {
    const auto row = index.find(names.first), column = index.find(names.second);
    if (row != index.end() && column != index.end())
      map.cells[row->second * nodes.size() + column->second] = ShadeOf(cell, median, is_rate);
  }
  return map;
}

std::vector<Table> HeatTables(const v1::Campaign& campaign, std::size_t columns) {
  return TablesOf(campaign, kHeatNodesMax, columns, HeatTable);
}

}  // namespace fabric::ctl
