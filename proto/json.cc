#include "proto/json.h"

#include <google/protobuf/util/json_util.h>
#include <yaml-cpp/yaml.h>

namespace fabric {
namespace {

// JSON is YAML: the text is parsed again and written in block style. Strings that YAML would parse
// as another type keep their quotes.
void Emit(const YAML::Node& node, YAML::Emitter& out) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      out << YAML::BeginMap;
      for (const auto& item : node) {
        out << YAML::Key << item.first.Scalar() << YAML::Value;
        Emit(item.second, out);
      }
      out << YAML::EndMap;
      return;
    case YAML::NodeType::Sequence:
      out << YAML::BeginSeq;
      for (const auto& item : node) Emit(item, out);
      out << YAML::EndSeq;
      return;
    case YAML::NodeType::Scalar: {
      const bool quoted = node.Tag() == "!";
      const bool plain_is_text =
          !node.Scalar().empty() &&
          node.Scalar().find_first_not_of("0123456789.:+-eExX_~ ") != std::string::npos &&
          node.Scalar() != "true" && node.Scalar() != "false" && node.Scalar() != "null";
      if (quoted && !plain_is_text) out << YAML::DoubleQuoted;
      out << node.Scalar();
      return;
    }
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined: out << YAML::Null; return;
  }
}

// protobuf adds an excerpt of the malformed line with a caret. At the end of the text the excerpt
// is empty.
std::string WithoutEmptyExcerpt(std::string message) {
  const std::size_t line = message.find('\n');
  if (line != std::string::npos && message.find_first_not_of("\n ^", line) == std::string::npos)
    message.resize(line);
  return message;
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.preserve_proto_field_names = true;
  // Fields without `optional` are always printed, so that 0 and "not read" differ: optional fields
  // are omitted if they are not set.
  options.always_print_primitive_fields = true;
  std::string text;
  // Fails only for Any and malformed timestamps, which our messages do not contain.
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return "{}";
  if (pretty && !text.ends_with('\n')) text += '\n';
  return text;
}

std::string ToYaml(const google::protobuf::Message& message) {
  YAML::Emitter out;
  Emit(YAML::Load(ToJson(message, false)), out);
  return std::string(out.c_str(), out.size()) + "\n";
}

Status FromJson(std::string_view json, google::protobuf::Message& message) {
  message.Clear();
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &message);
  if (status.ok()) return {};
  return Status(Code::kInvalidArgument, WithoutEmptyExcerpt(std::string(status.message())));
}

}  // namespace fabric
