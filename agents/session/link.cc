#include "agents/session/link.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agents/session/outbox.h"
#include "base/text.h"
#include "base/tls/grpc_channel.h"
#include "base/wrong_port.h"
#include "fabric/v1/agent.pb.h"
#include "proto/wire_check.h"

namespace fabric::agent {
namespace {

constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kConnectTimeoutMs = 5'000;
using Stub = grpc::TemplatedGenericStub<v1::AgentMessage, grpc::ByteBuffer>;

Stub Connect(const LinkOptions& options, const std::string& controller) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(Limit("controller_message_bytes")));
  // Messages are not compressed: decompression has no limit of memory.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  const auto credentials = options.tls == nullptr
                               ? grpc::InsecureChannelCredentials()
                               : tls::MakeChannelCredentials(options.tls->material());
  return Stub(grpc::CreateCustomChannel(controller, credentials, arguments));
}

Status CheckFlows(const v1::MeshAssignment& order) {
  std::uint64_t flows = 0;
  for (const v1::MeshPortAssignment& port : order.ports())
    for (const v1::MeshTarget& target : port.targets())
      flows += static_cast<std::uint64_t>(std::max(1, target.flow_labels_size()));
  if (flows <= Limit("mesh_flows")) return {};
  return ToStatus({.bound = &BoundOf("mesh_flows"), .seen = flows});
}

// Checks and decodes a message of the controller, and empties the buffer.
Result<v1::ControllerMessage> Decode(grpc::ByteBuffer& buffer) {
  static const WireCheck check(*v1::ControllerMessage::descriptor(),
                               BoundOf("controller_message_bytes"),
                               BoundOf("controller_message_memory"));
  WireCheckResult found;
  {
    const std::size_t bytes = buffer.Length();
    grpc::ProtoBufferReader reader(&buffer);
    found = check.Check(reader, bytes);
  }
  if (found.excess) return ToStatus(*found.excess);
  v1::ControllerMessage message;
  if (!grpc::SerializationTraits<v1::ControllerMessage>::Deserialize(&buffer, &message).ok())
    return Status(Code::kInvalidArgument, "expected a ControllerMessage");
  RETURN_IF_ERROR(CheckFlows(message.mesh_assignment()));
  return message;
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return {Code::kUnavailable, "the controller closed the stream"};
  const std::string& message = status.error_message();
  if (IsConnectionFailure(message)) return {Code::kUnavailable, ConnectionCause(message)};
  return {static_cast<Code>(status.error_code()), message};
}

}  // namespace

// The link's mutex guards all state and is held during calls from the link. A hold delays OnDone
// while Send() may start a write; Close() releases it once.
class Link::Stream final : public grpc::ClientBidiReactor<v1::AgentMessage, grpc::ByteBuffer> {
 public:
  explicit Stream(Link& link, const std::string& controller)
      : link_(link), stub_(Connect(link.options_, controller)) {}

  void Start() {
    stub_.PrepareBidiStreamingCall(&context_, "/fabric.v1.AgentLink/Connect", {}, this);
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }
  void Cancel() {
    Close();
    context_.TryCancel();
  }
  bool Send(v1::AgentMessage message) {
    // The controller rejects messages before Hello, such as outcomes of the last stream.
    greeted_ |= message.has_hello();
    if (closed_ || !greeted_) return true;
    const bool kept = outbox_.Put(std::move(message));
    WriteNext();
    return kept;
  }
  bool Idle() const {
    return !outbox_.HasState() &&
           !(outgoing_ && (outgoing_->has_snapshot() || outgoing_->has_change()));
  }
  bool done() const { return done_; }

  void OnReadDone(bool ok) override {
    Result<v1::ControllerMessage> message =
        ok ? Decode(incoming_)
           : Result<v1::ControllerMessage>(Status(Code::kUnavailable, "the stream has ended"));
    if (message.ok()) {
      link_.events_.OnMessage(*std::move(message));
      StartRead(&incoming_);
      return;
    }
    MutexLock lock(link_.mutex_);
    if (!ok) return Close();
    refused_ = message.status().In("message of the controller");
    Cancel();
  }
  void OnWriteDone(bool ok) override {
    MutexLock lock(link_.mutex_);
    const bool was_idle = Idle();
    outgoing_.reset();
    if (!ok) return Close();
    WriteNext();
    if (!was_idle && Idle()) link_.events_.OnIdle();
  }
  void OnDone(const grpc::Status& status) override {
    link_.events_.OnDisconnected(refused_.ok() ? FromGrpc(status) : refused_);
    // Last: after this, Dial() or the link's destructor destroys the stream.
    MutexLock lock(link_.mutex_);
    done_ = true;
    link_.ended_.notify_all();
  }

 private:
  void WriteNext() {
    if (closed_ || outgoing_) return;
    outgoing_ = outbox_.Take();
    if (outgoing_) StartWrite(&*outgoing_);
  }
  void Close() {
    if (closed_) return;
    closed_ = true;
    RemoveHold();
  }

  Link& link_;
  grpc::ClientContext context_;
  Stub stub_;
  grpc::ByteBuffer incoming_;
  Status refused_;                            // A message of the controller was out of bounds.
  std::optional<v1::AgentMessage> outgoing_;  // Being written
  Outbox outbox_;
  bool greeted_ = false;
  bool closed_ = false;  // No more writes
  bool done_ = false;
};

Link::Link(LinkOptions options, LinkEvents& events)
    : options_(std::move(options)), events_(events) {}

Link::~Link() {
  HangUp();
  MutexLock lock(mutex_);
  while (stream_ != nullptr && !stream_->done()) ended_.wait(lock);
}

void Link::Dial() {
  {
    MutexLock lock(mutex_);
    while (stream_ != nullptr && !stream_->done()) ended_.wait(lock);
    const auto& controllers = options_.controllers;
    stream_ = std::make_unique<Stream>(*this, controllers[dials_++ % controllers.size()]);
    stream_->Start();
  }
  events_.OnConnected();
}

void Link::HangUp() {
  MutexLock lock(mutex_);
  if (stream_ != nullptr && !stream_->done()) stream_->Cancel();
}

void Link::Send(const v1::AgentMessage& message) {
  MutexLock lock(mutex_);
  if (stream_ == nullptr || stream_->done()) return;
  if (!stream_->Send(message)) ++dropped_;
}

bool Link::Idle() {
  MutexLock lock(mutex_);
  return stream_ == nullptr || stream_->Idle();
}

std::string Link::controller() {
  MutexLock lock(mutex_);
  return options_.controllers[(dials_ == 0 ? 0 : dials_ - 1) % options_.controllers.size()];
}

std::uint64_t Link::dropped() {
  MutexLock lock(mutex_);
  return dropped_;
}

}  // namespace fabric::agent
