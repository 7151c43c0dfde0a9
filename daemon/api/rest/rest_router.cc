#include "daemon/api/rest/rest_router.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "daemon/api/rest/rest_fields.h"
#include "daemon/api/rest/rest_text.h"
#include "google/api/annotations.pb.h"
#include "proto/json.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr std::size_t kQueryParametersMax = 256;

Status Unserved(const MethodDescriptor& method, std::string_view why) {
  return {Code::kInternal, Format("{}: HTTP option {}", method.full_name(), why)};
}

Result<Route> RouteOf(const MethodDescriptor& method) {
  const google::api::HttpRule& rule = method.options().GetExtension(google::api::http);
  Route route{.method = &method};
  switch (rule.pattern_case()) {
    case google::api::HttpRule::kGet: route.verb = "GET", route.path = rule.get(); break;
    case google::api::HttpRule::kPut: route.verb = "PUT", route.path = rule.put(); break;
    case google::api::HttpRule::kPost: route.verb = "POST", route.path = rule.post(); break;
    case google::api::HttpRule::kDelete: route.verb = "DELETE", route.path = rule.delete_(); break;
    case google::api::HttpRule::kPatch: route.verb = "PATCH", route.path = rule.patch(); break;
    case google::api::HttpRule::PATTERN_NOT_SET: return Unserved(method, "is missing");
  }
  if (!route.path.starts_with('/')) return Unserved(method, "has no path");
  if (!rule.body().empty() && rule.body() != "*") return Unserved(method, "has a body but '*'");
  route.body = rule.body() == "*";
  std::string_view path = route.path;
  const std::size_t colon = path.rfind(':');
  if (colon != path.npos) {
    route.action = path.substr(colon + 1);
    path = path.substr(0, colon);
  }
  for (const std::string_view part : Split(path.substr(1), '/')) {
    const bool field = part.starts_with('{') && part.ends_with('}');
    const std::string text(field ? part.substr(1, part.size() - 2) : part);
    if (field && method.input_type()->FindFieldByName(text) == nullptr)
      return Unserved(method, Format("names no field of the request: {}", Quoted(text)));
    route.segments.push_back({text, field});
  }
  return route;
}

struct RequestTarget {
  std::string_view path;
  std::string_view query;
};

RequestTarget SplitTarget(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  if (mark == target.npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

// Whether the path is the route's; `values` are then those of its fields, still encoded.
bool MatchRoute(const Route& route, std::string_view path, std::vector<std::string_view>& values) {
  if (!path.starts_with('/')) return false;
  if (!route.action.empty()) {
    const std::string suffix = ":" + route.action;
    if (!path.ends_with(suffix)) return false;
    path.remove_suffix(suffix.size());
  }
  const auto parts = Split(path.substr(1), '/');
  if (parts.size() != route.segments.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!route.segments[i].field && route.segments[i].text != parts[i]) return false;
    if (parts[i].empty()) return false;
    if (route.segments[i].field) values.push_back(parts[i]);
  }
  return true;
}

// Protobuf quotes the place in lines of its own.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

RestError BadRequest(const Status& status) {
  return {HttpStatus(status.code()), status, {}};
}

// Sets fields from the query. `with_fields` is false when the request is in the body.
Status ApplyQuery(std::string_view query, bool with_fields, RestCall& call) {
  if (query.empty()) return {};
  const auto parameters = Split(query, '&');
  if (parameters.size() > kQueryParametersMax)
    return {Code::kInvalidArgument, Format("expected at most {} parameters, saw {}",
                                           kQueryParametersMax, parameters.size())};
  std::vector<std::string> seen;
  for (const std::string_view parameter : parameters) {
    if (parameter.empty()) continue;
    const std::size_t equals = parameter.find('=');
    ASSIGN_OR_RETURN(const std::string name, PercentDecode(parameter.substr(0, equals), true));
    auto decoded = PercentDecode(
        equals == parameter.npos ? std::string_view() : parameter.substr(equals + 1), true);
    if (!decoded.ok()) return decoded.status().In(Format("parameter {}", Quoted(name)));
    const auto* const field = call.request->GetDescriptor()->FindFieldByName(name);
    if (name == "pretty" && field == nullptr) {
      if (*decoded != "" && *decoded != "true" && *decoded != "false")
        return {Code::kInvalidArgument,
                Format("parameter 'pretty': expected true or false, saw {}", Quoted(*decoded))};
      call.pretty = *decoded != "false";
      continue;
    }
    if (!with_fields)
      return {Code::kInvalidArgument,
              Format("no parameter {}: the request is given in the body", Quoted(name))};
    const bool repeated = field != nullptr && field->is_repeated();
    if (!repeated && std::find(seen.begin(), seen.end(), name) != seen.end())
      return {Code::kInvalidArgument, Format("parameter {} is given twice", Quoted(name))};
    seen.push_back(name);
    RETURN_IF_ERROR(SetField(*call.request, name, *decoded));
  }
  return {};
}

}  // namespace

Result<std::vector<Route>> RoutesOf(const google::protobuf::ServiceDescriptor& service) {
  std::vector<Route> routes;
  for (int i = 0; i < service.method_count(); ++i) {
    ASSIGN_OR_RETURN(Route route, RouteOf(*service.method(i)));
    routes.push_back(std::move(route));
  }
  return routes;
}

// Routes of one path and the values of its fields; the same for all of them, as they are the same
// template under different verbs.
struct RestRouter::Matches {
  std::vector<const Route*> routes;
  std::vector<std::string_view> values;
};

RestRouter::RestRouter(std::vector<Route> routes, std::vector<std::string> other_paths)
    : routes_(std::move(routes)), other_paths_(std::move(other_paths)) {
  for (const Route& route : routes_)
    if (route.body)
      checks_.try_emplace(route.method->input_type(), *route.method->input_type(),
                          BoundOf("request_bytes"), BoundOf("request_memory"));
}

// Literal segments and actions are more particular than fields: "/v1/campaigns/x:cancel" is the
// action, not a campaign of that name.
RestRouter::Matches RestRouter::MatchPath(std::string_view path) const {
  Matches best;
  std::size_t best_rank = 0;
  for (const Route& route : routes_) {
    std::vector<std::string_view> values;
    if (!MatchRoute(route, path, values)) continue;
    const auto literals = static_cast<std::size_t>(
        std::count_if(route.segments.begin(), route.segments.end(),
                      [](const Route::Segment& segment) { return !segment.field; }));
    const std::size_t rank = 1 + 2 * literals + (route.action.empty() ? 0 : 1);
    if (rank < best_rank) continue;
    if (rank > best_rank) best = {};
    best_rank = rank;
    best.routes.push_back(&route);
    best.values = std::move(values);
  }
  return best;
}

const Route* RestRouter::Find(std::string_view verb, std::string_view target) const {
  for (const Route* route : MatchPath(SplitTarget(target).path).routes)
    if (route->verb == verb) return route;
  return nullptr;
}

std::string RestRouter::Allowed(std::string_view target) const {
  std::vector<std::string> verbs;
  for (const Route* route : MatchPath(SplitTarget(target).path).routes) {
    verbs.push_back(route->verb);
    if (route->verb == "GET") verbs.emplace_back("HEAD");
  }
  if (verbs.empty()) return {};
  verbs.emplace_back("OPTIONS");
  return Join(verbs, ", ");
}

RestError RestRouter::NotFound(std::string_view path) const {
  std::vector<std::string_view> known(other_paths_.begin(), other_paths_.end());
  for (const Route& route : routes_) known.push_back(route.path);
  return {404,
          {Code::kNotFound, UnknownName("path", path, known, "; /openapi.json lists all paths")},
          {}};
}

// Bounds are checked before decoding, as on gRPC: "{}" in a list has 3 bytes, and its message
// hundreds.
std::optional<RestError> RestRouter::ReadBody(std::string_view body, const Route& route,
                                              Message& request) const {
  if (!IsUtf8(body)) return BadRequest({Code::kInvalidArgument, "body: expected UTF-8"});
  const auto wire = WireOfJson(body, *request.GetDescriptor());
  if (!wire.ok())
    return BadRequest({wire.status().code(), "body: " + OneLine(wire.status().message())});
  const WireCheckResult found = checks_.at(route.method->input_type()).Check(*wire);
  if (found.excess) return RestError{413, ToStatus(*found.excess).In("body"), {}};
  if (request.ParseFromString(*wire)) return std::nullopt;
  return BadRequest(
      {Code::kInvalidArgument, Format("body: expected a {}", route.method->input_type()->name())});
}

std::variant<RestCall, RestError> RestRouter::Match(std::string_view verb, std::string_view target,
                                                    std::string_view body) const {
  const auto [path, query] = SplitTarget(target);
  const Matches matches = MatchPath(path);
  if (matches.routes.empty()) return NotFound(path);
  const auto at = std::find_if(matches.routes.begin(), matches.routes.end(),
                               [&](const Route* route) { return route->verb == verb; });
  if (at == matches.routes.end()) {
    const std::string allow = Allowed(path);
    return RestError{
        405,
        {Code::kUnimplemented, Format("{}: expected method {}, saw {}", path, allow, Quoted(verb))},
        allow};
  }
  const Route& route = **at;
  RestCall call{.method = route.method};
  call.request.reset(
      MessageFactory::generated_factory()->GetPrototype(route.method->input_type())->New());
  if (route.body && !Trim(body).empty())
    if (auto error = ReadBody(body, route, *call.request)) return *std::move(error);
  if (!route.body && !Trim(body).empty() && Trim(body) != "{}")
    return BadRequest({Code::kInvalidArgument, Format("{}: expected no body", route.path)});
  const Status status = ApplyQuery(query, !route.body, call);
  if (!status.ok()) return BadRequest(status);
  std::size_t value = 0;
  for (const Route::Segment& segment : route.segments) {
    if (!segment.field) continue;
    const auto decoded = PercentDecode(matches.values[value++], false);
    const Status set = decoded.ok() ? SetField(*call.request, segment.text, *decoded)
                                    : decoded.status().In(Quoted(segment.text));
    if (!set.ok()) return BadRequest(set);
  }
  return call;
}

}  // namespace fabric::api
