// REST router: maps an HTTP request to an rpc by the google.api.http options of the service. Pure
// and immutable.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "proto/wire_check.h"

namespace fabric::api {

// One rpc's place in the address space.
struct Route {
  // A literal, or a request field when `field` is set.
  struct Segment {
    std::string text;
    bool field = false;
  };
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb;               // "GET"
  std::string path;               // The template: "/v1/campaigns/{id}:cancel"
  std::vector<Segment> segments;  // "v1", "campaigns", {id}
  std::string action;             // "cancel", empty without
  bool body = false;              // The body is the request as JSON.
};

// In the order of the service. INTERNAL when an rpc has no option or one that cannot be served.
Result<std::vector<Route>> RoutesOf(const google::protobuf::ServiceDescriptor& service);

struct RestCall {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::unique_ptr<google::protobuf::Message> request;
  bool pretty = false;
};

struct RestError {
  int http_status = 0;
  Status status;
  std::string allow;  // Of 405: the methods that there are.
};

// Safe to use from any thread.
class RestRouter {
 public:
  // `other_paths` are served by someone else and only known for "did you mean".
  RestRouter(std::vector<Route> routes, std::vector<std::string> other_paths);

  // `target` is path and query as they came.
  std::variant<RestCall, RestError> Match(std::string_view verb, std::string_view target,
                                          std::string_view body) const;

  // nullptr: there is none.
  const Route* Find(std::string_view verb, std::string_view target) const;

  // "GET, HEAD, OPTIONS" for a path that there is; empty for others. For OPTIONS.
  std::string Allowed(std::string_view target) const;

  std::span<const Route> routes() const { return routes_; }

 private:
  struct Matches;

  Matches MatchPath(std::string_view path) const;
  RestError NotFound(std::string_view path) const;
  std::optional<RestError> ReadBody(std::string_view body, const Route& route,
                                    google::protobuf::Message& request) const;

  std::vector<Route> routes_;
  std::vector<std::string> other_paths_;
  std::map<const google::protobuf::Descriptor*, WireCheck> checks_;  // Of requests with a body
};

}  // namespace fabric::api
