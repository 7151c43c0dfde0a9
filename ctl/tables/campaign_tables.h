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

// How far it is: "campaign c1: 40 of 96 probes, 0 failed, round 3 of 7, 12 s left", no newline.
std::string ProgressLine(const v1::Campaign& campaign);

// One row for each probe of each pair, by rail, kind and names. Kinds that measure different things
// have tables of their own.
std::vector<Table> ResultTables(const v1::Campaign& campaign);

// For each rail and kind a matrix: rows are initiators, columns responders. A pair that failed
// shows a word; FailureLines says why. "-": not measured in that direction. "5.10 -3": a ping that
// lost three.
std::vector<Table> MatrixTables(const v1::Campaign& campaign);

// "n1 -> n2, rail 0, rc_write_latency: timed out: no completion within 10 s", one for each.
std::string FailureLines(const v1::Campaign& campaign);

// Leaves the results whose kind `kind` means: "latency", "bandwidth", "ping", "mtu" or "both",
// which is all.
void KeepKind(std::string_view kind, v1::Campaign& campaign);

// All that there is to say of a campaign, and the campaign itself as the message.
Output CampaignOutput(v1::Campaign campaign);

// 1 when a probe failed, somebody is to blame or an incast was not lossless, else 0.
int CampaignExitStatus(const v1::Campaign& campaign);

}  // namespace fabric::ctl
