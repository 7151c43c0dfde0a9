// Tables of probe results, one for each kind of measurement. Pure.
#pragma once

#include <string>
#include <vector>

#include "ctl/command.h"
#include "fabric/v1/probe.pb.h"
#include "proto/ports.h"

namespace fabric::ctl {

// "0", or "0-1" if the rails differ.
std::string RailName(const v1::ProbePort& from, const v1::ProbePort& to);

using PairResults = std::vector<const v1::PairResult*>;

Table PairTable(const PairResults& pairs);  // Latencies and bandwidths
Table PingTable(const PairResults& pairs);
Table MtuTable(const PairResults& pairs);

}  // namespace fabric::ctl
