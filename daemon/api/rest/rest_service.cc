#include "daemon/api/rest/rest_service.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/text.h"
#include "daemon/api/caught.h"
#include "daemon/api/rest/campaign_stream.h"
#include "daemon/api/rest/negotiation.h"
#include "daemon/api/rest/rest_text.h"
#include "daemon/api/rest/result_matrix.h"
#include "proto/fabric_service.h"
#include "proto/field_mask.h"
#include "proto/json.h"
#include "proto/message_text.h"

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

// Where to resume: the header wins, as it is what a browser sends when it reconnects. A number
// alone is that of an event of this run of the controller.
Result<v1::WatchEventsRequest> WatchRequest(const HttpRequest& request, const RestCall& call) {
  auto watch = static_cast<const v1::WatchEventsRequest&>(*call.request);
  if (request.last_event_id.empty()) return watch;
  watch.clear_after_cursor();
  watch.clear_after_sequence();
  if (request.last_event_id.find('-') != std::string_view::npos) {
    watch.set_after_cursor(std::string(request.last_event_id));
    return watch;
  }
  const auto sequence = ParseNumber<std::uint64_t>(request.last_event_id);
  if (!sequence.ok()) return sequence.status().In("Last-Event-ID");
  watch.set_after_sequence(*sequence);
  return watch;
}

// Largest body of a method that takes one. Campaigns and certificates list nodes.
std::uint64_t BodyBytesMax(const Route& route) {
  constexpr std::uint64_t kEmpty = 1 << 10;  // "{}" is accepted where no body is expected.
  constexpr std::uint64_t kSmall = 64 << 10;
  constexpr std::uint64_t kLists = 1 << 20;
  const std::string& method = route.method->name();
  if (!route.body) return kEmpty;
  return method == "StartCampaign" || method == "StartCertificate" ? kLists : kSmall;
}

// Of a list method that has `fields`: the fields that are printed. The call has checked them.
FieldMask MaskOf(const RestCall& call) {
  const auto* const field = call.request->GetDescriptor()->FindFieldByName("fields");
  const auto& list = *call.method->output_type()->field(0);
  if (field == nullptr || !list.is_repeated() || list.message_type() == nullptr) return {};
  const auto mask = FieldMask::Parse(call.request->GetReflection()->GetString(*call.request, field),
                                     *list.message_type());
  return mask.ok() ? mask->Within(list) : FieldMask();
}

std::variant<HttpResponse, EventStreamStart, StreamedResponse> Compressed(
    std::variant<HttpResponse, EventStreamStart, StreamedResponse> answer,
    const HttpRequest& request) {
  if (auto* const streamed = std::get_if<StreamedResponse>(&answer))
    return Negotiate(std::move(*streamed), request);
  return answer;
}

}  // namespace

RestService::RestService(CallFunction call, std::vector<Route> routes, std::vector<Page> pages,
                         RequestGuard guard)
    : call_(std::move(call)),
      pages_(std::move(pages)),
      router_(std::move(routes), Paths(pages_)),
      guard_(std::move(guard)) {}

std::string ResponseText(const HttpResponse& answer, const ResponseForm& form) {
  const auto status = static_cast<unsigned>(answer.status);
  namespace http = boost::beast::http;
  const auto reason = http::obsolete_reason(http::int_to_status(status));
  std::string text = Format("HTTP/1.1 {} {}\r\nServer: fabricd\r\n", status,
                            std::string_view(reason.data(), reason.size()));
  if (!answer.content_type.empty()) text += Format("Content-Type: {}\r\n", answer.content_type);
  if (!answer.allow.empty()) text += Format("Allow: {}\r\n", answer.allow);
  if (answer.status == 401) text += "WWW-Authenticate: Bearer\r\n";
  text += Format("Cache-Control: {}\r\n", answer.cache_control);
  if (!answer.etag.empty()) text += Format("ETag: {}\r\n", answer.etag);
  text += answer.headers;
  if (!form.keep_alive) text += "Connection: close\r\n";
  if (form.length == BodyLength::kChunked) text += "Transfer-Encoding: chunked\r\n";
  if (form.length == BodyLength::kKnown && answer.status != 204 && answer.status != 304)
    text += Format("Content-Length: {}\r\n", answer.body.size());
  text += "\r\n";
  if (!form.head) text += answer.body;
  return text;
}

HttpResponse ErrorResponse(int http_status, const Status& status) {
  return {.status = http_status, .body = ErrorJson(status) + "\n"};
}

std::string ServerSentEvent(const v1::Event& event) {
  return Format("id: {}\nevent: {}\ndata: {}\n\n", event.cursor(), EventName(event),
                ToJson(event, false));
}

namespace {

std::string HeadersOf(const AnswerNotes& notes) {
  std::string headers;
  if (!notes.warning.empty()) headers += Format("Fabric-Warning: {}\r\n", notes.warning);
  if (notes.state_age)
    headers += Format("Fabric-State-Age-Seconds: {}\r\n", notes.state_age->count());
  if (!notes.leader.empty()) headers += Format("Fabric-Leader: {}\r\n", notes.leader);
  return headers;
}

}  // namespace

HttpResponse RestService::Answer(const HttpRequest& request, const RestCall& call) const {
  const std::unique_ptr<google::protobuf::Message> answer(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(call.method->output_type())
          ->New());
  AnswerNotes notes;
  const Status status = call_({.caller = request.caller, .transport = "rest", .notes = &notes},
                              *call.method, *call.request, *answer);
  HttpResponse response;
  if (!status.ok()) response = ErrorResponse(HttpStatus(status.code()), status);
  response.headers = HeadersOf(notes);
  if (!status.ok()) return response;
  const JsonStyle style = call.pretty ? JsonStyle::kIndented : JsonStyle::kOneLine;
  const Status printed = AppendJson(*answer, style, response.body, MaskOf(call));
  if (!printed.ok()) return ErrorResponse(HttpStatus(printed.code()), printed);
  response.body += '\n';
  if (request.verb != "GET" && request.verb != "HEAD") return response;
  response.etag = WeakTag(response.body);
  response.compress = true;
  return Negotiate(std::move(response), request);
}

std::variant<std::uint64_t, HttpResponse> RestService::Admit(const HttpRequest& request) const {
  const Status status = guard_.Check(request.headers);
  if (!status.ok()) return ErrorResponse(HttpStatus(status.code()), status);
  const Route* const route = router_.Find(request.verb, request.target);
  return route == nullptr ? std::uint64_t{1} << 10 : BodyBytesMax(*route);
}

std::variant<HttpResponse, EventStreamStart, StreamedResponse> RestService::Handle(
    const HttpRequest& request) const {
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
    if (verb == "GET") {
      const Status admitted = page->admit ? page->admit(request.caller) : Status();
      return admitted.ok() ? Negotiate(page->get(), request)
                           : ErrorResponse(HttpStatus(admitted.code()), admitted);
    }
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
  if (WantsMatrix(request, *call.request) && !head)
    return Compressed(StreamMatrix(call_, call, request.caller), request);
  if (WantsResults(*call.request) && !head)
    return Compressed(StreamCampaign(call_, call, request.caller), request);
  if (!call.method->server_streaming()) return Answer(request, call);
  return Watch(request, call, head);
}

// The call checks the caller; the connection streams.
std::variant<HttpResponse, EventStreamStart, StreamedResponse> RestService::Watch(
    const HttpRequest& request, const RestCall& call, bool head) const {
  v1::Event ignored;
  AnswerNotes notes;
  const Status admitted = call_({.caller = request.caller, .transport = "rest", .notes = &notes},
                                *call.method, *call.request, ignored);
  if (!admitted.ok()) {
    HttpResponse response = ErrorResponse(HttpStatus(admitted.code()), admitted);
    response.headers = HeadersOf(notes);
    return response;
  }
  if (head) return HttpResponse{.content_type = "text/event-stream"};
  auto watch = WatchRequest(request, call);
  if (!watch.ok()) return ErrorResponse(HttpStatus(watch.status().code()), watch.status());
  return EventStreamStart{.request = *std::move(watch), .caller = request.caller};
}

bool RestService::MayWatch(const access::Caller& caller) const {
  v1::Event ignored;
  const Status status = Caught([&] {
    return call_({.caller = caller, .transport = kRecheck},
                 *MethodOf(*v1::WatchEventsRequest::descriptor()), v1::WatchEventsRequest(),
                 ignored);
  });
  return status.ok();
}

}  // namespace fabric::api
