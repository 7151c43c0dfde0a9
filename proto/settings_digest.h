// Digest of the settings of a snapshot, by which agent and controller find out that both have the
// same ones. Not cryptographic. Pure.
#pragma once

#include <cstdint>

#include "fabric/v1/inventory.pb.h"

namespace fabric {

// Of all fields but taken_at and counters: those that a SnapshotChange does not carry. Equal
// snapshots have equal digests in every program that knows the same fields; others may differ,
// which costs one complete snapshot.
std::uint64_t SettingsDigest(const v1::NodeSnapshot& snapshot);

}  // namespace fabric
