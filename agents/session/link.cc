#include "agents/session/link.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>

#include "agents/session/outbox.h"
#include "base/text.h"
#include "fabric/v1/agent.grpc.pb.h"

namespace fabric::agent {
namespace {

constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kConnectTimeoutMs = 5'000;
constexpr int kMessageBytesMax = 64 << 20;  // A snapshot of a large node is some 100 kB.

std::unique_ptr<v1::AgentLink::Stub> Connect(const std::string& controller) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  return v1::AgentLink::NewStub(
      grpc::CreateCustomChannel(controller, grpc::InsecureChannelCredentials(), arguments));
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return {Code::kUnavailable, "the controller closed the stream"};
  return {static_cast<Code>(status.error_code()), status.error_message()};
}

}  // namespace

// The link's mutex guards all state and is held during calls from the link. A hold delays OnDone
// while Send() may start a write; Close() releases it once.
class Link::Stream final : public grpc::ClientBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  explicit Stream(Link& link) : link_(link), stub_(Connect(link.options_.controller)) {}

  void Start() {
    stub_->async()->Connect(&context_, this);
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
    if (ok) {
      link_.events_.OnMessage(std::exchange(incoming_, {}));
      StartRead(&incoming_);
      return;
    }
    MutexLock lock(link_.mutex_);
    Close();
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
    link_.events_.OnDisconnected(FromGrpc(status));
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
  const std::unique_ptr<v1::AgentLink::Stub> stub_;
  v1::ControllerMessage incoming_;
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
    stream_ = std::make_unique<Stream>(*this);
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

std::uint64_t Link::dropped() {
  MutexLock lock(mutex_);
  return dropped_;
}

}  // namespace fabric::agent
