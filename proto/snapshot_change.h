// The difference between two snapshots of one node, and its application. Pure.
#pragma once

#include <optional>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric {

// What must be applied to `before` to get `after`; empty when all settings are the same. Neither
// taken_at nor counters are settings: those travel as samples, see counters.proto.
std::optional<v1::SnapshotChange> Difference(const v1::NodeSnapshot& before,
                                             const v1::NodeSnapshot& after);

// Replaces, adds and removes elements. Order of elements stays by key. Fields that this program
// does not know are skipped.
void Apply(const v1::SnapshotChange& change, v1::NodeSnapshot& snapshot);

}  // namespace fabric
