// Report of `explain-log`. Pure.
#pragma once

#include "ctl/command.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::ctl {

// The cause first, then the messages that lead to it. `wide`: all causes and whole lines.
Output ExplainReport(const v1::LogExplanation& explanation, bool wide);

}  // namespace fabric::ctl
