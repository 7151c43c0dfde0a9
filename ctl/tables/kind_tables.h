// Tables of single kinds of probes: incast and GPU memory. Pure.
#pragma once

#include <string_view>

#include "ctl/command.h"
#include "ctl/tables/result_tables.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// "lossless: PFC paused the senders"
std::string_view VerdictWords(v1::IncastVerdict verdict);

// One row for each incast, evidence in rows below it.
Table IncastTable(const v1::Campaign& campaign);
// Changed and unreadable counters of each end; wide output only.
Table MovesTable(const v1::Campaign& campaign);

// One row for each GPU and way of registration.
Table GpuMemoryTable(const PairResults& pairs);

// Whether the verdict is a failure of a lossless class.
bool IsBad(v1::IncastVerdict verdict);

}  // namespace fabric::ctl
