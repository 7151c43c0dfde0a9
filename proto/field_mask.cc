#include "proto/field_mask.h"

#include <google/protobuf/descriptor.h>

#include <vector>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Result<FieldMask> FieldMask::Parse(std::string_view text, const Descriptor& element) {
  if (text.size() > kBytesMax)
    return Status(Code::kInvalidArgument,
                  Format("fields: expected at most {} bytes, saw {}", kBytesMax, text.size()));
  FieldMask mask;
  if (Trim(text).empty()) return mask;
  for (const std::string_view path : Split(text, ',')) {
    FieldMask* kept = &mask;
    const Descriptor* type = &element;
    bool whole = false;  // An earlier path has all of this message.
    for (const std::string_view part : Split(Trim(path), '.')) {
      const FieldDescriptor* const field =
          type == nullptr ? nullptr : type->FindFieldByName(std::string(part));
      if (field == nullptr) {
        Candidates known;
        for (int i = 0; type != nullptr && i < type->field_count(); ++i)
          known.push_back(type->field(i)->name());
        return Status(Code::kInvalidArgument,
                      Format("fields: unknown field {}{}", Quoted(part), Suggest(part, known)));
      }
      const auto [at, added] = kept->fields_.try_emplace(std::string(part));
      kept = &at->second;
      whole = whole || (!added && kept->fields_.empty());
      if (whole) break;
      type = field->message_type();
    }
    kept->fields_.clear();
  }
  return mask;
}

FieldMask FieldMask::Within(const FieldDescriptor& list) const {
  FieldMask mask;
  if (fields_.empty()) return mask;
  const Descriptor& type = *list.containing_type();
  for (int i = 0; i < type.field_count(); ++i) mask.fields_[type.field(i)->name()];
  mask.fields_[list.name()] = *this;
  return mask;
}

const FieldMask* FieldMask::Find(const std::string& field) const {
  static const FieldMask all;
  if (fields_.empty()) return &all;
  const auto at = fields_.find(field);
  return at == fields_.end() ? nullptr : &at->second;
}

void FieldMask::Apply(Message& message) const {
  if (fields_.empty()) return;
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const FieldDescriptor* const field : set) {
    const FieldMask* const kept = Find(field->name());
    if (kept == nullptr) {
      reflection.ClearField(&message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) kept->Apply(*reflection.MutableMessage(&message, field));
      for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
        kept->Apply(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
}

}  // namespace fabric
