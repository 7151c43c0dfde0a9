// Snapshots from files, for commands that work without a controller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet.h"

namespace fabric::ctl {

// Reads the output of `fabric-agent inspect -o json` or `fabricctl node NAME -o json`; "-" is
// standard input. Of several snapshots of one machine the newest is used, with counter rates since
// the previous one. Two machines with the same name get the file name as a suffix. INVALID_ARGUMENT
// or the read error; the message has the file name. `before_each` runs before each file.
Result<std::vector<fleet::NodeRecord>> ReadSnapshots(const std::vector<std::string>& files,
                                                     const std::function<void()>& before_each = {});

}  // namespace fabric::ctl
