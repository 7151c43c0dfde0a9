// Roles, tokens, authors and the audit log through both real fronts, on loopback.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/secret.h"
#include "daemon/access/tokens.h"
#include "fabric/v1/agent.grpc.pb.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "tests/testing/raw_client.h"
#include "tests/unit/api/controller_world.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;
using testing::HttpBody;
using testing::HttpExchange;
using ::testing::Not;
using ::testing::StartsWith;

// The loopback caller is a viewer; roles above come from tokens, whose text is their name.
class AccessFronts : public ::testing::Test {
 protected:
  AccessFronts()
      : world_({}, {v1::ROLE_VIEWER}),
        channel_(grpc::CreateChannel(world_.grpc_address(), grpc::InsecureChannelCredentials())),
        stub_(v1::Fabric::NewStub(channel_)) {
    std::string lines;
    const std::pair<const char*, v1::Role> tokens[] = {
        {"operator", v1::ROLE_OPERATOR}, {"admin", v1::ROLE_ADMIN}, {"metrics", v1::ROLE_METRICS}};
    for (const auto& [name, role] : tokens)
      lines += TokenLine({.name = name, .hash = HashOfSecret(name), .roles = {role}});
    world_.authenticator().SetTokens(*access::TokenList::Parse(lines, "tokens"));
  }

  static void AddToken(grpc::ClientContext& context, const std::string& token) {
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  }
  grpc::StatusCode CancelOverGrpc(const std::string& token) {
    grpc::ClientContext context;
    AddToken(context, token);
    v1::CancelCampaignRequest request;
    request.set_id("c1");
    v1::Campaign response;
    return stub_->CancelCampaign(&context, request, &response).error_code();
  }
  // The whole answer.
  std::string Rest(const std::string& verb, const std::string& target, const std::string& token,
                   const std::string& body = {}) {
    std::string request = verb + " " + target +
                          " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                          "Content-Type: application/json\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n";
    if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
    return HttpExchange(world_.rest_port(), request + "\r\n" + body);
  }
  // The first answer of server reflection to "list services", or how the call ends.
  std::string Reflection(const std::string& token) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    AddToken(context, token);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(
        &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
    const auto step = [&] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
      return ok;
    };
    call->StartCall(this);
    const std::string list_services("\x3a\x00", 2);  // Field 7, empty
    const grpc::Slice slice(list_services);
    std::string text;
    grpc::ByteBuffer answer;
    if (step()) {
      call->Write(grpc::ByteBuffer(&slice, 1), this);
      if (step()) {
        call->Read(&answer, this);
        grpc::Slice whole;
        if (step() && answer.DumpToSingleSlice(&whole).ok())
          text.assign(whole.begin(), whole.end());
      }
    }
    context.TryCancel();
    grpc::Status status;
    call->Finish(&status, this);
    step();
    return text;
  }

  testing::ControllerWorld world_;
  decltype(grpc::CreateChannel({}, nullptr)) channel_;
  std::unique_ptr<v1::Fabric::Stub> stub_;
};

TEST_F(AccessFronts, RolesDecideOnBothTransports) {
  EXPECT_EQ(CancelOverGrpc(""), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CancelOverGrpc("metrics"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CancelOverGrpc("guess"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(CancelOverGrpc("operator"), grpc::StatusCode::NOT_FOUND) << "permitted";
  const std::string target = "/v1/campaigns/c1:cancel";
  EXPECT_THAT(Rest("POST", target, ""), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Rest("POST", target, ""),
              HasSubstr("CancelCampaign: expected role operator, loopback has viewer"));
  EXPECT_THAT(Rest("POST", target, "guess"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Rest("POST", target, "guess"), HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(Rest("POST", target, "operator"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Rest("GET", "/v1/nodes", ""), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Rest("GET", "/v1/nodes", "metrics"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Rest("GET", "/v1/campaigns/c1?include_results=true", "metrics"),
              StartsWith("HTTP/1.1 403 "));
}

// A burst is 5 s of the rate.
TEST_F(AccessFronts, CallsAreLimitedByRoleOnBothTransports) {
  world_.gate().SetLimits(*access::RoleLimits::Parse({"viewer.per-second=1"}));
  const auto over_grpc = [&] {
    grpc::ClientContext context;
    v1::GetVersionResponse response;
    return stub_->GetVersion(&context, {}, &response);
  };
  int good = 0;
  grpc::Status refused;
  // A slow machine returns calls meanwhile.
  while (good < 1'000 && (refused = over_grpc()).ok()) ++good;
  EXPECT_GE(good, 5);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "loopback: expected at most 1 calls per second with the role viewer (setting "
            "role-limits, viewer.per-second)");
  std::string answer;
  for (int call = 0; call < 1'000 && !answer.starts_with("HTTP/1.1 429 "); ++call)
    answer = Rest("GET", "/v1/nodes", "");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(answer, HasSubstr("viewer.per-second"));
  EXPECT_EQ(CancelOverGrpc("operator"), grpc::StatusCode::NOT_FOUND) << "another identity";
  EXPECT_THAT(Rest("GET", "/metrics", ""), Not(HasSubstr("{reason=\"limit\"} 0\n")));
}

TEST_F(AccessFronts, ASecondAuthorizationHeaderDoesNotCount) {
  grpc::ClientContext context;
  AddToken(context, "operator");
  AddToken(context, "guess");
  v1::GetVersionResponse response;
  EXPECT_EQ(stub_->GetVersion(&context, {}, &response).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(HttpExchange(world_.rest_port(),
                           "GET /v1/nodes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           "Authorization: Bearer operator\r\nAuthorization: Bearer guess\r\n\r\n"),
              StartsWith("HTTP/1.1 401 "));
}

TEST_F(AccessFronts, WatchersNeedTheRoleOfAViewer) {
  grpc::ClientContext denied;
  AddToken(denied, "metrics");
  v1::Event event;
  const auto refused = stub_->WatchEvents(&denied, {});
  EXPECT_FALSE(refused->Read(&event));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(Rest("GET", "/v1/events", "metrics"), StartsWith("HTTP/1.1 403 "));
  grpc::ClientContext context;
  const auto reader = stub_->WatchEvents(&context, {});
  reader->WaitForInitialMetadata();
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  testing::RawClient watcher(world_.rest_port());
  watcher.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(watcher.ReadUntil("retry: 1000\n\n"), HasSubstr("text/event-stream"));
}

// Takes 10 to 15 s: watchers are checked again that often.
TEST_F(AccessFronts, WatchersEndWhenTheirTokenIsRevoked) {
  grpc::ClientContext revoked, unaffected;
  AddToken(revoked, "admin");
  revoked.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(120, GPR_TIMESPAN)));
  const auto reader = stub_->WatchEvents(&revoked, {});
  reader->WaitForInitialMetadata();
  const auto other = stub_->WatchEvents(&unaffected, {});
  other->WaitForInitialMetadata();
  testing::RawClient page(world_.rest_port());
  page.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin\r\n\r\n");
  ASSERT_THAT(page.ReadUntil("retry: 1000\n\n"), HasSubstr("text/event-stream"));
  world_.authenticator().SetTokens({});
  const auto begin = std::chrono::steady_clock::now();
  v1::Event event;
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  page.ReadToEnd();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(110));
  unaffected.TryCancel();
  while (other->Read(&event)) {
  }
  EXPECT_EQ(other->Finish().error_code(), grpc::StatusCode::CANCELLED) << "has no token";
}

TEST_F(AccessFronts, ReflectionNeedsTheRoleOfAViewer) {
  EXPECT_THAT(Reflection(""), HasSubstr("fabric.v1.Fabric"));
  EXPECT_EQ(Reflection("metrics"), "");
  EXPECT_EQ(Reflection("guess"), "");
  const auto entries = *world_.audit().Before(0, 9);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].method(), "ServerReflectionInfo");
  EXPECT_EQ(entries[1].identity(), "metrics");
}

TEST_F(AccessFronts, MetricsNeedTheirRole) {
  EXPECT_THAT(Rest("GET", "/metrics", ""), StartsWith("HTTP/1.1 200 ")) << "a viewer";
  EXPECT_THAT(Rest("GET", "/metrics", "metrics"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Rest("GET", "/metrics", "guess"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Rest("HEAD", "/metrics", "guess"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Rest("GET", "/metrics", ""),
              HasSubstr("fabric_access_refused_total{reason=\"unauthenticated\"} 2\n"));
  EXPECT_THAT(Rest("GET", "/v1/nodes", "metrics"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Rest("GET", "/metrics", ""),
              HasSubstr("fabric_access_refused_total{reason=\"denied\"} 1\n"));
}

TEST_F(AccessFronts, AgentsNeedTheirRole) {
  grpc::ClientContext context;
  const auto stub = v1::AgentLink::NewStub(channel_);
  const auto stream = stub->Connect(&context);
  v1::ControllerMessage message;
  EXPECT_FALSE(stream->Read(&message));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "Connect: expected role agent, loopback has viewer");
}

TEST_F(AccessFronts, TheAuthorIsTheIdentity) {
  const std::string silence =
      R"({"silence":{"rule":"node_connected","reason":"test","author":"mallory"},
          "duration_seconds":60})";
  const std::string made = Rest("POST", "/v1/silences", "operator", silence);
  EXPECT_THAT(made, StartsWith("HTTP/1.1 200 ")) << made;
  EXPECT_THAT(made, HasSubstr("\"author\":\"operator\""));
  const auto entries = *world_.audit().Before(0, 9);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].identity(), "operator");
  EXPECT_EQ(entries[0].method(), "CreateSilence");
  EXPECT_THAT(entries[0].target(), StartsWith("silences/s"));
  EXPECT_THAT(entries[0].address(), StartsWith("127.0.0.1:"));
  EXPECT_EQ(entries[0].outcome(), v1::AUDIT_OUTCOME_OK);
  EXPECT_THAT(entries[0].request(), HasSubstr("mallory")) << "the request as it was";
}

TEST_F(AccessFronts, TheAuditLogIsReadInPages) {
  for (int i = 0; i < 3; ++i) (void)CancelOverGrpc("");  // Denied
  grpc::ClientContext context;
  AddToken(context, "admin");
  v1::ListAuditEntriesRequest request;
  request.set_page_size(2);
  v1::ListAuditEntriesResponse page;
  ASSERT_TRUE(stub_->ListAuditEntries(&context, request, &page).ok());
  ASSERT_EQ(page.entries_size(), 2);
  EXPECT_EQ(page.entries(0).sequence(), 3u);
  request.set_page_token(page.next_page_token());
  grpc::ClientContext second;
  AddToken(second, "admin");
  page.Clear();
  ASSERT_TRUE(stub_->ListAuditEntries(&second, request, &page).ok());
  ASSERT_EQ(page.entries_size(), 1) << "the list itself is newer than the first page";
  EXPECT_EQ(page.entries(0).sequence(), 1u);
  EXPECT_EQ(page.next_page_token(), "");
  const std::string filtered =
      HttpBody(Rest("GET", "/v1/audit?filter=outcome=denied&fields=sequence,method", "admin"));
  EXPECT_THAT(filtered, HasSubstr("{\"sequence\":\"3\",\"method\":\"CancelCampaign\"}"));
  EXPECT_THAT(filtered, Not(HasSubstr("ListAuditEntries")));
  EXPECT_THAT(HttpBody(Rest("GET", "/v1/audit:verify", "admin")),
              HasSubstr("\"broken_sequence\":\"0\""));
  EXPECT_THAT(Rest("GET", "/v1/audit", "operator"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(AccessFronts, CallersSeeWhoTheyAre) {
  EXPECT_THAT(HttpBody(Rest("GET", "/v1/identity", "operator")),
              HasSubstr("{\"name\":\"operator\",\"roles\":[\"ROLE_OPERATOR\"],"
                        "\"credential\":\"CREDENTIAL_TOKEN\""));
  EXPECT_THAT(HttpBody(Rest("GET", "/v1/identity", "")), HasSubstr("CREDENTIAL_NONE"));
}

}  // namespace
}  // namespace fabric::api
