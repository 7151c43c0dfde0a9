// REST service: HTTP request to HTTP response, independent of sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/rest/rest_router.h"

namespace fabric::api {

struct HttpRequest {
  std::string_view verb;
  std::string_view target;  // Path and query, as they came
  std::string_view body;
  std::string_view last_event_id;  // Header Last-Event-ID; empty without
  std::string_view peer;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  // Header Allow; empty: none
};

// The client wants a stream of server-sent events.
struct EventStreamStart {
  std::uint64_t after_sequence = 0;
};

// A page that is not part of the API: /metrics, /healthz, /openapi.json.
struct Page {
  std::string path;
  std::function<HttpResponse()> get;
};

// Safe to call from any thread.
class RestService {
 public:
  RestService(CallFunction call, std::vector<Route> routes, std::vector<Page> pages);

  std::variant<HttpResponse, EventStreamStart> Handle(const HttpRequest& request) const;

 private:
  HttpResponse Answer(const HttpRequest& request, const RestCall& call) const;

  CallFunction call_;
  std::vector<Page> pages_;
  RestRouter router_;
};

HttpResponse ErrorResponse(int http_status, const Status& status);

// The response as HTTP/1.1 sends it. `head`: without the body.
std::string ResponseText(const HttpResponse& answer, bool head, bool keep_alive);

// One event as text/event-stream has it, blank line included.
std::string ServerSentEvent(const v1::Event& event);

}  // namespace fabric::api
