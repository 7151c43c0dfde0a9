#include "daemon/snapshot_diff/field_kinds.h"

#include <google/protobuf/message.h>

#include <unordered_map>
#include <utility>

#include "proto/fields.h"

namespace fabric::snapshot_diff {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

v1::Comparison ComparisonOf(const FieldDescriptor& field) {
  const auto* const type = field.message_type();
  if (type != nullptr && type->full_name() == "google.protobuf.Timestamp")
    return v1::COMPARISON_OMITTED;
  return field.options().GetExtension(v1::comparison);
}

std::vector<Field> MakeFields(const Descriptor& type) {
  std::vector<Field> fields;
  bool keys = false;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool key = field.options().GetExtension(v1::key);
    keys |= key;
    fields.push_back({.descriptor = &field, .comparison = ComparisonOf(field), .key = key});
  }
  for (Field& field : fields) field.key |= !keys && field.descriptor->name() == "name";
  return fields;
}

}  // namespace

const std::vector<Field>& FieldsOf(const Descriptor& type) {
  thread_local std::unordered_map<const Descriptor*, std::vector<Field>> known;
  const auto found = known.find(&type);
  return found != known.end() ? found->second
                              : known.emplace(&type, MakeFields(type)).first->second;
}

std::string KeyOf(const Message& element) {
  std::string key;
  for (const Field& field : FieldsOf(*element.GetDescriptor())) {
    if (!field.key || !HasValue(element, *field.descriptor)) continue;
    const std::string text = ValueText(element, *field.descriptor, -1);
    if (!text.empty()) key += (key.empty() ? "" : " ") + text;
  }
  return key;
}

}  // namespace fabric::snapshot_diff
