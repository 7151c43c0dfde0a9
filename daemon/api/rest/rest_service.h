// REST service: HTTP request to HTTP response, independent of sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "daemon/access/caller.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/rest/request_guard.h"
#include "daemon/api/rest/rest_router.h"

namespace fabric::api {

struct HttpRequest {
  std::string_view verb;
  std::string_view target;  // Path and query, as they came
  std::string_view body;
  std::string_view last_event_id;  // Header Last-Event-ID; empty without
  std::string_view accept = {};    // These headers; empty without
  std::string_view accept_encoding = {};
  std::string_view if_none_match = {};
  access::Caller caller = {};
  RequestHeaders headers = {};
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  // Header Allow; empty: none
  std::string cache_control = "no-store";
  std::string headers = {};         // Further header lines, each with its "\r\n"
  std::string etag = {};            // With quotes; empty: none
  std::string_view gzip_body = {};  // The same body in gzip; empty: none
  bool compress = false;            // Without `gzip_body`: compress the body
};

// The client wants a stream of server-sent events.
struct EventStreamStart {
  v1::WatchEventsRequest request;
  access::Caller caller;
};

// A body that is made in pieces while it is sent.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // Appends the next piece. False: it was the last one. A failure ends the connection.
  virtual Result<bool> Next(std::string& out) = 0;
};
struct StreamedResponse {
  HttpResponse head;  // Without a body
  std::unique_ptr<BodyStream> body;
};

// A page that is not part of the API: /metrics, /healthz, /openapi.json.
struct Page {
  std::string path;
  std::function<HttpResponse()> get;
  // Whether the caller may read it. Without it everyone may.
  std::function<Status(const access::Caller&)> admit = {};
};

// Safe to call from any thread.
class RestService {
 public:
  RestService(CallFunction call, std::vector<Route> routes, std::vector<Page> pages,
              RequestGuard guard = RequestGuard());

  // Checks a request without its body: the number of bytes that a body can have, or the answer that
  // refuses the request.
  std::variant<std::uint64_t, HttpResponse> Admit(const HttpRequest& request) const;

  std::variant<HttpResponse, EventStreamStart, StreamedResponse> Handle(
      const HttpRequest& request) const;

  // Whether the caller may still read the events that it reads.
  bool MayWatch(const access::Caller& caller) const;

 private:
  HttpResponse Answer(const HttpRequest& request, const RestCall& call) const;
  std::variant<HttpResponse, EventStreamStart, StreamedResponse> Watch(const HttpRequest& request,
                                                                       const RestCall& call,
                                                                       bool head) const;

  CallFunction call_;
  std::vector<Page> pages_;
  RestRouter router_;
  RequestGuard guard_;
};

HttpResponse ErrorResponse(int http_status, const Status& status);

enum class BodyLength { kKnown, kChunked, kToTheEnd };
struct ResponseForm {
  bool head = false;  // Without the body
  bool keep_alive = false;
  BodyLength length = BodyLength::kKnown;
};
// The response as HTTP/1.1 sends it.
std::string ResponseText(const HttpResponse& answer, const ResponseForm& form);

// One event as text/event-stream has it, blank line included.
std::string ServerSentEvent(const v1::Event& event);

}  // namespace fabric::api
