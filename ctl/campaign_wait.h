// Waits until a campaign ends, with a progress line.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "ctl/client.h"
#include "ctl/command.h"

namespace fabric::ctl {

// Returns the campaign with all results when it has ended. `interrupted` makes the status of an
// interrupt.
Result<v1::Campaign> WaitForCampaign(Client& client, v1::Campaign campaign, Stream& stream,
                                     const std::function<Status()>& interrupted);

}  // namespace fabric::ctl
