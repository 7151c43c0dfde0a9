#include "daemon/api/rest/rest_server.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "daemon/control/events.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/fabric_service.h"
#include "tests/testing/raw_client.h"

namespace fabric::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::HttpBody;
using testing::HttpExchange;
using testing::HttpGet;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;

Status EmptyAnswer(const CallContext&, const google::protobuf::MethodDescriptor&,
                   const google::protobuf::Message&, google::protobuf::Message&) {
  return {};
}

v1::Event LivePortEvent(const std::string& node) {
  v1::Event event;
  event.mutable_port()->set_node(node);
  return event;
}

class RestServerTest : public ::testing::Test {
 protected:
  RestServerTest()
      : service_(EmptyAnswer, *RoutesOf(FabricService()),
                 {{"/healthz",
                   [] { return HttpResponse{.content_type = "text/plain", .body = "ok\n"}; }}}) {}

  std::uint16_t Serve(const RestLimits& limits = {}) {
    auto server = RestServer::Listen({"127.0.0.1", 0}, service_, bus_, watchers_, limits);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    return server_->address().port;
  }

  control::EventBus bus_{0xab};
  PeerSlots watchers_{"event watchers", {.total = 256, .per_peer = 64}};
  RestService service_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(RestServerTest, AnswersAndKeepsTheConnection) {
  const std::uint16_t port = Serve();
  RawClient client(port);
  client.Send("GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("}\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  client.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string both = client.ReadToEnd();
  EXPECT_THAT(both, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_THAT(both, HasSubstr("\r\n\r\nok\n"));
}

TEST_F(RestServerTest, PipelinedRequestsAreAnsweredInOrder) {
  const std::string answer = HttpExchange(
      Serve(), "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nowhere HTTP/1.0\r\n\r\n");
  EXPECT_LT(answer.find("200 OK"), answer.find("404 Not Found"));
  EXPECT_NE(answer.find("404 Not Found"), answer.npos);
}

TEST_F(RestServerTest, HeadHasTheLengthAndNoBody) {
  const std::string answer = HttpExchange(
      Serve(), "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_EQ(HttpBody(answer), "");
}

TEST_F(RestServerTest, OptionsAndWrongMethodsNameTheRightOnes) {
  const std::uint16_t port = Serve();
  const std::string options = HttpExchange(
      port, "OPTIONS /v1/nodes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(options, StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(options, HasSubstr("Allow: GET, HEAD, OPTIONS\r\n"));
  EXPECT_THAT(options, Not(HasSubstr("Content-Length")));
  const std::string wrong =
      HttpExchange(port, "BREW /v1/nodes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(wrong, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(wrong, HasSubstr("saw 'BREW'"));
}

TEST_F(RestServerTest, MalformedAndOversizedRequestsAreRefused) {
  const std::uint16_t port = Serve({.header_bytes_max = 1024, .body_bytes_max = 100});
  EXPECT_THAT(HttpExchange(port, "what is this\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(HttpExchange(port, "GET / HTTP/1.1\r\nX: " + std::string(5000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  const std::string huge = HttpExchange(
      port,
      "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\n\r\n" +
          std::string(100'000, 'x'));
  EXPECT_THAT(huge, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(huge, HasSubstr("at most 100 bytes"));
  EXPECT_THAT(HttpGet(port, "/healthz"), HasSubstr("200 OK"));
}

TEST_F(RestServerTest, ASlowClientIsCutOff) {
  RawClient client(Serve({.header_timeout = 50ms}));
  client.Send("GET /healthz HT");
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(RestServerTest, TooManyConnectionsAreToldSo) {
  const std::uint16_t port = Serve({.connections = {.total = 9, .per_peer = 1}});
  RawClient first(port);
  first.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  first.ReadUntil("ok\n");
  EXPECT_THAT(HttpGet(port, "/healthz"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(RestServerTest, EventsStreamAndResume) {
  const std::uint16_t port = Serve();
  RawClient watcher(port);
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(watcher.ReadUntil("retry: 1000\n\n"), HasSubstr("text/event-stream"));
  bus_.Publish(LivePortEvent("n1"));
  bus_.Publish(LivePortEvent("n2"));
  const std::string seen = watcher.ReadUntil("\"cursor\":\"ab-2\"");
  EXPECT_THAT(seen, HasSubstr("id: ab-1\nevent: port\ndata: {\"sequence\":\"1\",\"port\":"));
  EXPECT_THAT(seen, HasSubstr("id: ab-2\n"));

  RawClient resumed(port);
  resumed.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: ab-1\r\n\r\n");
  const std::string rest = resumed.ReadUntil("\"cursor\":\"ab-2\"");
  EXPECT_THAT(rest, Not(HasSubstr("\"n1\"")));
  EXPECT_THAT(rest, HasSubstr("id: ab-2\n"));
}

// More events than one look of the bus.
TEST_F(RestServerTest, EventsAreFiltered) {
  const std::uint16_t port = Serve();
  for (int i = 0; i < 2500; ++i) bus_.Publish(LivePortEvent("n1"));
  bus_.Publish(LivePortEvent("n2"));
  RawClient watcher(port);
  watcher.Send(
      "GET /v1/events?after_sequence=1&filter=port.node%3Dn2 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string seen = watcher.ReadUntil("\"cursor\":\"ab-2501\"");
  EXPECT_THAT(seen, Not(HasSubstr("\"n1\"")));
}

TEST_F(RestServerTest, AnIdleEventStreamHasHeartbeats) {
  RawClient watcher(Serve({.heartbeat = 20ms}));
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(watcher.ReadUntil(": heartbeat\n\n: heartbeat\n\n"), HasSubstr(": heartbeat"));
}

TEST_F(RestServerTest, AWatcherThatDoesNotReadIsDropped) {
  RawClient watcher(Serve({.heartbeat = 50ms}));
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  watcher.ReadUntil("retry: 1000\n\n");
  const v1::Event big = LivePortEvent(std::string(4000, 'x'));
  for (int i = 0; i < 20'000; ++i) bus_.Publish(big);
  // It reads nothing until it is dropped: a watcher that reads again would stay.
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  std::promise<void> never;
  const std::future<void> wait = never.get_future();
  while (watchers_.used() > 0 && std::chrono::steady_clock::now() < deadline) wait.wait_for(10ms);
  EXPECT_EQ(watchers_.used(), 0u);
  EXPECT_LT(watcher.ReadToEnd().size(), 20'000u * 4000u);
}

TEST_F(RestServerTest, TooManyWatchersLeaveRoomForOthers) {
  const std::uint16_t port = Serve();
  std::vector<PeerSlot> others;
  for (int n = 0; n < 63; ++n) others.push_back(*watchers_.Take("127.0.0.1:1"));
  RawClient watcher(port);
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  watcher.ReadUntil("retry");
  const std::string refused = HttpGet(port, "/v1/events");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("too many event watchers from 127.0.0.1: expected at most 64"));
  EXPECT_THAT(HttpGet(port, "/healthz"), HasSubstr("200 OK"));
}

TEST_F(RestServerTest, AHalfSentBodyIsCutOff) {
  const std::uint16_t port = Serve({.body_timeout = 50ms});
  RawClient client(port);
  client.Send(
      "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(RestServerTest, BodiesThatAreBeingSentAreBoundedTogether) {
  const std::uint16_t port = Serve({.all_bodies_bytes_max = 1000});
  const std::string half =
      "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Connection: close\r\nContent-Length: 900\r\n\r\n{";
  std::string second;
  // The threads of the server can read the second header first, and then refuse the first one.
  while (second.find(" 503 ") == second.npos) {
    RawClient first(port);
    first.Send(half);
    second = HttpExchange(port, half + std::string(899, ' '));
  }
  EXPECT_THAT(second, HasSubstr("expected at most 1000 bytes of bodies"));
  EXPECT_THAT(HttpGet(port, "/healthz"), HasSubstr("200 OK"));
}

TEST_F(RestServerTest, EachRouteHasItsLargestBody) {
  const std::uint16_t port = Serve();
  const auto answer = [&](const std::string& line, std::size_t bytes) {
    return HttpExchange(port, line +
                                  " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                  "Content-Type: application/json\r\nContent-Length: " +
                                  std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, ' '));
  };
  EXPECT_THAT(answer("POST /v1/campaigns", 1 << 20), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer("POST /v1/campaigns", (1 << 20) + 1), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer("POST /v1/validate", 65 << 10), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer("GET /v1/nodes", 2 << 10), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer("GET /v1/nodes", 100), StartsWith("HTTP/1.1 200 "));
}

TEST_F(RestServerTest, PagesOfOtherSitesAreRefused) {
  const std::uint16_t port = Serve();
  const auto post = [&](const std::string& headers) {
    return HttpExchange(port,
                        "POST /v1/validate HTTP/1.1\r\nConnection: close\r\n"
                        "Content-Length: 2\r\n" +
                            headers + "\r\n{}");
  };
  EXPECT_THAT(post("Host: localhost\r\nContent-Type: application/json\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(post("Host: localhost\r\nContent-Type: text/plain\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(post("Host: evil.example\r\nContent-Type: application/json\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(post("Host: localhost\r\nOrigin: http://evil.example\r\n"
                   "Content-Type: application/json\r\n"),
              StartsWith("HTTP/1.1 403 "));
}

TEST_F(RestServerTest, ASlowCallOfAnotherConnectionDoesNotDelayAPage) {
  std::promise<void> go;
  const auto wait = go.get_future().share();
  const RestService slow(EmptyAnswer, *RoutesOf(FabricService()),
                         {{"/slow", [wait] { return wait.wait(), HttpResponse{.body = "slow"}; }},
                          {"/healthz", [] { return HttpResponse{.body = "ok\n"}; }}});
  auto server = *RestServer::Listen({"127.0.0.1", 0}, slow, bus_, watchers_, {.threads = 2});
  RawClient blocked(server->address().port);
  blocked.Send("GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(HttpGet(server->address().port, "/healthz"), HasSubstr("200 OK"));
  go.set_value();
  EXPECT_THAT(blocked.ReadToEnd(), HasSubstr("slow"));
}

TEST_F(RestServerTest, StopsWithConnectionsOpen) {
  const std::uint16_t port = Serve();
  RawClient idle(port);
  RawClient watcher(port);
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  watcher.ReadUntil("retry");
  server_->Stop();
  bus_.Publish(LivePortEvent("n1"));
  EXPECT_THAT(watcher.ReadToEnd(), Not(HasSubstr("n1")));
}

TEST_F(RestServerTest, APortInUseIsNamed) {
  const std::uint16_t port = Serve();
  const auto second = RestServer::Listen({"127.0.0.1", port}, service_, bus_, watchers_, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  const auto nowhere =
      RestServer::Listen({"no.such.host.invalid", 1}, service_, bus_, watchers_, {});
  EXPECT_THAT(nowhere.status().message(), HasSubstr("no.such.host.invalid:1"));
}

}  // namespace
}  // namespace fabric::api
