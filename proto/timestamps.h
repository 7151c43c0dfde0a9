// Wall clock times as protobuf timestamps.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace fabric {

google::protobuf::Timestamp ToProto(WallTime time);
WallTime FromProto(const google::protobuf::Timestamp& time);
std::int64_t Nanoseconds(const google::protobuf::Timestamp& time);  // Since 1970

// Within the bounds: FromProto() and JSON can represent it.
bool IsValid(const google::protobuf::Timestamp& time);
// Removes times out of range from the message and all messages in it. Returns their number.
std::size_t ClearInvalidTimestamps(google::protobuf::Message& message);

// "2026-11-21T01:16:05Z", UTC, whole seconds; "-" for an unset (zero) timestamp.
std::string ToString(const google::protobuf::Timestamp& time);

}  // namespace fabric
