#include "daemon/api/grpc_unary.h"

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/api/caught.h"
#include "daemon/api/grpc_caller.h"
#include "daemon/api/grpc_status.h"
#include "proto/fabric_service.h"
#include "proto/not_leading.h"

namespace fabric::api {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

constexpr std::string_view kAgentLink = "/fabric.v1.AgentLink/";

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

}  // namespace

// Reads the request, waits for its turn, answers.
class UnaryService::Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(UnaryService& service, grpc::GenericCallbackServerContext& context)
      : service_(service), context_(context) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok)
      Finish({grpc::StatusCode::INVALID_ARGUMENT, "expected a request, saw none"});
    else if (!service_.Put(*this))
      Finish(ToGrpc(
          ToStatus({.bound = &BoundOf("calls_waiting"), .seen = Limit("calls_waiting") + 1})));
  }

  void Serve() {
    if (!IsAwaited()) return Finish(ToGrpc({Code::kCancelled, "the caller no longer waits"}));
    const Status status = Caught([&] { return Answer(); });
    if (status.ok())
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    else
      Finish(ToGrpc(status));
  }

  void OnDone() override { delete this; }

 private:
  // False: the caller has cancelled the call or its deadline has passed while it was in the queue.
  bool IsAwaited() const {
    return !context_.IsCancelled() && SystemClock().Now().wall < context_.deadline();
  }

  Status Answer() {
    const MethodDescriptor* const method = FindMethod();
    if (method == nullptr)
      return {Code::kUnimplemented,
              context_.method().starts_with(kAgentLink)
                  ? "this address is for clients; agents use that of the setting agents"
                  : "no method " + Quoted(context_.method())};
    const std::size_t bytes = request_.Length();
    {
      grpc::ProtoBufferReader reader(&request_);
      const auto found = service_.checks_.at(method->input_type()).Check(reader, bytes);
      if (found.excess) return ToStatus(*found.excess);
    }
    const auto request = NewMessage(method->input_type());
    const auto answer = NewMessage(method->output_type());
    if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&request_, request.get()).ok())
      return {Code::kInvalidArgument, Format("expected a {}", method->input_type()->name())};
    const access::Caller caller = CallerOf(context_);
    AnswerNotes notes;
    const Status status = service_.call_({.caller = caller, .transport = "grpc", .notes = &notes},
                                         *method, *request, *answer);
    if (!notes.warning.empty()) context_.AddTrailingMetadata(kWarningKey, notes.warning);
    if (notes.state_age)
      context_.AddTrailingMetadata(kStateAgeKey, Format("{}", notes.state_age->count()));
    RETURN_IF_ERROR(status);
    bool own_buffer = false;
    const grpc::Status written =
        grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(*answer, &answer_, &own_buffer);
    return written.ok() ? Status() : Status(Code::kInternal, written.error_message());
  }

  // "/fabric.v1.Fabric/ListNodes"
  const MethodDescriptor* FindMethod() const {
    const std::string& path = context_.method();
    for (const auto* const service : {&FabricService(), &NodeJoinService()}) {
      const std::string prefix = "/" + service->full_name() + "/";
      if (path.starts_with(prefix)) return service->FindMethodByName(path.substr(prefix.size()));
    }
    return nullptr;
  }

  UnaryService& service_;
  grpc::GenericCallbackServerContext& context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

UnaryService::UnaryService(CallFunction call) : call_(std::move(call)) {
  for (const auto* const service : {&FabricService(), &NodeJoinService()})
    for (int n = 0; n < service->method_count(); ++n) {
      const auto* const type = service->method(n)->input_type();
      checks_.try_emplace(type, *type, BoundOf("request_bytes"), BoundOf("request_memory"));
    }
  constexpr int kThreads = 4;
  for (int n = 0; n < kThreads; ++n)
    threads_.push_back(std::jthread([this](const std::stop_token& stop) { Serve(stop); }));
}

UnaryService::~UnaryService() = default;

grpc::ServerGenericBidiReactor* UnaryService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Call(*this, *context);
}

// False: too many calls wait.
bool UnaryService::Put(Call& call) {
  const MutexLock lock(mutex_);
  if (waiting_.size() >= Limit("calls_waiting")) return false;
  waiting_.push_back(&call);
  work_.notify_one();
  return true;
}

void UnaryService::Serve(const std::stop_token& stop) {
  while (true) {
    Call* call = nullptr;
    {
      MutexLock lock(mutex_);
      work_.wait(lock, stop, [&]() REQUIRES(mutex_) { return !waiting_.empty(); });
      if (waiting_.empty()) return;  // Stopped
      call = waiting_.front();
      waiting_.pop_front();
    }
    call->Serve();
  }
}

}  // namespace fabric::api
