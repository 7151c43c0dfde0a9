// Change of an InfiniBand subnet as text. Pure.
#pragma once

#include <string>

#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {

std::string SubnetChangeText(const v1::SubnetChange& change);  // "gone: "leaf-3" port 17 - ..."

}  // namespace fabric::ctl
