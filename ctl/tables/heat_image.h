// Heat maps of a campaign as one PNG image. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// All matrices below each other, with their titles and legends. FAILED_PRECONDITION without results
// and for more nodes than an image can show.
Result<std::string> HeatPng(const v1::Campaign& campaign);

}  // namespace fabric::ctl
