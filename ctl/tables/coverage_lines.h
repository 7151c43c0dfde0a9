// Lines on what the verdicts cover, for `check` and `validate`. Pure.
#pragma once

#include <string>

#include "fabric/v1/finding.pb.h"

namespace fabric::ctl {

// Rules that judged, the reasons of UNKNOWN verdicts, and the missing expectations. Empty for an
// empty message, which older controllers send.
std::string CoverageLines(const v1::Coverage& coverage);

}  // namespace fabric::ctl
