// The real client against a small service Fabric on a port of the kernel's choice.
#include "ctl/client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "fabric/v1/fabric.grpc.pb.h"

namespace fabric::ctl {
namespace {

class Service final : public v1::Fabric::Service {
 public:
  explicit Service(std::string warning = {}, bool leads = true)
      : warning_(std::move(warning)), leads_(leads) {}

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest*,
                         v1::ListNodesResponse* response) override {
    Warn(*context);
    response->add_nodes()->set_name(warning_.empty() ? "n1" : "old");
    return grpc::Status::OK;
  }
  grpc::Status GetNode(grpc::ServerContext*, const v1::GetNodeRequest* request,
                       v1::GetNodeResponse*) override {
    return {grpc::StatusCode::NOT_FOUND, "no node '" + request->name() + "'"};
  }
  grpc::Status Validate(grpc::ServerContext*, const v1::ValidateRequest*,
                        v1::ValidateResponse*) override {
    return {grpc::StatusCode::PERMISSION_DENIED, "not yours"};
  }
  // Answers when the caller has given up.
  grpc::Status ListRules(grpc::ServerContext* context, const v1::ListRulesRequest*,
                         v1::ListRulesResponse*) override {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::OK;
  }
  // Answers when the caller has seen that it waits.
  grpc::Status InferProfile(grpc::ServerContext* context, const v1::InferProfileRequest*,
                            v1::InferProfileResponse*) override {
    while (!seen_waiting && !context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::OK;
  }
  grpc::Status GetVersion(grpc::ServerContext* context, const v1::GetVersionRequest*,
                          v1::GetVersionResponse*) override {
    if (!leads_)
      return {grpc::StatusCode::UNAVAILABLE,
              "this controller does not lead: no controller leads yet"};
    Warn(*context);
    return grpc::Status::OK;
  }
  grpc::Status CreateSilence(grpc::ServerContext*, const v1::CreateSilenceRequest*,
                             v1::Silence*) override {
    ++changes;
    return grpc::Status::OK;
  }
  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::Event>* writer) override {
    if (request->filter() == "kind=node") {  // An older controller, without events
      writer->SendInitialMetadata();
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
    const auto entry = context->client_metadata().find("fabric-events");
    if (entry != context->client_metadata().end()) {
      context->AddInitialMetadata("fabric-events", {entry->second.data(), entry->second.size()});
      writer->SendInitialMetadata();
    }
    if (request->filter() == "x")
      return {grpc::StatusCode::INVALID_ARGUMENT, "filter: expected FIELD=VALUE"};
    for (std::uint64_t number = 1; number <= 3; ++number) {
      v1::Event event;
      event.set_sequence(request->after_sequence() + number);
      if (!writer->Write(event)) break;
    }
    return grpc::Status::OK;
  }

  std::atomic<int> changes = 0;
  std::atomic<bool> seen_waiting = false;

 private:
  void Warn(grpc::ServerContext& context) const {
    if (!warning_.empty()) context.AddTrailingMetadata("fabric-warning", warning_);
  }

  const std::string warning_;
  const bool leads_;
};

class GrpcClient : public ::testing::Test {
 protected:
  GrpcClient() {
    server_ = Serve(service_, options_.controller);
    options_.timeout = std::chrono::seconds(60);
  }
  static std::unique_ptr<grpc::Server> Serve(Service& service, std::string& address) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    address = Format("127.0.0.1:{}", port);
    return server;
  }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
};

TEST_F(GrpcClient, BringsTheAnswer) {
  const auto response =
      MakeGrpcClient(options_)->Call<v1::ListNodesResponse>(v1::ListNodesRequest());
  ASSERT_TRUE(response.ok()) << response.status().message();
  ASSERT_EQ(response->nodes_size(), 1);
  EXPECT_EQ(response->nodes(0).name(), "n1");
}

TEST_F(GrpcClient, PrefersALeaderThatIsNotCutOff) {
  Service cut_off("the database has not confirmed");
  std::string old_address;
  const auto old_server = Serve(cut_off, old_address);
  const v1::ListNodesRequest request;
  for (const auto& [addresses, answer, warning] :
       {std::tuple(old_address, "old", "the database has not confirmed"),
        std::tuple(old_address + "," + options_.controller, "n1", ""),
        std::tuple(old_address + ",127.0.0.1:1", "old", "the database has not confirmed")}) {
    options_.controller = addresses;
    const auto client = MakeGrpcClient(options_);
    const auto response = client->Call<v1::ListNodesResponse>(request);
    ASSERT_TRUE(response.ok()) << response.status().message();
    EXPECT_EQ(response->nodes(0).name(), answer);
    EXPECT_EQ(client->warning(), warning);
  }
}

TEST_F(GrpcClient, AsksFollowersForReadsWhileNoControllerLeads) {
  Service follower("this controller does not lead; read 3 s ago", false);
  std::string address;
  const auto server = Serve(follower, address);
  options_.controller = "127.0.0.1:1," + address;
  const auto client = MakeGrpcClient(options_);
  const auto response = client->Call<v1::ListNodesResponse>(v1::ListNodesRequest());
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->nodes(0).name(), "old");
  EXPECT_EQ(client->warning(), "this controller does not lead; read 3 s ago");
  const Status change = client->Call<v1::Silence>(v1::CreateSilenceRequest()).status();
  EXPECT_EQ(change.code(), Code::kUnavailable);
  EXPECT_NE(change.message().find("no controller leads yet"), std::string::npos);
  EXPECT_EQ(follower.changes, 0);
}

TEST_F(GrpcClient, PassesOnWhatTheControllerSays) {
  v1::GetNodeRequest request;
  request.set_name("n9");
  EXPECT_EQ(MakeGrpcClient(options_)->Call<v1::GetNodeResponse>(request).status(),
            Status(Code::kNotFound, "no node 'n9'"));
  EXPECT_EQ(MakeGrpcClient(options_)->Call<v1::ValidateResponse>(v1::ValidateRequest()).status(),
            Status(Code::kPermissionDenied, "not yours"));
}

TEST_F(GrpcClient, SaysThatNobodyListens) {
  server_->Shutdown();
  EXPECT_EQ(
      MakeGrpcClient(options_)->Call<v1::ListNodesResponse>(v1::ListNodesRequest()).status(),
      Status(Code::kUnavailable,
             Format("cannot reach the controller at {}: connection refused", options_.controller)));
  EXPECT_EQ(MakeGrpcClient(options_)
                ->WatchEvents({}, EventSpan::kKeptAndNew, [](const v1::Event&) { return true; })
                .code(),
            Code::kUnavailable);
}

TEST_F(GrpcClient, SaysThatAFileOfTlsCannotBeUsed) {
  const auto error = [&] {
    return MakeGrpcClient(options_)
        ->Call<v1::ListNodesResponse>(v1::ListNodesRequest())
        .status()
        .message();
  };
  options_.tls.ca = "/nowhere/ca.pem";
  EXPECT_EQ(error(),
            "TLS: /nowhere/ca.pem: No such file or directory; expected the file of the setting "
            "tls-ca");
  options_.tls = {.certificate = "cert.pem", .key = "key.pem", .ca = {}, .crl = {}};
  EXPECT_EQ(error(), "--tls-ca: expected a file, because --tls-cert is set, saw none");
  options_.tls = {};
  options_.token.file = "/nowhere/token";
  EXPECT_EQ(error(), "--token-file: /nowhere/token: No such file or directory");
  options_.controller = "192.0.2.7:9418";
  EXPECT_EQ(
      error(),
      "--token-file: expected TLS (--tls-ca) or a controller on this machine, because a token "
      "is a secret, saw 192.0.2.7:9418");
}

TEST_F(GrpcClient, GivesUpAfterTheTimeout) {
  options_.timeout = std::chrono::milliseconds(200);
  EXPECT_EQ(MakeGrpcClient(options_)->Call<v1::ListRulesResponse>(v1::ListRulesRequest()).status(),
            Status(Code::kDeadlineExceeded,
                   Format("cannot reach the controller at {}: no answer within 200 ms",
                          options_.controller)));
}

TEST_F(GrpcClient, ReportsHowLongACallTakes) {
  // Also through the client of several controllers
  for (const std::string& controller :
       {options_.controller, Format("{0},{0}", options_.controller)}) {
    options_.controller = controller;
    service_.seen_waiting = false;
    const auto client = MakeGrpcClient(options_);
    Duration last = {};
    client->OnWait([&](Duration waited) {
      last = waited;
      service_.seen_waiting = true;
    });
    EXPECT_TRUE(client->Call<v1::InferProfileResponse>(v1::InferProfileRequest()).ok());
    EXPECT_GE(last, std::chrono::seconds(1));
  }
}

TEST_F(GrpcClient, SaysThatItIsAnotherProgram) {
  const Status status =
      MakeGrpcClient(options_)->Call<v1::ListDevicesResponse>(v1::ListDevicesRequest()).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_TRUE(status.message().starts_with(
      Format("the server at {} is not a compatible fabricd: ", options_.controller)))
      << status.message();
}

TEST_F(GrpcClient, StreamsEventsUntilToldToStop) {
  v1::WatchEventsRequest request;
  request.set_after_sequence(40);
  std::vector<std::uint64_t> seen;
  const auto stop_at = [&](std::uint64_t last) {
    return [&seen, last](const v1::Event& event) {
      seen.push_back(event.sequence());
      return event.sequence() != last;
    };
  };
  EXPECT_TRUE(
      MakeGrpcClient(options_)->WatchEvents(request, EventSpan::kKeptAndNew, stop_at(42)).ok());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{41, 42}));
  const Status ended =
      MakeGrpcClient(options_)->WatchEvents(request, EventSpan::kKeptAndNew, stop_at(0));
  EXPECT_EQ(ended.code(), Code::kUnavailable);
  EXPECT_TRUE(ended.message().ends_with("ended the stream of events")) << ended.message();
}

TEST_F(GrpcClient, ListsTheKeptEvents) {
  v1::WatchEventsRequest request;
  int seen = 0;
  const auto count = [&](const v1::Event&) { return ++seen > 0; };
  const auto list = [&] {
    return MakeGrpcClient(options_)->WatchEvents(request, EventSpan::kKept, count);
  };
  EXPECT_TRUE(list().ok());
  EXPECT_EQ(seen, 3);
  request.set_filter("x");
  EXPECT_EQ(list(), Status(Code::kInvalidArgument, "filter: expected FIELD=VALUE"));
  request.set_filter("kind=node");
  EXPECT_EQ(list().code(), Code::kUnimplemented) << "not an endless wait";
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace fabric::ctl
