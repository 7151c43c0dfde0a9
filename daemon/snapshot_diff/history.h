// History of a node: changes by report, and their sum since a moment. Pure.
#pragma once

#include <vector>

#include "daemon/snapshot_diff/difference.h"

namespace fabric::snapshot_diff {

// Setting changes at one moment, `since`; sorted by path, not folded.
using Change = v1::DiffNodeResponse;

// Changes that the report makes to the snapshot. The cost depends on the report, because equal
// parts are not flattened.
Change ChangeOf(const v1::NodeSnapshot& before, const v1::SnapshotChange& report,
                const google::protobuf::Timestamp& at);

// Combines `changes`, oldest first, into one difference. Leaves out values that returned to the
// original. Folded; `changed_at` is the time of the last change.
Differences Together(const std::vector<Change>& changes);

// All counters of a node at one moment, `since`.
Change MarkOf(const v1::NodeSnapshot& snapshot, const google::protobuf::Timestamp& at);

// Counters that differ from the mark, sorted by path.
Differences SinceMark(const Change& mark, const v1::NodeSnapshot& now);

}  // namespace fabric::snapshot_diff
