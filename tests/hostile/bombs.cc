#include "tests/hostile/bombs.h"

#include <functional>
#include <set>

namespace fabric::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

using Wanted = std::function<bool(const FieldDescriptor&)>;

void Find(const Descriptor& type, const Path& path, const Wanted& wanted,
          std::set<const FieldDescriptor*>& seen, std::vector<Path>& found) {
  for (int n = 0; n < type.field_count(); ++n) {
    const FieldDescriptor* const field = type.field(n);
    if (!seen.insert(field).second) continue;
    Path longer = path;
    longer.push_back(field);
    if (wanted(*field)) found.push_back(longer);
    if (field->message_type() != nullptr) Find(*field->message_type(), longer, wanted, seen, found);
  }
}

std::vector<Path> AllOf(const Descriptor& type, const Wanted& wanted) {
  std::vector<Path> found;
  std::set<const FieldDescriptor*> seen;
  Find(type, {}, wanted, seen, found);
  return found;
}

// The message that has the last field of the path.
Message& Owner(const Path& path, Message& message) {
  Message* at = &message;
  for (const FieldDescriptor* const field : path) {
    if (field == path.back()) break;
    const auto& reflection = *at->GetReflection();
    at = field->is_repeated() ? reflection.AddMessage(at, field)
                              : reflection.MutableMessage(at, field);
  }
  return *at;
}

}  // namespace

std::vector<Path> ListsOf(const Descriptor& type) {
  return AllOf(type, [](const FieldDescriptor& field) {
    return field.is_repeated() && (IsText(field) || field.message_type() != nullptr);
  });
}

std::vector<Path> TextsOf(const Descriptor& type) {
  return AllOf(type,
               [](const FieldDescriptor& field) { return !field.is_repeated() && IsText(field); });
}

void FillList(const Path& path, int elements, Message& message) {
  Message& owner = Owner(path, message);
  const auto& reflection = *owner.GetReflection();
  for (int n = 0; n < elements; ++n) {
    if (IsText(*path.back())) {
      reflection.AddString(&owner, path.back(), "");
      continue;
    }
    Message& added = *reflection.AddMessage(&owner, path.back());
    // The receiver keeps one entry of a map for each key.
    if (path.back()->is_map())
      added.GetReflection()->SetString(&added, path.back()->message_type()->map_key(),
                                       std::to_string(n));
  }
}

void FillText(const Path& path, std::size_t bytes, Message& message) {
  Message& owner = Owner(path, message);
  owner.GetReflection()->SetString(&owner, path.back(), std::string(bytes, 'x'));
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

}  // namespace fabric::testing
