// `fabric-agent nccl-env`: the variables that a machine's facts call for, and what was not decided.
// Semantics and defaults of the variables: NCCL 2.30, src/transport/net_ib and src/misc/socket.cc.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/nccl.pb.h"

namespace fabric::nccl {

v1::NcclAdvice Advise(const v1::NodeSnapshot& snapshot);

// For a shell to source: NAME=value lines, everything else in comments. Values hold no character
// that a shell takes for something else.
std::string EnvText(const v1::NcclAdvice& advice);

// For people: aligned columns.
std::string TableText(const v1::NcclAdvice& advice);

}  // namespace fabric::nccl
