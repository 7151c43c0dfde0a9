#include "proto/map_entries.h"

#include <google/protobuf/descriptor.h>

namespace fabric {

std::map<std::string, const google::protobuf::Message*> MapEntries(
    const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& map) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::FieldDescriptor& key = *map.message_type()->map_key();
  std::map<std::string, const google::protobuf::Message*> entries;
  for (int i = 0; i < reflection.FieldSize(message, &map); ++i) {
    const google::protobuf::Message& entry = reflection.GetRepeatedMessage(message, &map, i);
    entries[entry.GetReflection()->GetString(entry, &key)] = &entry;
  }
  return entries;
}

}  // namespace fabric
