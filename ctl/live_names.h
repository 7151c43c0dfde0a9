// Names for completion, from the controller and the configuration file.
#pragma once

#include <string>
#include <vector>

#include "ctl/client.h"
#include "ctl/completion.h"

namespace fabric::ctl {

// Empty if they cannot be read: a shell shows no errors. At most 1,000 names, from one call.
std::vector<std::string> ReadLiveNames(LiveNames names, Client& client,
                                       const std::string& config_path);

}  // namespace fabric::ctl
