// Gap folding: one gap for one cause.
#pragma once

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Replaces three or more gaps of one inspector with the same cause by one gap:
// - files of a folder that a captured tree lacks;
// - counters and slots of one folder, and files of a folder that is not readable;
// - the same attribute of several devices.
// The path of the new gap is the folder, or has "*" for the names (proto/gaps.h); its reason lists
// the names. Does not fold blocked driver calls (DEADLINE_EXCEEDED), which are avoided one by one.
void FoldGaps(const Host& host, v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
