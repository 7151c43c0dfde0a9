// Class of traffic of probes, and limits of their results, as lines. Pure.
#pragma once

#include <string>

#include "fabric/v1/probe.pb.h"

namespace fabric::ctl {

// "class lossless: DSCP 26 to PFC priority 3: 12 of 12 ports (majority); GID index: chosen by each
// agent; P_Key: index 0", one line for each class.
std::string ClassLines(const google::protobuf::RepeatedPtrField<v1::TrafficClass>& classes);

// Results below their limit, and results without a limit by reason.
std::string LimitLines(const v1::Campaign& campaign);

}  // namespace fabric::ctl
