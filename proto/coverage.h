// Construction and text of coverage gaps.
#pragma once

#include <string>

#include "fabric/v1/coverage.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric {

// `text`: one line without the subject.
v1::CoverageGap CoverageGapOf(v1::CoverageGapReason reason, std::string text);
v1::CoverageGap CoverageGapOf(const std::string& node, v1::CoverageGapReason reason,
                              std::string text);
v1::CoverageGap CoverageGapOf(const v1::ProbePort& port, v1::CoverageGapReason reason,
                              std::string text);

std::string SubjectName(const v1::CoverageGap& gap);  // "n4/rxe0/1", "n4", "rule ID"; may be empty
std::string ToString(const v1::CoverageGap& gap);     // "n4/rxe0/1: port is DOWN"

}  // namespace fabric
