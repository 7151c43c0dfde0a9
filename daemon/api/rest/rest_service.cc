#include "daemon/api/rest/rest_service.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/text.h"
#include "daemon/api/rest/rest_text.h"
#include "proto/json.h"

namespace fabric::api {
namespace {

constexpr std::string_view kPageMethods = "GET, HEAD, OPTIONS";

std::vector<std::string> Paths(const std::vector<Page>& pages) {
  std::vector<std::string> paths;
  for (const Page& page : pages) paths.push_back(page.path);
  return paths;
}

// "node", "finding", "pair_result", ...: the arm that is set; "event" when none is.
std::string_view EventName(const v1::Event& event) {
  const auto* const body = v1::Event::descriptor()->FindOneofByName("body");
  const auto* const arm = v1::Event::GetReflection()->GetOneofFieldDescriptor(event, body);
  return arm == nullptr ? std::string_view("event") : std::string_view(arm->name());
}

// Where to resume: the header wins, as it is what a browser sends when it reconnects.
Result<std::uint64_t> AfterSequence(const HttpRequest& request, const RestCall& call) {
  if (!request.last_event_id.empty()) {
    const auto sequence = ParseNumber<std::uint64_t>(request.last_event_id);
    if (!sequence.ok()) return sequence.status().In("Last-Event-ID");
    return *sequence;
  }
  return static_cast<const v1::WatchEventsRequest&>(*call.request).after_sequence();
}

}  // namespace

RestService::RestService(CallFunction call, std::vector<Route> routes, std::vector<Page> pages)
    : call_(std::move(call)), pages_(std::move(pages)), router_(std::move(routes), Paths(pages_)) {}

std::string ResponseText(const HttpResponse& answer, bool head, bool keep_alive) {
  const auto status = static_cast<unsigned>(answer.status);
  namespace http = boost::beast::http;
  const auto reason = http::obsolete_reason(http::int_to_status(status));
  std::string text = Format("HTTP/1.1 {} {}\r\nServer: fabricd\r\n", status,
                            std::string_view(reason.data(), reason.size()));
  if (!answer.content_type.empty()) text += Format("Content-Type: {}\r\n", answer.content_type);
  if (!answer.allow.empty()) text += Format("Allow: {}\r\n", answer.allow);
  text += "Cache-Control: no-store\r\n";
  if (!keep_alive) text += "Connection: close\r\n";
  if (answer.status != 204) text += Format("Content-Length: {}\r\n", answer.body.size());
  text += "\r\n";
  if (!head) text += answer.body;
  return text;
}

HttpResponse ErrorResponse(int http_status, const Status& status) {
  return {.status = http_status, .body = ErrorJson(status) + "\n"};
}

std::string ServerSentEvent(const v1::Event& event) {
  return Format("id: {}\nevent: {}\ndata: {}\n\n", event.sequence(), EventName(event),
                ToJson(event, false));
}

HttpResponse RestService::Answer(const HttpRequest& request, const RestCall& call) const {
  const std::unique_ptr<google::protobuf::Message> answer(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(call.method->output_type())
          ->New());
  const Status status =
      call_({.peer = request.peer, .transport = "rest"}, *call.method, *call.request, *answer);
  if (!status.ok()) return ErrorResponse(HttpStatus(status.code()), status);
  HttpResponse response{.body = ToJson(*answer, call.pretty)};
  if (!call.pretty) response.body += '\n';
  return response;
}

std::variant<HttpResponse, EventStreamStart> RestService::Handle(const HttpRequest& request) const {
  const bool head = request.verb == "HEAD";
  const std::string_view verb = head ? "GET" : request.verb;
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  const auto page =
      std::find_if(pages_.begin(), pages_.end(), [&](const Page& p) { return p.path == path; });
  if (verb == "OPTIONS") {
    const std::string allow =
        page != pages_.end() ? std::string(kPageMethods) : router_.Allowed(request.target);
    if (!allow.empty()) return HttpResponse{.status = 204, .content_type = {}, .allow = allow};
  }
  if (page != pages_.end()) {
    if (verb == "GET") return page->get();
    HttpResponse response = ErrorResponse(
        405, {Code::kUnimplemented,
              Format("{}: expected method {}, saw {}", path, kPageMethods, Quoted(verb))});
    response.allow = kPageMethods;
    return response;
  }
  auto match = router_.Match(verb, request.target, request.body);
  if (const auto* const error = std::get_if<RestError>(&match)) {
    HttpResponse response = ErrorResponse(error->http_status, error->status);
    response.allow = error->allow;
    return response;
  }
  const RestCall& call = std::get<RestCall>(match);
  if (!call.method->server_streaming()) return Answer(request, call);
  if (head) return HttpResponse{.content_type = "text/event-stream"};
  const auto after = AfterSequence(request, call);
  if (!after.ok()) return ErrorResponse(HttpStatus(after.status().code()), after.status());
  return EventStreamStart{*after};
}

}  // namespace fabric::api
