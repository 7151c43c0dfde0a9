#include "proto/timestamps.h"

#include <google/protobuf/util/time_util.h>

namespace fabric {

google::protobuf::Timestamp ToProto(WallTime time) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(time.time_since_epoch().count());
}

WallTime FromProto(const google::protobuf::Timestamp& time) {
  return WallTime(Duration(Nanoseconds(time)));
}

std::int64_t Nanoseconds(const google::protobuf::Timestamp& time) {
  return google::protobuf::util::TimeUtil::TimestampToNanoseconds(time);
}

std::string ToString(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "-";
  google::protobuf::Timestamp seconds = time;
  seconds.set_nanos(0);
  return google::protobuf::util::TimeUtil::ToString(seconds);
}

}  // namespace fabric
