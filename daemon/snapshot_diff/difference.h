// What differs between two sets of facts. Pure.
#pragma once

#include <vector>

#include "daemon/snapshot_diff/flatten.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::snapshot_diff {

using Differences = std::vector<v1::FactDifference>;

// By path; everything below an element that one of them lacks is told too.
Differences Compare(const FieldValues& before, const FieldValues& after);

// The same with one line for each element that one side lacks.
void Fold(Differences& differences);

// Two snapshots as they are: settings first, then what could not be read, then
// counters; folded.
v1::DiffNodeResponse Diff(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after);

}  // namespace fabric::snapshot_diff
