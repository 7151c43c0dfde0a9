#include "daemon/access/audit_entry.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/secret.h"
#include "base/text.h"
#include "daemon/access/policy.h"
#include "google/api/annotations.pb.h"
#include "proto/json.h"

namespace fabric::access {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::array<std::string_view, 4> kSecretFields = {"token", "password", "secret",
                                                           "private_key"};

// The value of a text field of the request; empty without such a field.
std::string TextField(const Message& message, const std::string& name) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->is_repeated() ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    return {};
  return message.GetReflection()->GetString(message, field);
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  if (!method.options().HasExtension(google::api::http)) return {};
  const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
  for (const std::string* path : {&rule.get(), &rule.post(), &rule.delete_(), &rule.put()})
    if (!path->empty()) return *path;
  return {};
}

void RemoveSecrets(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && std::ranges::find(kSecretFields, field->name()) != kSecretFields.end()) {
      reflection.ClearField(&message, field);
      if (!field->is_repeated() && field->type() == FieldDescriptor::TYPE_STRING)
        reflection.SetString(&message, field, "removed");
    } else if (is_message) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i)
        RemoveSecrets(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                           : *reflection.MutableMessage(&message, field));
    }
  }
}

}  // namespace

std::string TargetOf(const google::protobuf::MethodDescriptor& method, const Message& request,
                     const Message* response) {
  constexpr std::string_view kVersion = "/v1/";
  std::string path = PathOf(method);
  if (path.empty() && !TextField(request, "node").empty())
    return CutText("nodes/" + TextField(request, "node"), kReasonBytesMax);
  if (!path.starts_with(kVersion)) return {};
  path = path.substr(kVersion.size());
  path = path.substr(0, path.find(':'));
  const std::size_t open = path.find('{');
  const std::size_t close = path.find('}');
  if (open != path.npos && close != path.npos)
    path.replace(open, close - open + 1,
                 TextField(request, path.substr(open + 1, close - open - 1)));
  else if (response != nullptr && !TextField(*response, "id").empty())
    path += "/" + TextField(*response, "id");
  else if (response != nullptr && !TextField(*response, "name").empty())
    path += "/" + TextField(*response, "name");
  return CutText(std::move(path), kReasonBytesMax);
}

std::string CutText(std::string text, std::size_t bytes_max) {
  constexpr std::string_view kMark = "...";
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max - kMark.size();
  // Not within a character of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + std::string(kMark);
}

std::string RequestText(const Message& request) {
  const std::unique_ptr<Message> copy(request.New());
  copy->CopyFrom(request);
  RemoveSecrets(*copy);
  return CutText(ToJson(*copy, false), kRequestBytesMax);
}

std::string HashOf(const v1::AuditEntry& entry) {
  v1::AuditEntry hashed = entry;
  hashed.clear_hash();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    hashed.SerializeToCodedStream(&coded);
  }
  return HashOfSecret(bytes);
}

std::string ToLine(const v1::AuditEntry& entry) {
  const char* const outcome = entry.outcome() == v1::AUDIT_OUTCOME_OK       ? "ok"
                              : entry.outcome() == v1::AUDIT_OUTCOME_DENIED ? "denied"
                                                                            : "failed";
  return Format("audit {}: {} from {}: {} {}: {}{}{}, hash {}", entry.sequence(),
                entry.identity().empty() ? "unknown" : entry.identity(), entry.address(),
                entry.method(), entry.target(), outcome, entry.reason().empty() ? "" : ": ",
                entry.reason(), entry.hash());
}

}  // namespace fabric::access
