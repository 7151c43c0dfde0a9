// What was found, in the words of the API.
#pragma once

#include <span>
#include <vector>

#include "daemon/blame/search.h"
#include "fabric/v1/blame.pb.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::blame {

std::string NameOf(const Passages& passages, const Part& part);
v1::Suspect SuspectOf(const Passages& passages, const Trouble& trouble, const Candidate& candidate,
                      std::span<const v1::Finding> findings, const CounterEvidence& counters);

}  // namespace fabric::blame
