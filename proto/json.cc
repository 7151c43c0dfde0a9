#include "proto/json.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "proto/message_text.h"
#include "proto/timestamps.h"

namespace fabric {
namespace {

// protobuf adds an excerpt of the malformed line, and a line with a caret. At the end of the text
// the excerpt is empty.
std::string JsonErrorLine(std::string_view message) {
  const std::vector<std::string_view> lines = Split(message, '\n');
  std::string_view what = lines.front();
  const std::string_view excerpt = lines.size() > 1 ? Trim(lines[1]) : std::string_view();
  if (excerpt.empty()) return std::string(what);
  if (what.ends_with('.')) what.remove_suffix(1);
  return Format("{} near {}", what, Quoted(excerpt));
}

// Without the times that cannot be written.
std::unique_ptr<google::protobuf::Message> WithoutInvalidTimes(
    const google::protobuf::Message& message) {
  std::unique_ptr<google::protobuf::Message> copy(message.New());
  copy->CopyFrom(message);
  ClearInvalidTimestamps(*copy);
  return copy;
}

// A Struct is the JSON object that it holds. Its members are sorted, because a map has no order.
std::string StructText(const google::protobuf::Message& message, int indent) {
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text).ok()) return "{}";
  return nlohmann::json::parse(text).dump(indent);
}

bool IsStruct(const google::protobuf::Message& message) {
  return message.GetDescriptor() == google::protobuf::Struct::descriptor();
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message, bool pretty) {
  if (IsStruct(message)) return pretty ? StructText(message, 1) + "\n" : StructText(message, -1);
  std::string text;
  const JsonStyle style = pretty ? JsonStyle::kIndented : JsonStyle::kOneLine;
  if (!AppendJson(message, style, text).ok()) {
    text.clear();
    if (!AppendJson(*WithoutInvalidTimes(message), style, text).ok()) return "{}";
  }
  if (pretty) text += '\n';
  return text;
}

std::string ToYaml(const google::protobuf::Message& message) {
  if (IsStruct(message)) return StructText(message, 1) + "\n";  // JSON is YAML, too.
  std::string text;
  if (!AppendYaml(message, text).ok()) {
    text.clear();
    if (!AppendYaml(*WithoutInvalidTimes(message), text).ok()) return "{}\n";
  }
  return text;
}

Status FromJson(std::string_view json, google::protobuf::Message& message) {
  message.Clear();
  ASSIGN_OR_RETURN(const std::string wire, WireOfJson(json, *message.GetDescriptor()));
  if (message.ParseFromString(wire)) return {};
  return {Code::kInvalidArgument, Format("expected a {}", message.GetDescriptor()->name())};
}

Result<std::string> WireOfJson(std::string_view json, const google::protobuf::Descriptor& type) {
  namespace util = google::protobuf::util;
  const auto resolver_of = [](const google::protobuf::DescriptorPool* pool) {
    return util::NewTypeResolverForDescriptorPool("type.googleapis.com", pool);
  };
  const google::protobuf::DescriptorPool* const generated =
      google::protobuf::DescriptorPool::generated_pool();
  static util::TypeResolver* const resolver = resolver_of(generated);
  std::unique_ptr<util::TypeResolver> other;  // Of a schema that was compiled at run time
  if (type.file()->pool() != generated) other.reset(resolver_of(type.file()->pool()));
  std::string wire;
  const auto status =
      util::JsonToBinaryString(other ? other.get() : resolver,
                               "type.googleapis.com/" + type.full_name(), std::string(json), &wire);
  if (status.ok()) return wire;
  return Status(Code::kInvalidArgument, JsonErrorLine(std::string(status.message())));
}

}  // namespace fabric
