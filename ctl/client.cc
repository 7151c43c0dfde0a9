#include "ctl/client.h"

#include <google/protobuf/descriptor.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/atomic_file.h"
#include "base/grammar.h"
#include "base/input.h"
#include "base/text.h"
#include "base/tls/grpc_channel.h"
#include "base/tls/handshake.h"
#include "base/tls/openssl.h"
#include "base/wrong_port.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "proto/kept_events.h"
#include "proto/not_leading.h"

namespace fabric::ctl {
namespace {

// Lists come in pages of 4 MiB. The largest answer is that of a node with a large snapshot.
constexpr int kMessageBytesMax = 64 << 20;

std::string TimeText(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return ms % 1000 == 0 ? Format("{} s", ms / 1000) : Format("{} ms", ms);
}

constexpr Duration kWaitShown = std::chrono::seconds(1);
constexpr Duration kLeaderPatience = std::chrono::seconds(2);
constexpr Duration kExplainPatience = std::chrono::seconds(2);

bool IsThisMachine(const std::string& controller) {
  const auto address = ParseHostPort(controller);
  if (!address.ok()) return false;
  const std::string& host = address->host;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// What the options of a client select.
struct Security {
  std::optional<tls::TlsMaterial> tls;
  std::string token;
};

Result<Security> LoadSecurity(const ClientOptions& options) {
  Security security;
  RETURN_IF_ERROR(tls::CheckClientPaths(options.tls));
  if (options.tls.ca.empty()) {
    if (!options.token.none() && !IsThisMachine(options.controller))
      return Status(Code::kInvalidArgument,
                    Format("{}: expected TLS (--tls-ca) or a controller on this machine, because a "
                           "token is a secret, saw {}",
                           options.token.option(), options.controller));
  } else {
    RETURN_IF_ERROR(tls::RequireTls13());
    auto material = tls::LoadTls(options.tls, SystemClock().Now().wall);
    if (!material.ok()) return material.status().In("TLS");
    security.tls = *std::move(material);
  }
  if (!options.token.none()) {
    ASSIGN_OR_RETURN(security.token, ReadToken(options.token));
  }
  return security;
}

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const ClientOptions& options)
      : options_(options),
        security_(LoadSecurity(options)),
        channel_(MakeChannel(options.controller, security_)),
        generic_(channel_),
        stub_(v1::Fabric::NewStub(channel_)) {}

  std::string_view warning() const override { return warning_; }

  Status WatchEvents(const v1::WatchEventsRequest& request, EventSpan span,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    // A stream has no deadline of its own, so a cheap call checks the connection first.
    RETURN_IF_ERROR(Call<v1::GetVersionResponse>(v1::GetVersionRequest()).status());
    grpc::ClientContext context;
    AddToken(context);
    const bool kept_only = span == EventSpan::kKept;
    if (kept_only) context.AddMetadata(kEventsKey, kKeptEvents);
    const auto reader = stub_->WatchEvents(&context, request);
    if (kept_only) {
      reader->WaitForInitialMetadata();
      if (context.GetServerInitialMetadata().count(kEventsKey) == 0)
        return NeverEnds(context, *reader);
    }
    v1::Event event;
    while (reader->Read(&event)) {
      if (on_event(event)) continue;
      context.TryCancel();
      (void)reader->Finish();
      return {};
    }
    const grpc::Status status = reader->Finish();
    if (status.ok() && kept_only) return {};
    if (status.ok())
      return {Code::kUnavailable,
              Format("the controller at {} ended the stream of events", options_.controller)};
    return Convert(status);
  }

 private:
  // Of a list that a controller without kept_events.h would never end.
  Status NeverEnds(grpc::ClientContext& context, grpc::ClientReader<v1::Event>& reader) const {
    context.TryCancel();
    const grpc::Status status = reader.Finish();
    if (status.error_code() != grpc::StatusCode::CANCELLED) return Convert(status);
    return {Code::kUnimplemented,
            Format("the controller at {} is older than this program and cannot list events; use "
                   "--watch",
                   options_.controller)};
  }

  using Channel = decltype(grpc::CreateChannel({}, nullptr));  // gRPC's own counted pointer.

  static Channel MakeChannel(const std::string& controller, const Result<Security>& security) {
    // Every failure is reported by status; gRPC's own log lines would only disturb the output.
    gpr_set_log_function([](gpr_log_func_args*) {});
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
    // Messages are not compressed: decompression has no limit of memory.
    arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    // The controller is a machine of the cluster, which a web proxy cannot reach.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Detects a lost controller while the stream is idle.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    return grpc::CreateCustomChannel(controller,
                                     security.ok() && security->tls
                                         ? tls::MakeChannelCredentials(*security->tls)
                                         : grpc::InsecureChannelCredentials(),
                                     arguments);
  }

  // False: nothing came within this time.
  static bool NextBefore(Duration time, grpc::CompletionQueue& queue, void*& tag, bool& ok) {
    const auto end =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(time.count(), GPR_TIMESPAN));
    return queue.AsyncNext(&tag, &ok, end) != grpc::CompletionQueue::TIMEOUT;
  }

  void AddToken(grpc::ClientContext& context) const {
    if (security_.ok() && !security_->token.empty())
      context.AddMetadata("authorization", "Bearer " + security_->token);
  }

  Status CallMethod(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    return CallWithin(method, request, response, options_.timeout);
  }

 public:
  // As CallMethod, within another time.
  Status CallWithin(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request, google::protobuf::Message& response,
                    Duration timeout) {
    RETURN_IF_ERROR(security_.status());
    grpc::ClientContext context;
    AddToken(context);
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN)));
    const grpc::Slice text(request.SerializeAsString());
    const grpc::ByteBuffer message(&text, 1);
    grpc::ByteBuffer answer;
    grpc::Status status;
    grpc::CompletionQueue done;
    const auto call = generic_.PrepareUnaryCall(
        &context, Format("/{}/{}", method.service()->full_name(), method.name()), message, &done);
    call->StartCall();
    call->Finish(&answer, &status, this);
    void* tag = nullptr;
    bool ok = false;
    for (Duration waited = kWaitShown; !NextBefore(kWaitShown, done, tag, ok); waited += kWaitShown)
      if (on_wait_) on_wait_(waited);
    const auto& trailing = context.GetServerTrailingMetadata();
    const auto warning = trailing.find(kWarningKey);
    warning_.clear();
    if (warning != trailing.end()) warning_.assign(warning->second.data(), warning->second.size());
    if (!status.ok()) return Convert(status);
    grpc::ProtoBufferReader reader(&answer);
    if (!response.ParseFromZeroCopyStream(&reader))
      return {Code::kInternal,
              Format("the controller at {} sent a malformed answer", options_.controller)};
    return {};
  }

 private:
  Status Convert(const grpc::Status& status) const {
    const auto code = static_cast<Code>(status.error_code());
    if (code == Code::kUnavailable && status.error_message().starts_with(kNotLeading))
      return {code, Format("{}: {}", options_.controller, status.error_message())};
    if (code == Code::kUnavailable) {
      const Status tls = ExplainTls();
      if (!tls.ok())
        return tls.In(Format("cannot reach the controller at {}", options_.controller));
      return {code, Format("cannot reach the controller at {}: {}", options_.controller,
                           ConnectionCause(status.error_message()))};
    }
    if (code == Code::kDeadlineExceeded)
      return {code, Format("cannot reach the controller at {}: no answer within {}",
                           options_.controller, TimeText(options_.timeout))};
    if (code == Code::kUnimplemented)
      return {code, Format("the server at {} is not a compatible fabricd: {}", options_.controller,
                           status.error_message())};
    if (status.error_message().empty())
      return {code,
              Format("the controller at {} answered {}", options_.controller, CodeName(code))};
    return {code, status.error_message()};
  }

  Status ExplainTls() const {
    const auto address = ParseHostPort(options_.controller);
    if (!address.ok() || !security_.ok()) return {};
    return tls::ExplainFailure(*address, security_->tls ? &*security_->tls : nullptr,
                               std::min(options_.timeout, kExplainPatience));
  }

  const ClientOptions options_;
  const Result<Security> security_;
  const Channel channel_;
  grpc::GenericStub generic_;
  const std::unique_ptr<v1::Fabric::Stub> stub_;  // For the stream of events
  std::string warning_;
};

// The one of several controllers that leads. It is asked for before the first call and after a
// failure, so that no change is sent twice. A leader that is cut off from the database is used only
// if no other one answers. Without a leader, reads go to the others.
class LeaderClient final : public Client {
 public:
  LeaderClient(const ClientOptions& options, const std::vector<std::string_view>& controllers)
      : options_(options) {
    for (const std::string_view controller : controllers) {
      ClientOptions one = options;
      one.controller = controller;
      clients_.push_back(std::make_unique<GrpcClient>(one));
    }
  }

  std::string_view warning() const override {
    return answered_ == nullptr ? std::string_view() : answered_->warning();
  }

  Status WatchEvents(const v1::WatchEventsRequest& request, EventSpan span,
                     const std::function<bool(const v1::Event&)>& on_event) override {
    RETURN_IF_ERROR(FindLeader());
    answered_ = leader_;
    return Checked(leader_->WatchEvents(request, span, on_event));
  }

 private:
  Status CallMethod(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    if (const Status found = FindLeader(); !found.ok())
      return AskFollowers(method, request, response) ? Status() : found;
    answered_ = leader_;
    GrpcClient& leader = *leader_;
    leader.OnWait(on_wait_);
    Status status = leader.CallWithin(method, request, response, options_.timeout);
    leader.OnWait({});  // The callback can end before the client.
    return Checked(std::move(status));
  }

  // Each standby answers some reads. False: none answers this one.
  bool AskFollowers(const google::protobuf::MethodDescriptor& method,
                    const google::protobuf::Message& request, google::protobuf::Message& response) {
    if (method.options().GetExtension(v1::required_role) != v1::ROLE_VIEWER) return false;
    return std::ranges::any_of(clients_, [&](const std::unique_ptr<GrpcClient>& client) {
      if (!client->CallWithin(method, request, response, kLeaderPatience).ok()) return false;
      answered_ = client.get();
      return true;
    });
  }

  static bool IsGone(const Status& status) {
    return status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
  }

  Status Checked(Status status) {
    if (IsGone(status)) leader_ = nullptr;
    return status;
  }

  Status FindLeader() {
    if (leader_ != nullptr) return {};
    const v1::GetVersionRequest request;
    std::string reasons;
    for (const std::unique_ptr<GrpcClient>& client : clients_) {
      v1::GetVersionResponse response;
      const Status status =
          client->CallWithin(*MethodOf(*request.GetDescriptor()), request, response,
                             std::min(options_.timeout, kLeaderPatience));
      if (IsGone(status)) {
        reasons += (reasons.empty() ? "" : "; ") + status.message();
        continue;
      }
      if (leader_ == nullptr || client->warning().empty()) leader_ = client.get();
      if (client->warning().empty()) return {};
    }
    return leader_ != nullptr ? Status() : Status(Code::kUnavailable, reasons);
  }

  const ClientOptions options_;
  std::vector<std::unique_ptr<GrpcClient>> clients_;
  GrpcClient* leader_ = nullptr;    // Not known yet
  GrpcClient* answered_ = nullptr;  // The last call
};

}  // namespace

std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options) {
  const std::vector<std::string_view> controllers = Split(options.controller, ',');
  if (controllers.size() > 1) return std::make_unique<LeaderClient>(options, controllers);
  return std::make_unique<GrpcClient>(options);
}

}  // namespace fabric::ctl
