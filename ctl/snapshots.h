// Snapshots of nodes from files, for commands that need no controller.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet.h"

namespace fabric::ctl {

// What `fabric-agent inspect -o json` or `fabricctl node NAME -o json` printed; "-" is standard
// input. Of several snapshots of one machine the newest one counts, and what its counters added
// since the one given before it; two machines of one name are told apart by the file.
// INVALID_ARGUMENT, or the error of reading, names the file.
Result<std::vector<fleet::NodeRecord>> ReadSnapshots(const std::vector<std::string>& files);

}  // namespace fabric::ctl
