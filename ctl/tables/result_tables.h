// Tables of probe results, one for each kind of measurement. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"
#include "proto/ports.h"

namespace fabric::ctl {

// "0", or "0-1" if the rails differ.
std::string RailName(const v1::ProbePort& from, const v1::ProbePort& to);

// The status in tables: "lossy" for a probe that is OK and lost pings.
std::string_view StatusWord(const v1::ProbeResult& result);
// "5 ok, 1 lossy, 0 failed, 2 cancelled"; without lossy and cancelled if there are none.
std::string CountsText(const v1::Campaign& campaign);

using PairResults = std::vector<const v1::PairResult*>;

Table PairTable(const PairResults& pairs);  // Latencies and bandwidths
Table PingTable(const PairResults& pairs);
Table MtuTable(const PairResults& pairs);

}  // namespace fabric::ctl
