#include "proto/timestamps.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/time_util.h>

#include <vector>

#include "proto/bounds.h"

namespace fabric {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;

// Adds the number of removed times. False: `message` is a time out of range itself.
bool CheckTimes(Message& message, std::size_t& removed) {
  if (message.GetDescriptor() == Timestamp::descriptor())
    return IsValid(static_cast<const Timestamp&>(message));
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      if (CheckTimes(*reflection.MutableMessage(&message, field), removed)) continue;
      reflection.ClearField(&message, field);
      ++removed;
      continue;
    }
    for (int n = 0; n < reflection.FieldSize(message, field); ++n)
      CheckTimes(*reflection.MutableRepeatedMessage(&message, field, n), removed);
  }
  return true;
}

}  // namespace

bool IsValid(const Timestamp& time) {
  return time.seconds() >= 0 &&
         static_cast<std::uint64_t>(time.seconds()) <= Limit("timestamp_seconds") &&
         time.nanos() >= 0 && time.nanos() <= 999'999'999;
}

std::size_t ClearInvalidTimestamps(Message& message) {
  std::size_t removed = 0;
  CheckTimes(message, removed);
  return removed;
}

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
