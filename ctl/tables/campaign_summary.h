// Summary of a campaign with many results: equal failures with their number, and the worst pairs.
// Pure.
#pragma once

#include <vector>

#include "ctl/command.h"
#include "ctl/tables/result_tables.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// With more results, the summary replaces the tables of all pairs; -o wide prints them.
inline constexpr int kResultsShownMax = 100;

// Failures by status and reason, without the names of nodes, most frequent first; then the worst
// pairs of each kind.
std::vector<Table> SummaryTables(const v1::Campaign& campaign);

}  // namespace fabric::ctl
