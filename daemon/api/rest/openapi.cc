#include "daemon/api/rest/openapi.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/text.h"
#include "daemon/access/policy.h"
#include "daemon/api/rest/openapi_examples.h"
#include "daemon/api/rest/rest_router.h"
#include "fabric/v1/options.pb.h"
#include "proto/roles.h"

namespace fabric::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

using Json = Examples::Json;  // Members stay in the order in which they are set.

constexpr std::string_view kTimestamp = "google.protobuf.Timestamp";

// The comments of an element, on one line; empty in descriptors that are compiled in.
template <class Element>
std::string Comment(const Element& element) {
  google::protobuf::SourceLocation location;
  if (!element.GetSourceLocation(&location)) return {};
  std::vector<std::string> words;
  for (const std::string_view word : Words(location.leading_comments)) words.emplace_back(word);
  for (const std::string_view word : Words(location.trailing_comments)) words.emplace_back(word);
  return Join(words, " ");
}

// With the default of a number.
std::string FieldComment(const FieldDescriptor& field) {
  const std::uint32_t zero_means = field.options().GetExtension(v1::zero_means);
  const std::string comment = Comment(field);
  if (zero_means == 0) return comment;
  return Format("0: {}{}{}", zero_means, comment.empty() ? "" : ". ", comment);
}

void AddDescription(const std::string& comment, Json& schema) {
  if (!comment.empty()) schema["description"] = comment;
}

Json Reference(const Descriptor& type) {
  return {{"$ref", "#/components/schemas/" + type.name()}};
}

Json EnumSchema(const EnumDescriptor& type) {
  Json names = Json::array();
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return {{"type", "string"}, {"enum", names}};
}

// Schema of one value of the field, by the protobuf JSON mapping.
Json ValueSchema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}, {"maximum", 4294967295}};
    // 64 bits do not fit a JSON number everywhere.
    case FieldDescriptor::CPPTYPE_INT64: return {{"type", "string"}, {"format", "int64"}};
    case FieldDescriptor::CPPTYPE_UINT64: return {{"type", "string"}, {"format", "uint64"}};
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE: return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_BOOL: return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_STRING: return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_ENUM: return EnumSchema(*field.enum_type());
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  if (field.message_type()->full_name() == kTimestamp)
    return {{"type", "string"}, {"format", "date-time"}};
  return Reference(*field.message_type());
}

Json FieldSchema(const FieldDescriptor& field) {
  Json schema = ValueSchema(field.is_map() ? *field.message_type()->map_value() : field);
  if (field.is_map())
    schema = {{"type", "object"}, {"additionalProperties", schema}};
  else if (field.is_repeated())
    schema = {{"type", "array"}, {"items", schema}};
  // OpenAPI 3.0 ignores what is next to $ref.
  if (!schema.contains("$ref")) AddDescription(FieldComment(field), schema);
  return schema;
}

Json MessageSchema(const Descriptor& type) {
  Json properties = Json::object();
  for (int i = 0; i < type.field_count(); ++i)
    properties[type.field(i)->name()] = FieldSchema(*type.field(i));
  Json schema = {{"type", "object"}, {"properties", properties}};
  AddDescription(Comment(type), schema);
  return schema;
}

// The message and all that it holds, by name.
void Collect(const Descriptor& type, std::map<std::string, const Descriptor*>& found) {
  if (type.options().map_entry()) {  // A schema of its own field
    if (const Descriptor* const value = type.map_value()->message_type()) Collect(*value, found);
    return;
  }
  if (type.full_name() == kTimestamp || !found.emplace(type.name(), &type).second) return;
  for (int i = 0; i < type.field_count(); ++i)
    if (type.field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      Collect(*type.field(i)->message_type(), found);
}

bool InPath(const Route& route, const std::string& name) {
  return std::any_of(
      route.segments.begin(), route.segments.end(),
      [&](const Route::Segment& segment) { return segment.field && segment.text == name; });
}

Json Parameters(const Route& route) {
  const Descriptor& request = *route.method->input_type();
  Json parameters = Json::array();
  for (int i = 0; i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    const bool in_path = InPath(route, field.name());
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!in_path && (route.body || is_message)) continue;
    parameters.push_back({{"name", field.name()},
                          {"in", in_path ? "path" : "query"},
                          {"required", in_path},
                          {"schema", FieldSchema(field)}});
  }
  return parameters;
}

Json Content(const std::string& media, Json schema, Json example) {
  return {{media, {{"schema", std::move(schema)}, {"example", std::move(example)}}}};
}

// "operator"
std::string RoleText(const MethodDescriptor& method) {
  return RoleNames(access::NeedOf(method).any_of);
}

// "Lists all nodes" of "Lists all nodes. Lost ones too."
std::string FirstSentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find(". "));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

// "nodes" of "/v1/nodes/{name}:diff"
std::string TagOf(std::string_view path) {
  constexpr std::string_view kPrefix = "/v1/";
  if (path.starts_with(kPrefix)) path.remove_prefix(kPrefix.size());
  return std::string(path.substr(0, path.find_first_of("/:")));
}

Result<Json> Operation(const Route& route, Examples& examples) {
  const MethodDescriptor& method = *route.method;
  const std::string json = "application/json";
  Json operation = {{"operationId", method.name()}};
  AddDescription(Comment(method), operation);
  operation["summary"] = FirstSentence(operation.value("description", method.name()));
  operation["tags"] = Json::array({TagOf(route.path)});
  operation["x-required-role"] = RoleText(method);
  operation["parameters"] = Parameters(route);
  if (route.body) {
    ASSIGN_OR_RETURN(Json example, examples.Request(method));
    operation["requestBody"] = {
        {"content", Content(json, Reference(*method.input_type()), std::move(example))}};
  }
  ASSIGN_OR_RETURN(Json answer, examples.Answer(method));
  const Json error = {{"code", 5}, {"message", "unknown node 'n9'"}, {"status", "NOT_FOUND"}};
  operation["responses"] = {
      {"200",
       {{"description", "OK"},
        {"content", Content(method.server_streaming() ? "text/event-stream" : json,
                            Reference(*method.output_type()), std::move(answer))}}},
      {"default",
       {{"description", "Error"},
        {"content", Content(json, {{"$ref", "#/components/schemas/Error"}}, error)}}}};
  return operation;
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Result<Json> Paths(const std::vector<Route>& routes, Examples& examples) {
  std::map<std::string, Json> by_path;
  for (const Route& route : routes) {
    ASSIGN_OR_RETURN(Json operation, Operation(route, examples));
    by_path[route.path][LowerCase(route.verb)] = std::move(operation);
  }
  return Json(by_path);
}

Json Schemas(const std::vector<Route>& routes) {
  std::map<std::string, const Descriptor*> found;
  for (const Route& route : routes) {
    if (route.body) Collect(*route.method->input_type(), found);
    Collect(*route.method->output_type(), found);
  }
  Json schemas;
  schemas["Error"] = {{"type", "object"},
                      {"properties",
                       {{"code", {{"type", "integer"}, {"format", "int32"}}},
                        {"message", {{"type", "string"}}},
                        {"status", {{"type", "string"}}}}}};
  for (const auto& [name, type] : found) schemas[name] = MessageSchema(*type);
  return schemas;
}

// The methods by the role that they need.
std::string RoleSection(const std::vector<Route>& routes) {
  std::map<v1::Role, std::vector<std::string>> by_role;
  for (const Route& route : routes)
    for (const v1::Role role : access::NeedOf(*route.method).any_of)
      by_role[role].push_back(
          Format("[{}](#{})", route.method->name(), LowerCase(route.method->name())));
  std::string text = "## Roles\n\n| role | methods |\n|---|---|\n";
  for (const auto& [role, methods] : by_role)
    text += Format("| {} | {} |\n", RoleName(role), Join(methods, ", "));
  return text + "\noperator includes viewer, and admin includes operator.\n\n";
}

std::vector<Route> Routes(const ServiceDescriptor& service) {
  auto routes = RoutesOf(service);
  // The program does not start with a service that cannot be routed.
  return routes.ok() ? *std::move(routes) : std::vector<Route>();
}

std::string TypeText(const FieldDescriptor& field) {
  if (field.is_map())
    return Format("map of {} to {}", TypeText(*field.message_type()->map_key()),
                  TypeText(*field.message_type()->map_value()));
  std::string name;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: name = field.message_type()->name(); break;
    case FieldDescriptor::CPPTYPE_ENUM: name = field.enum_type()->name(); break;
    default: name = field.type_name();
  }
  const bool own = field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM ||
                   (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
                    field.message_type()->full_name() != kTimestamp);
  if (own) name = Format("[{}](#{})", name, LowerCase(name));
  return (field.is_repeated() ? "list of " : "") + name;
}

std::string Cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string MessageSection(const Descriptor& type) {
  std::string text = Format("### {}\n\n", type.name());
  const std::string comment = Comment(type);
  if (!comment.empty()) text += comment + "\n\n";
  if (type.field_count() == 0) return text + "No fields.\n\n";
  text += "| field | type | meaning |\n|---|---|---|\n";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const auto* const arm = field.real_containing_oneof();
    const std::string note = arm != nullptr                 ? Format("One of `{}`. ", arm->name())
                             : field.has_optional_keyword() ? "Absent when not known. "
                                                            : "";
    text += Format("| `{}` | {} | {} |\n", field.name(), TypeText(field),
                   Cell(note + FieldComment(field)));
  }
  return text + "\n";
}

std::string EnumSection(const EnumDescriptor& type) {
  std::string text = Format("### {}\n\n", type.name());
  const std::string comment = Comment(type);
  if (!comment.empty()) text += comment + "\n\n";
  text += "| value | number | meaning |\n|---|---|---|\n";
  for (int i = 0; i < type.value_count(); ++i)
    text += Format("| `{}` | {} | {} |\n", type.value(i)->name(), type.value(i)->number(),
                   Cell(Comment(*type.value(i))));
  return text + "\n";
}

std::string MethodSection(const Route& route) {
  const MethodDescriptor& method = *route.method;
  std::string text = Format("### {}\n\n`{} {}`, role {}\n\n", method.name(), route.verb, route.path,
                            RoleText(method));
  const std::string comment = Comment(method);
  if (!comment.empty()) text += comment + "\n\n";
  const Descriptor& request = *method.input_type();
  if (request.field_count() > 0) {
    text += "| parameter | in | type | meaning |\n|---|---|---|---|\n";
    for (int i = 0; i < request.field_count(); ++i) {
      const FieldDescriptor& field = *request.field(i);
      const std::string_view where =
          InPath(route, field.name()) ? "path" : (route.body ? "body" : "query");
      text += Format("| `{}` | {} | {} | {} |\n", field.name(), where, TypeText(field),
                     Cell(FieldComment(field)));
    }
    text += "\n";
  }
  const std::string& answer = method.output_type()->name();
  return text + Format("Answer: {}[{}](#{})\n\n", method.server_streaming() ? "stream of " : "",
                       answer, LowerCase(answer));
}

// Each resource once, in the order of the methods.
Json Tags(const std::vector<Route>& routes) {
  std::vector<std::string> seen;
  Json tags = Json::array();
  for (const Route& route : routes) {
    std::string tag = TagOf(route.path);
    if (std::ranges::find(seen, tag) != seen.end()) continue;
    tags.push_back({{"name", tag}});
    seen.push_back(std::move(tag));
  }
  return tags;
}

}  // namespace

Result<std::string> OpenApiJson(const OpenApiInput& input) {
  const std::vector<Route> routes = Routes(input.service);
  ASSIGN_OR_RETURN(Examples examples, Examples::Parse(input.examples));
  ASSIGN_OR_RETURN(Json paths, Paths(routes, examples));
  RETURN_IF_ERROR(examples.AllUsed());
  const Json document = {
      {"openapi", "3.0.3"},
      {"info",
       {{"title", input.service.full_name()},
        {"description", "Public API of fabricd: nodes, findings, probes and certificates."},
        {"contact", {{"name", "fabricd maintainers"}}},
        {"license",
         {{"name", "Apache-2.0"}, {"url", "https://www.apache.org/licenses/LICENSE-2.0"}}},
        {"version", input.version}}},
      {"servers", Json::array({{{"url", "/"}, {"description", "REST listener of fabricd"}}})},
      {"tags", Tags(routes)},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", Schemas(routes)},
        {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
      // Or a client certificate, which OpenAPI 3.0 cannot describe.
      {"security", Json::array({{{"bearer", Json::array()}}, Json::object()})},
  };
  return document.dump(2) + "\n";
}

std::string ApiReference(const ServiceDescriptor& service) {
  const std::vector<Route> routes = Routes(service);
  std::map<std::string, const Descriptor*> messages;
  std::string text = RoleSection(routes) + "## Calls\n\n";
  for (const Route& route : routes) {
    text += MethodSection(route);
    Collect(*route.method->input_type(), messages);
    Collect(*route.method->output_type(), messages);
  }
  // Requests stand with their calls already.
  for (const Route& route : routes) messages.erase(route.method->input_type()->name());
  std::map<std::string, const EnumDescriptor*> enums;
  text += "## Messages\n\n";
  for (const auto& [name, type] : messages) {
    text += MessageSection(*type);
    for (int i = 0; i < type->field_count(); ++i)
      if (const auto* const used = type->field(i)->enum_type()) enums.emplace(used->name(), used);
  }
  text += "## Enumerations\n\n";
  for (const auto& [name, type] : enums) text += EnumSection(*type);
  return text;
}

}  // namespace fabric::api
