// What changed on a node: reports put together to what differs since a moment. Pure.
#pragma once

#include <vector>

#include "daemon/snapshot_diff/difference.h"

namespace fabric::snapshot_diff {

// What changed at one moment, `since`. Settings alone, by path, not folded.
using Change = v1::DiffNodeResponse;

// What the report changes in the snapshot that it will be applied to. Costs what it touches: what
// is the same is not written down first.
Change ChangeOf(const v1::NodeSnapshot& before, const v1::SnapshotChange& report,
                const google::protobuf::Timestamp& at);

// `changes`, oldest first, as one difference of then and now: what went back to what it was is left
// out. Folded; `changed_at` is when it changed last.
Differences Together(const std::vector<Change>& changes);

// All counters of a node at one moment, `since`, as differences from nothing.
Change MarkOf(const v1::NodeSnapshot& snapshot, const google::protobuf::Timestamp& at);

// Counters that are not what they were then, by path.
Differences SinceMark(const Change& mark, const v1::NodeSnapshot& now);

}  // namespace fabric::snapshot_diff
