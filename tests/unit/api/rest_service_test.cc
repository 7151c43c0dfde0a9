#include "daemon/api/rest/rest_service.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "fabric/v1/fabric.pb.h"
#include "proto/json.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Answers GetNode for "n1" alone, every other call with an empty message.
Status FakeApi(const CallContext& context, const google::protobuf::MethodDescriptor& method,
               const google::protobuf::Message& request, google::protobuf::Message& response) {
  EXPECT_EQ(context.transport, "rest");
  if (method.name() == "ListNodes" && context.notes != nullptr)
    *context.notes = {.warning = "cut off", .state_age = std::chrono::seconds(7)};
  if (method.name() != "GetNode") return {};
  const auto& get = static_cast<const v1::GetNodeRequest&>(request);
  if (get.name() != "n1") return {Code::kNotFound, "no node '" + get.name() + "'"};
  auto& node = static_cast<v1::GetNodeResponse&>(response);
  node.mutable_summary()->set_name("n1");
  node.mutable_summary()->set_ports(2);
  return {};
}

RestService ServiceUnderTest() {
  const auto* const service = v1::Event::descriptor()->file()->FindServiceByName("Fabric");
  return {
      FakeApi,
      *RoutesOf(*service),
      {{"/healthz", [] { return HttpResponse{.content_type = "text/plain", .body = "ok\n"}; }}}};
}

HttpResponse Answer(const HttpRequest& request) {
  auto answer = ServiceUnderTest().Handle(request);
  if (auto* const response = std::get_if<HttpResponse>(&answer)) return std::move(*response);
  ADD_FAILURE() << request.target << " is a stream";
  return {};
}

TEST(RestService, AnswersWithJsonInTheNamesOfTheSchema) {
  const HttpResponse response = Answer({.verb = "GET", .target = "/v1/nodes/n1"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_THAT(response.body, HasSubstr("{\"summary\":{\"name\":\"n1\","));
  EXPECT_THAT(response.body, HasSubstr("\"ports\":2,"));
  EXPECT_THAT(response.body, HasSubstr("\"gpus\":0,")) << "0 is a value, not an absent one";
  EXPECT_TRUE(response.body.ends_with("}}\n"));
  EXPECT_THAT(Answer({.verb = "GET", .target = "/v1/nodes/n1?pretty"}).body,
              HasSubstr("\n  \"name\": \"n1\""));
}

TEST(RestService, AnAnswerThatCanBeOutOfDateSaysSo) {
  EXPECT_THAT(Answer({.verb = "GET", .target = "/v1/nodes"}).headers,
              AllOf(HasSubstr("Fabric-Warning: cut off\r\n"),
                    HasSubstr("Fabric-State-Age-Seconds: 7\r\n")));
  EXPECT_THAT(Answer({.verb = "GET", .target = "/v1/nodes/n1"}).headers,
              Not(HasSubstr("Fabric-Warning")));
}

TEST(RestService, AnswersHaveATagUntilTheyChange) {
  const HttpResponse first = Answer({.verb = "GET", .target = "/v1/nodes/n1"});
  ASSERT_TRUE(first.etag.starts_with("W/\"")) << first.etag;
  const HttpResponse same =
      Answer({.verb = "GET", .target = "/v1/nodes/n1", .if_none_match = first.etag});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  const HttpResponse other =
      Answer({.verb = "GET", .target = "/v1/nodes/n1?pretty", .if_none_match = first.etag});
  EXPECT_EQ(other.status, 200);
  EXPECT_NE(other.etag, first.etag);
  EXPECT_EQ(Answer({.verb = "GET", .target = "/v1/nodes/n9"}).etag, "") << "an error";
  EXPECT_EQ(Answer({.verb = "POST", .target = "/v1/validate", .body = "{}"}).etag, "");
  const HttpResponse deleted =
      Answer({.verb = "DELETE", .target = "/v1/nodes/n2", .if_none_match = "*"});
  EXPECT_EQ(deleted.status, 200) << "only GET and HEAD are conditional";
  EXPECT_EQ(deleted.etag, "");
}

TEST(RestService, FailuresCarryTheHttpStatusAndTheCode) {
  const HttpResponse response = Answer({.verb = "GET", .target = "/v1/nodes/n9"});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "{\"code\":5,\"message\":\"no node 'n9'\",\"status\":\"NOT_FOUND\"}\n");
  EXPECT_EQ(Answer({.verb = "GET", .target = "/nowhere"}).status, 404);
  EXPECT_EQ(Answer({.verb = "PUT", .target = "/v1/nodes"}).allow, "GET, HEAD, OPTIONS");
}

TEST(RestService, HeadAndOptionsWorkEverywhere) {
  EXPECT_EQ(Answer({.verb = "HEAD", .target = "/v1/nodes/n1"}).status, 200);
  EXPECT_EQ(Answer({.verb = "HEAD", .target = "/healthz"}).body, "ok\n");
  const HttpResponse options = Answer({.verb = "OPTIONS", .target = "/v1/campaigns"});
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.allow, "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(Answer({.verb = "OPTIONS", .target = "/healthz"}).allow, "GET, HEAD, OPTIONS");
  EXPECT_EQ(Answer({.verb = "OPTIONS", .target = "/nowhere"}).status, 404);
  EXPECT_EQ(Answer({.verb = "POST", .target = "/healthz"}).status, 405);
}

TEST(RestService, EventsResumeByParameterOrHeader) {
  const auto after = [](const HttpRequest& request) {
    return std::get<EventStreamStart>(ServiceUnderTest().Handle(request)).request;
  };
  EXPECT_EQ(after({.verb = "GET", .target = "/v1/events"}).after_sequence(), 0u);
  EXPECT_EQ(after({.verb = "GET", .target = "/v1/events?after_sequence=7"}).after_sequence(), 7u);
  EXPECT_EQ(after({.verb = "GET", .target = "/v1/events?after_cursor=ab-7"}).after_cursor(),
            "ab-7");
  const auto by_header =
      after({.verb = "GET", .target = "/v1/events?after_cursor=ab-7", .last_event_id = "ab-9"});
  EXPECT_EQ(by_header.after_cursor(), "ab-9");
  const auto filtered = after({.verb = "GET",
                               .target = "/v1/events?filter=kind%3Dnode&nodes=n1&nodes=n2",
                               .last_event_id = "ab-9"});
  EXPECT_EQ(filtered.filter(), "kind=node") << "of a browser that connects again";
  EXPECT_EQ(filtered.nodes_size(), 2);
  EXPECT_EQ(after({.verb = "GET", .target = "/v1/events", .last_event_id = "9"}).after_sequence(),
            9u);
  EXPECT_EQ(Answer({.verb = "GET", .target = "/v1/events", .last_event_id = "x"}).status, 400);
  EXPECT_EQ(Answer({.verb = "HEAD", .target = "/v1/events"}).content_type, "text/event-stream");
}

TEST(ServerSentEvent, HasIdNameAndOneLineOfData) {
  v1::Event event;
  event.set_sequence(12);
  event.set_cursor("ab-12");
  event.mutable_port()->set_node("n1");
  EXPECT_EQ(ServerSentEvent(event),
            "id: ab-12\nevent: port\ndata: " + ToJson(event, false) + "\n\n");
}

}  // namespace
}  // namespace fabric::api
