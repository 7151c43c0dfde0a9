// Tables of what only one kind of probe tells: incasts and the memory of GPUs. Pure.
#pragma once

#include <string_view>

#include "ctl/command.h"
#include "ctl/tables/result_tables.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// "PFC fired and nothing was lost"
std::string_view VerdictWords(v1::IncastVerdict verdict);

// One row for each incast, evidence in rows below it.
Table IncastTable(const v1::Campaign& campaign);
// What moved at each end, and what could not be read; only of wide output.
Table MovesTable(const v1::Campaign& campaign);

// One row for each GPU and way of registration.
Table GpuMemoryTable(const PairResults& pairs);

// Whether it ended as a lossless class must not.
bool IsBad(v1::IncastVerdict verdict);

}  // namespace fabric::ctl
