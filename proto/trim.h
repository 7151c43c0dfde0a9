// Reduction of a snapshot to the bounds of messages. Pure.
#pragma once

#include "fabric/v1/inventory.pb.h"

namespace fabric {

// Shortens lists and texts that exceed their bounds, and the longest lists of a snapshot that
// exceeds the bounds of a message. A gap of the inspector "message_bounds" names each list or text
// field that was shortened, with both numbers. Does nothing to a snapshot within the bounds.
void TrimToBounds(v1::NodeSnapshot& snapshot);

}  // namespace fabric
