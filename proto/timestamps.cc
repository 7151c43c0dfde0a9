#include "proto/timestamps.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/time_util.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/v1/agent.pb.h"
#include "proto/bounds.h"

namespace fabric {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;

using Fields = std::vector<const FieldDescriptor*>;

// The fields of message types that are times or contain some. Most parts of a snapshot have none.
class TimeFields {
 public:
  explicit TimeFields(const Descriptor& root) {
    AddTypes(root);
    // A type has times when one of its fields is known to have some.
    for (bool more = true; more;) {
      more = false;
      for (auto& [type, fields] : fields_) more = Find(*type, fields) || more;
    }
  }
  // nullptr: the type is not part of `root`.
  const Fields* Of(const Descriptor* type) const {
    const auto known = fields_.find(type);
    return known == fields_.end() ? nullptr : &known->second;
  }

 private:
  void AddTypes(const Descriptor& type) {
    if (!fields_.try_emplace(&type).second) return;
    for (int n = 0; n < type.field_count(); ++n)
      if (const Descriptor* const of = type.field(n)->message_type()) AddTypes(*of);
  }
  bool Find(const Descriptor& type, Fields& fields) const {
    Fields found;
    for (int n = 0; n < type.field_count(); ++n) {
      const Descriptor* const of = type.field(n)->message_type();
      if (of == Timestamp::descriptor() || (of != nullptr && !fields_.at(of).empty()))
        found.push_back(type.field(n));
    }
    const bool more = found.size() > fields.size();
    fields = std::move(found);
    return more;
  }

  std::unordered_map<const Descriptor*, Fields> fields_;
};

// Adds the number of removed times. False: `message` is a time out of range itself.
bool CheckTimes(Message& message, std::size_t& removed) {
  if (message.GetDescriptor() == Timestamp::descriptor())
    return IsValid(static_cast<const Timestamp&>(message));
  const auto& reflection = *message.GetReflection();
  static const TimeFields of_agents(*v1::AgentMessage::descriptor());
  const Fields* fields = of_agents.Of(message.GetDescriptor());
  Fields all;
  if (fields == nullptr) {
    reflection.ListFields(message, &all);
    fields = &all;
  }
  for (const FieldDescriptor* const field : *fields) {
    if (field->message_type() == nullptr) continue;
    if (!field->is_repeated()) {
      if (!reflection.HasField(message, field)) continue;
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
