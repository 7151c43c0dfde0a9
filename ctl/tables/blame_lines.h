// Report of located faults (blame) as text lines. Pure.
#pragma once

#include <string>

#include "fabric/v1/blame.pb.h"

namespace fabric::ctl {

// One line for each suspect, followed by its evidence. Empty for an empty report.
std::string BlameLines(const v1::BlameReport& report);

// "port n7/mlx5_2/1 loses packets that it sends"
std::string SuspectWords(const v1::Suspect& suspect);

}  // namespace fabric::ctl
