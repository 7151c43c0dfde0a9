// One gap for one cause.
#pragma once

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Puts together what one inspector said more than twice: what is missing for one reason, for every
// device alike or in a folder that a captured tree does not have. The path of such a gap names the
// folder, or has "*" where the names of the devices were (proto/gaps.h), its subject is empty and
// its reason lists them. Calls into drivers that do not answer stay as they are: each is avoided.
void FoldGaps(const Host& host, v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
