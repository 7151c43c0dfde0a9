// Words of join tokens and certificate requests in tables. Pure.
#pragma once

#include <string>

#include "fabric/v1/join.pb.h"

namespace fabric::ctl {

std::string JoinStateName(v1::JoinRequestState state);  // "pending"
std::string UsesOf(const v1::JoinToken& token);         // "3 of 10"

}  // namespace fabric::ctl
