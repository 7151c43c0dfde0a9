// Campaigns as lines, rows and matrices, for `probe run`, `probe show` and `matrix`. Pure.
#pragma once

#include <string>
#include <string_view>

#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// "campaign c1: done, 12 probes in 2 rounds: 11 ok, 1 failed", newline at the end.
std::string CampaignLine(const v1::Campaign& campaign);

// One line for each requested pair that is not planned.
std::string SkippedLines(const v1::Campaign& campaign);

// Progress: "campaign c1: 40 of 96 probes, 0 failed, round 3 of 7, 12 s left", no newline.
std::string ProgressLine(const v1::Campaign& campaign);

// Of a running campaign without a result: the other campaigns that run, which can hold its ports.
// "; no result yet; c4 also runs and can hold the ports". Empty: it has results, or none runs.
std::string WaitText(const v1::Campaign& campaign,
                     const google::protobuf::RepeatedPtrField<v1::Campaign>& campaigns);

// One row for each probe of each pair, sorted by rail, kind and names. Kinds with different
// measurements have separate tables.
std::vector<Table> ResultTables(const v1::Campaign& campaign);

// "n1 -> n2, rail 0, rc_write_latency: timed out: no completion within 10 s", one for each.
std::string FailureLines(const v1::Campaign& campaign);

// Removes the results that do not measure what the kind measures: "latency", "ping". "both"
// keeps all.
Status KeepKind(std::string_view word, v1::Campaign& campaign);

// The report of a campaign. The message is the campaign.
Output CampaignOutput(v1::Campaign campaign);

// 1 if a probe failed, a fault was located or an incast was not lossless, else 0.
int CampaignExitStatus(const v1::Campaign& campaign);

}  // namespace fabric::ctl
