// Results of a campaign as matrices: rows are initiators, columns responders. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// The results of one kind between the ports of two rails. Borrows the results.
struct Matrix {
  std::vector<const v1::PairResult*> pairs;
  std::string title;
  double unit = 1;  // Cells are values divided by it.
  int decimals = 0;
};

bool IsOk(const v1::PairResult& pair);

// By rail, kind and names.
std::vector<const v1::PairResult*> SortedResults(const v1::Campaign& campaign);

std::vector<Matrix> MatricesOf(const v1::Campaign& campaign);

// No value: not measured.
std::optional<double> MeasuredValue(const v1::PairResult& pair);

// Small values are the bad ones: bandwidth and MTU.
bool IsRate(const Matrix& matrix);

// The cell of a pair of nodes.
struct PairCell {
  const v1::PairResult* pair = nullptr;
  bool reverse = false;         // The bandwidth from the responder to the initiator
  std::optional<double> value;  // Of this direction
};
// By the names of both nodes. Of several ports, rounds and directions the worst, so that no good
// result hides a bad one.
std::map<std::pair<std::string, std::string>, PairCell> CellsOf(const Matrix& matrix);

// Names, sorted.
std::vector<std::string> MatrixNodes(const Matrix& matrix);
// At most `count`: those with the most failures, lost pings and values outside the limits.
std::vector<std::string> WorstNodes(const Matrix& matrix, std::size_t count);

// A table for each matrix. With more than `nodes_max` nodes, that table is for -o wide and csv
// only, and one of the worst `nodes_max` nodes comes first; with fewer nodes if its lines would be
// longer than `columns`, the width of the terminal (0: not known).
using MakeTable = Table (*)(const Matrix& matrix, const std::vector<std::string>& nodes);
std::vector<Table> TablesOf(const v1::Campaign& campaign, std::size_t nodes_max,
                            std::size_t columns, MakeTable make);

// For each rail and kind a matrix. A pair that failed shows a keyword; FailureLines has the
// reasons. "-": not measured in that direction. "5.10 -3": a ping that lost three packets.
std::vector<Table> MatrixTables(const v1::Campaign& campaign, std::size_t columns);

}  // namespace fabric::ctl
