#include "tests/unit/proto/compatibility.h"

#include <map>

#include "base/text.h"
#include "fabric/v1/access.pb.h"

namespace fabric::proto {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::ServiceDescriptorProto;

// All definitions of a schema, by full name: "fabric.v1.Port".
struct Schema {
  std::map<std::string, DescriptorProto> messages;
  std::map<std::string, EnumDescriptorProto> enums;
  std::map<std::string, ServiceDescriptorProto> services;
};

void AddMessage(const std::string& scope, const DescriptorProto& message, Schema& schema) {
  const std::string name = scope + "." + message.name();
  schema.messages[name] = message;
  for (const DescriptorProto& nested : message.nested_type()) AddMessage(name, nested, schema);
  for (const EnumDescriptorProto& nested : message.enum_type())
    schema.enums[name + "." + nested.name()] = nested;
}

Schema SchemaOf(const FileDescriptorSet& set) {
  Schema schema;
  for (const auto& file : set.file()) {
    for (const DescriptorProto& message : file.message_type())
      AddMessage(file.package(), message, schema);
    for (const EnumDescriptorProto& type : file.enum_type())
      schema.enums[file.package() + "." + type.name()] = type;
    for (const ServiceDescriptorProto& service : file.service())
      schema.services[file.package() + "." + service.name()] = service;
  }
  return schema;
}

// Everything of a field that is visible on the wire or in JSON.
std::string Signature(const FieldDescriptorProto& field, const DescriptorProto& message) {
  std::string oneof;
  if (field.has_oneof_index() && !field.proto3_optional())
    oneof = message.oneof_decl(field.oneof_index()).name();
  return Format("{} = {}, {}, {}{}{}", field.name(), field.number(),
                FieldDescriptorProto::Type_Name(field.type()),
                field.label() == FieldDescriptorProto::LABEL_REPEATED ? "repeated" : "singular",
                field.type_name().empty() ? "" : ", " + field.type_name(),
                oneof.empty() ? "" : ", oneof " + oneof);
}

// Without the role: it does not change the message format.
std::string Signature(const MethodDescriptorProto& method) {
  google::protobuf::MethodOptions options = method.options();
  options.ClearExtension(v1::required_role);
  return Format("{}{} returns {}{}, options {}", method.client_streaming() ? "stream " : "",
                method.input_type(), method.server_streaming() ? "stream " : "",
                method.output_type(), options.SerializeAsString());
}

template <typename Rows, typename Name>
auto Find(const Rows& rows, const Name& name) {
  return std::find_if(rows.begin(), rows.end(),
                      [&](const auto& row) { return row.name() == name; });
}

void CompareMessages(const Schema& before, const Schema& now, std::vector<std::string>& breaks) {
  for (const auto& [name, message] : before.messages) {
    const auto found = now.messages.find(name);
    if (found == now.messages.end()) {
      breaks.push_back(name + ": removed");
      continue;
    }
    for (const FieldDescriptorProto& field : message.field()) {
      const auto other = Find(found->second.field(), field.name());
      const std::string path = name + "." + field.name();
      if (other == found->second.field().end()) {
        breaks.push_back(path + ": removed");
        continue;
      }
      const std::string expected = Signature(field, message);
      const std::string seen = Signature(*other, found->second);
      if (expected != seen)
        breaks.push_back(Format("{}: expected '{}', saw '{}'", path, expected, seen));
      if (field.proto3_optional() && !other->proto3_optional())
        breaks.push_back(path + ": no longer optional");
    }
  }
}

void CompareEnums(const Schema& before, const Schema& now, std::vector<std::string>& breaks) {
  for (const auto& [name, type] : before.enums) {
    const auto found = now.enums.find(name);
    if (found == now.enums.end()) {
      breaks.push_back(name + ": removed");
      continue;
    }
    for (const auto& value : type.value()) {
      const auto other = Find(found->second.value(), value.name());
      if (other == found->second.value().end())
        breaks.push_back(name + "." + value.name() + ": removed");
      else if (other->number() != value.number())
        breaks.push_back(Format("{}.{}: expected {}, saw {}", name, value.name(), value.number(),
                                other->number()));
    }
  }
}

void CompareServices(const Schema& before, const Schema& now, std::vector<std::string>& breaks) {
  for (const auto& [name, service] : before.services) {
    const auto found = now.services.find(name);
    if (found == now.services.end()) {
      breaks.push_back(name + ": removed");
      continue;
    }
    for (const MethodDescriptorProto& method : service.method()) {
      const auto other = Find(found->second.method(), method.name());
      if (other == found->second.method().end())
        breaks.push_back(name + "." + method.name() + ": removed");
      else if (Signature(method) != Signature(*other))
        breaks.push_back(name + "." + method.name() + ": types or HTTP path changed");
    }
  }
}

}  // namespace

std::vector<std::string> BreakingChanges(const FileDescriptorSet& before,
                                         const FileDescriptorSet& now) {
  const Schema old_schema = SchemaOf(before);
  const Schema new_schema = SchemaOf(now);
  std::vector<std::string> breaks;
  CompareMessages(old_schema, new_schema, breaks);
  CompareEnums(old_schema, new_schema, breaks);
  CompareServices(old_schema, new_schema, breaks);
  return breaks;
}

}  // namespace fabric::proto
