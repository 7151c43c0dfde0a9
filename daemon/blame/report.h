// Conversion of components and faults to names and API messages.
#pragma once

#include <span>
#include <vector>

#include "daemon/blame/search.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::blame {

std::string NameOf(const ObservationPaths& paths, const Component& component);
// Only the kind, name and location.
v1::Suspect Located(const ObservationPaths& paths, const Component& component);
v1::Suspect SuspectOf(const ObservationPaths& paths, const Fault& fault, const Candidate& candidate,
                      std::span<const v1::Finding> findings, const CounterEvidence& counters);

}  // namespace fabric::blame
