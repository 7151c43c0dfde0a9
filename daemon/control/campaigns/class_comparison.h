// Faults of one class of traffic: compares the reports of two classes. Pure.
#pragma once

#include <vector>

#include "fabric/v1/blame.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// Sets the class of each suspect of `report`, which is about the first class. `other`: the report
// about the second class, if there is one; its suspects that the first class does not have are
// added. A suspect of both classes keeps the first one, with evidence of the comparison.
void NameClasses(const std::vector<v1::TrafficClass>& classes, const v1::BlameReport& other,
                 v1::BlameReport& report);

}  // namespace fabric::control
