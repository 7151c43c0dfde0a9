// Who is to blame, in plain words. Pure.
#pragma once

#include <string>

#include "fabric/v1/blame.pb.h"

namespace fabric::ctl {

// What the report says, one line for each suspect and what it rests on; empty for an empty report.
std::string BlameLines(const v1::BlameReport& report);

// "n7/mlx5_2/1 loses a part of what it sends"
std::string SuspectWords(const v1::Suspect& suspect);

}  // namespace fabric::ctl
