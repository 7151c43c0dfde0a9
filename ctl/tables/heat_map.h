// A matrix as a heat map: a shade for each pair of nodes, by the ratio of its value to the median.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/command.h"
#include "ctl/tables/matrix.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// From best to worst.
enum class Shade { kNotMeasured, kGood, kFair, kPoor, kBad, kFailed };

struct HeatMap {
  std::string title;
  std::string median;  // "median 340.0"; empty: nothing was measured.
  std::vector<std::pair<Shade, std::string>> legend;
  std::vector<std::string> nodes;
  std::vector<Shade> cells;  // Row by row
};

// Only cells between these nodes.
HeatMap HeatMapOf(const Matrix& matrix, const std::vector<std::string>& nodes);

// `columns`: as that of TablesOf.
std::vector<Table> HeatTables(const v1::Campaign& campaign, std::size_t columns);

}  // namespace fabric::ctl
