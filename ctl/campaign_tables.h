// Campaigns as lines, rows and matrices: `probe run`, `probe show` and `matrix` print them alike.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// "campaign c1: done, 12 probes in 2 rounds: 11 ok, 1 failed", newline at the end.
std::string CampaignLine(const v1::Campaign& campaign);

// One line for each pair that was asked for and not planned.
std::string SkippedLines(const v1::Campaign& campaign);

// One row for each probe of each pair, by rail, kind and names.
Table PairTable(const v1::Campaign& campaign);

// For each rail and kind a matrix: rows are initiators, columns responders. A pair that failed
// shows a word; FailureLines says why. "-": not measured in that direction.
std::vector<Table> MatrixTables(const v1::Campaign& campaign);

// "n1 -> n2, rail 0, rc_write_latency: timed out: no completion within 10 s", one for each.
std::string FailureLines(const v1::Campaign& campaign);

// Leaves the results whose kind `kind` means: "latency", "bandwidth" or "both".
void KeepKind(std::string_view kind, v1::Campaign& campaign);

// 1 when a probe failed, else 0.
int CampaignExitStatus(const v1::Campaign& campaign);

}  // namespace fabric::ctl
