#include "daemon/api/rest/openapi_examples.h"

#include "base/text.h"
#include "proto/json.h"

namespace fabric::api {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;

namespace {

// nullptr: the program does not have the type.
std::unique_ptr<google::protobuf::Message> NewMessage(const Descriptor& type) {
  const Descriptor* const own =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type.full_name());
  if (own == nullptr) return nullptr;
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(own)->New());
}

Status NotCompiledIn(const Descriptor& type) {
  return {Code::kNotFound, Format("examples: {} is not compiled in", type.full_name())};
}

}  // namespace

Result<Examples> Examples::Parse(std::string_view json) {
  const Json table = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!table.is_object())
    return Status(Code::kInvalidArgument, "examples: expected a JSON object, saw other text");
  Examples examples;
  for (const auto& [name, row] : table.items()) examples.rows_[name] = row.dump();
  return examples;
}

Result<Examples::Json> Examples::Request(const MethodDescriptor& method) {
  const std::string& name = method.input_type()->name();
  ASSIGN_OR_RETURN(const auto message, Row(name, *method.input_type()));
  if (message == nullptr)
    return Status(Code::kNotFound, Format("examples: no row for the request {}", name));
  return Json::parse(rows_.at(name));
}

Result<Examples::Json> Examples::Answer(const MethodDescriptor& method) {
  ASSIGN_OR_RETURN(auto message, Row(method.name(), *method.output_type()));
  if (message == nullptr) {
    auto composed = OfType(*method.output_type());
    if (!composed.ok()) return composed.status().In(method.name());
    message = *std::move(composed);
  }
  return Json::parse(ToJson(*message, false));
}

Status Examples::AllUsed() const {
  for (const auto& [name, row] : rows_)
    if (!used_.contains(name))
      return {Code::kInvalidArgument,
              Format("examples: expected the name of a message or method of the API, saw {}",
                     Quoted(name))};
  return {};
}

Result<std::unique_ptr<google::protobuf::Message>> Examples::Row(const std::string& name,
                                                                 const Descriptor& type) {
  std::unique_ptr<Message> message;
  const auto row = rows_.find(name);
  if (row == rows_.end()) return message;
  used_.insert(name);
  message = NewMessage(type);
  if (message == nullptr) return NotCompiledIn(type);
  const Status status = FromJson(row->second, *message);
  if (!status.ok()) return status.In(Format("examples: {}", name));
  return message;
}

Result<std::unique_ptr<google::protobuf::Message>> Examples::OfType(const Descriptor& type) {
  ASSIGN_OR_RETURN(auto message, Row(type.name(), type));
  if (message != nullptr) return message;
  message = NewMessage(type);
  if (message == nullptr) return NotCompiledIn(type);
  RETURN_IF_ERROR(AddParts(*message));
  if (message->ByteSizeLong() == 0)
    return Status(Code::kNotFound, Format("examples: no row for {}", type.name()));
  return message;
}

Status Examples::AddParts(Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (field->name() == "total_size") reflection.SetUInt32(&message, field, 1);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    if (field->message_type()->full_name() == "google.protobuf.Timestamp") continue;
    ASSIGN_OR_RETURN(const auto part, OfType(*field->message_type()));
    Message* const place = field->is_repeated() ? reflection.AddMessage(&message, field)
                                                : reflection.MutableMessage(&message, field);
    place->CopyFrom(*part);
  }
  return {};
}

}  // namespace fabric::api
