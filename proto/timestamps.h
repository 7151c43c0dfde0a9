// Wall clock times as protobuf timestamps.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace fabric {

google::protobuf::Timestamp ToProto(WallTime time);
WallTime FromProto(const google::protobuf::Timestamp& time);
std::int64_t Nanoseconds(const google::protobuf::Timestamp& time);  // Since 1970

// "2026-11-21T01:16:05Z", UTC, whole seconds; "-" for an unset (zero) timestamp.
std::string ToString(const google::protobuf::Timestamp& time);

}  // namespace fabric
