// Ranking of problems: which one is nearest to the root, which causes are likeliest, and which node
// is named most often.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/explain/context.h"
#include "daemon/explain/problem.h"
#include "fabric/v1/explain.pb.h"

namespace fabric::explain {

// Which hosts failed towards which peer.
using NamedBy = std::map<std::string, Names, std::less<>>;

// Fills in causes, first_failure, problems and suspects.
void Rank(std::vector<Problem> problems, const Context& context, const NamedBy& named_by,
          v1::LogExplanation& explanation);

}  // namespace fabric::explain
