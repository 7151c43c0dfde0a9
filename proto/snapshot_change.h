// The difference between two snapshots of one node, and its application. Pure.
#pragma once

#include <optional>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric {

// The change from `before` to `after`; empty if all settings are equal. taken_at and counters are
// not settings: counters are sent as samples, see counters.proto. Measured values (doubles with
// COMPARISON_OMITTED: temperatures, powers, clock offset) count when they differ by more than a
// tenth.
std::optional<v1::SnapshotChange> Difference(const v1::NodeSnapshot& before,
                                             const v1::NodeSnapshot& after);

// Replaces, adds and removes elements, sorted by key. Skips unknown fields.
void Apply(v1::SnapshotChange change, v1::NodeSnapshot& snapshot);

}  // namespace fabric
