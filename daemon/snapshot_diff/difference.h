// Differences between two flattened snapshots. Pure.
#pragma once

#include <vector>

#include "daemon/snapshot_diff/flatten.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::snapshot_diff {

using Differences = std::vector<v1::FieldDifference>;

// Sorted by path. Includes each value below an element that one side lacks.
Differences Compare(const FieldValues& before, const FieldValues& after);

// Merges the differences below an element that one side lacks into one.
void Fold(Differences& differences);

// Differences of two snapshots: settings, then gaps, then counters; folded.
v1::DiffNodeResponse Diff(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

}  // namespace fabric::snapshot_diff
