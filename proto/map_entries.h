// Entries of a map field, read by reflection. Keys are strings, as in the whole schema.
#pragma once

#include <google/protobuf/message.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fabric {

inline std::string KeyOf(const google::protobuf::Message& entry) {
  return entry.GetReflection()->GetString(entry, entry.GetDescriptor()->map_key());
}

// By key: a map has no order in memory.
inline std::vector<const google::protobuf::Message*> EntriesOf(
    const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& map) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::Message*> entries;
  for (int i = 0; i < reflection.FieldSize(message, &map); ++i)
    entries.push_back(&reflection.GetRepeatedMessage(message, &map, i));
  std::sort(entries.begin(), entries.end(),
            [](const auto* one, const auto* other) { return KeyOf(*one) < KeyOf(*other); });
  return entries;
}

}  // namespace fabric
