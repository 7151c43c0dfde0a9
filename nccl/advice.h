// NCCL settings for a machine, each with its reason: pure functions of its snapshot.
// Semantics and defaults of the variables: NCCL 2.30, src/transport/net_ib and src/misc/socket.cc.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/nccl.pb.h"

namespace fabric::nccl {

v1::NcclAdvice Advise(const v1::NodeSnapshot& snapshot);

// Lines NAME=value for a shell; all else is in comments. Values have no characters that a shell
// interprets.
std::string EnvText(const v1::NcclAdvice& advice);

// Table with aligned columns.
std::string TableText(const v1::NcclAdvice& advice);

}  // namespace fabric::nccl
