// Requests of clients at their bounds and beyond, for each method and route, against the real
// process: memory stays within the budget, health answers, and an honest agent stays connected.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "google/api/annotations.pb.h"
#include "proto/bounds.h"
#include "proto/fabric_service.h"
#include "proto/json.h"
#include "tests/hostile/bombs.h"
#include "tests/hostile/victim.h"
#include "tests/testing/raw_client.h"

namespace fabric::testing {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kElements = 100'000;
constexpr std::size_t kTextBytes = 1'000'000;
// Of the longest turn. On a busy machine a turn can stand still for a while.
constexpr double kTurnMaxSeconds = 1;

// Beyond the bounds of its lists and texts, one at a time.
struct Bomb {
  std::string name;
  std::unique_ptr<Message> request;
};

std::vector<Bomb> BombsFor(const MethodDescriptor& method, int elements) {
  std::vector<Bomb> bombs;
  for (const Path& path : ListsOf(*method.input_type())) {
    bombs.push_back({path.back()->full_name(), NewMessage(*method.input_type())});
    FillList(path, elements, *bombs.back().request);
  }
  for (const Path& path : TextsOf(*method.input_type())) {
    bombs.push_back({path.back()->full_name(), NewMessage(*method.input_type())});
    FillText(path, kTextBytes, *bombs.back().request);
  }
  return bombs;
}

// A call of any method, without its generated stub.
class RawStub {
 public:
  explicit RawStub(const Victim& victim) : stub_(victim.DialRaw()) {}

  grpc::Status Call(const MethodDescriptor& method, const Message& request) {
    grpc::ByteBuffer out, in;
    bool own = false;
    if (!grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(request, &out, &own).ok())
      return {grpc::StatusCode::INTERNAL, "cannot serialize"};
    grpc::ClientContext context;
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<grpc::Status> result;
    stub_->UnaryCall(&context, "/" + method.service()->full_name() + "/" + method.name(),
                     grpc::StubOptions(), &out, &in, [&](grpc::Status status) {
                       const std::lock_guard lock(mutex);
                       result = std::move(status);
                       ended.notify_all();
                     });
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return result.has_value(); });
    return *result;
  }

 private:
  std::unique_ptr<Victim::RawStub> stub_;
};

struct HttpRoute {
  std::string verb;
  std::string path;  // With values for the fields
  bool body = false;
};

HttpRoute RouteOf(const MethodDescriptor& method) {
  const auto& rule = method.options().GetExtension(google::api::http);
  HttpRoute route{.verb = rule.has_get()       ? "GET"
                          : rule.has_delete_() ? "DELETE"
                                               : "POST",
                  .path = rule.has_get()       ? rule.get()
                          : rule.has_delete_() ? rule.delete_()
                                               : rule.post(),
                  .body = rule.body() == "*"};
  route.path = std::regex_replace(route.path, std::regex("\\{[a-z_]+\\}"), "x1");
  return route;
}

std::string StatusLine(const std::string& answer) {
  return answer.substr(0, answer.find('\r'));
}

class HostileRequests : public HostileCase {
 protected:
  // And no turn was long.
  void ExpectWell(const std::string& after) {
    HostileCase::ExpectWell(after);
    SCOPED_TRACE("after " + after);
    const std::string metrics = victim_.Metrics();
    const std::regex line(
        "fabric_controller_longest_turn_seconds\\{kind=\"(\\w+)\",since=\"start\"\\} "
        "([0-9.e-]+)");
    std::size_t kinds = 0;
    for (std::sregex_iterator at(metrics.begin(), metrics.end(), line), end; at != end;
         ++at, ++kinds)
      EXPECT_LT(std::stod((*at)[2]), kTurnMaxSeconds) << (*at)[1];
    EXPECT_GT(kinds, 3u);
  }
  static std::vector<const MethodDescriptor*> Methods() {
    std::vector<const MethodDescriptor*> methods;
    for (int n = 0; n < FabricService().method_count(); ++n)
      methods.push_back(FabricService().method(n));
    return methods;
  }
};

TEST_F(HostileRequests, EachMethodRefusesListsAndTextsBeyondTheirBounds) {
  RawStub stub(victim_);
  std::size_t count = 0;
  for (const MethodDescriptor* const method : Methods()) {
    if (method->server_streaming()) continue;
    for (const Bomb& bomb : BombsFor(*method, kElements)) {
      const grpc::Status status = stub.Call(*method, *bomb.request);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
          << method->name() << " " << bomb.name << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr("expected at most")) << bomb.name;
      ++count;
    }
  }
  EXPECT_GT(count, 100u);
  ExpectWell("requests beyond their bounds");
}

TEST_F(HostileRequests, EachRouteRefusesBodiesBeyondTheirBounds) {
  std::size_t count = 0;
  for (const MethodDescriptor* const method : Methods()) {
    const HttpRoute route = RouteOf(*method);
    if (!route.body) continue;
    for (const Bomb& bomb : BombsFor(*method, 20'000)) {
      const std::string answer = victim_.Post(route.path, ToJson(*bomb.request, false));
      EXPECT_THAT(StatusLine(answer), HasSubstr(" 4")) << route.path << " " << bomb.name;
      ++count;
    }
  }
  EXPECT_GT(count, 20u);
  ExpectWell("bodies beyond their bounds");
}

TEST_F(HostileRequests, EachRouteRefusesWhatIsNoRequest) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string wide(900'000, 'y');
  for (const MethodDescriptor* const method : Methods()) {
    const HttpRoute route = RouteOf(*method);
    if (route.body) {
      for (const std::string& body : {deep, "\"" + wide + "\"", std::string("\xff\xfe{}")})
        EXPECT_THAT(StatusLine(victim_.Post(route.path, body)),
                    AnyOf(HasSubstr(" 400 "), HasSubstr(" 413 ")))
            << route.path;
    }
    if (route.verb != "GET" || method->server_streaming()) continue;
    std::string query = "?";
    for (int n = 0; n < 2'000; ++n) query += "filter=x&";
    for (const std::string& target : {route.path + query, route.path + "?filter=" + wide,
                                      route.path + "/" + wide, route.path + "?page_token=%00%ff"})
      // A server that refuses a long head may close before the client has sent all of it.
      EXPECT_THAT(StatusLine(victim_.Get(target)), AnyOf(HasSubstr(" 4"), ""))
          << target.substr(0, 60);
  }
  ExpectWell("nonsense");
}

TEST_F(HostileRequests, AnnouncedBodiesAreNotAwaitedWithoutLimit) {
  const std::string head =
      "POST /v1/campaigns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_THAT(HttpExchange(victim_.rest_port(), head + "Content-Length: 4000000000\r\n\r\n"),
              HasSubstr(" 413 "));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int n = 0; n < 300; ++n) {
    clients.push_back(std::make_unique<RawClient>(victim_.rest_port()));
    clients.back()->Send(head +
                         "Content-Length: 1000000\r\n\r\n{\"spec\":" + std::string(900'000, ' '));
  }
  ExpectWell("half-sent bodies");
  clients.clear();
  EXPECT_THAT(victim_.Get("/v1/version"), HasSubstr("200 OK"));
}

TEST_F(HostileRequests, WatchersThatDoNotReadAreBounded) {
  std::vector<std::unique_ptr<RawClient>> watchers;
  for (int n = 0; n < 200; ++n) {
    watchers.push_back(std::make_unique<RawClient>(victim_.rest_port()));
    watchers.back()->Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_THAT(watchers.back()->ReadUntil("\r\n"),
              AnyOf(StartsWith("HTTP/1.1 429"), StartsWith("HTTP/1.1 503")));
  Peer peer(victim_, "toggles");
  v1::AgentMessage message;
  for (int device = 0; device < 500; ++device) {
    v1::RdmaDevice& made = *message.mutable_snapshot()->add_rdma_devices();
    made.set_name("mlx5_" + std::to_string(device));
    made.add_ports()->set_number(1);
  }
  for (int round = 0; round < 20; ++round) {
    for (v1::RdmaDevice& device : *message.mutable_snapshot()->mutable_rdma_devices())
      device.mutable_ports(0)->set_state(round % 2 == 0 ? v1::PORT_STATE_ACTIVE
                                                        : v1::PORT_STATE_DOWN);
    peer.Say(message);
  }
  ExpectWell("watchers that do not read");
}

TEST_F(HostileRequests, ManyCallsAtOnceAreServedOrRefused) {
  constexpr int kCalls = 2'000;
  const auto stub = victim_.DialAsClient();
  std::mutex mutex;
  std::condition_variable ended;
  int left = kCalls;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<v1::ListFindingsResponse> answers(kCalls);
  const v1::ListFindingsRequest request;
  for (v1::ListFindingsResponse& answer : answers) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    stub->async()->ListFindings(contexts.back().get(), &request, &answer, [&](grpc::Status) {
      const std::lock_guard lock(mutex);
      if (--left == 0) ended.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return left == 0; });
  }
  ExpectWell("many calls at once");
}

}  // namespace
}  // namespace fabric::testing
