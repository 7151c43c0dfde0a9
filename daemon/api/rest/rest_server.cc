#include "daemon/api/rest/rest_server.h"

#include <boost/asio/post.hpp>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/api/listen_error.h"
#include "daemon/api/rest/rest_connection.h"

namespace fabric::api {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using SocketError = boost::system::error_code;

// One thread with its connections. The loop owns them and drops those that are closed and have no
// pending operation. Everything except Start, Stop and OnEvent runs on the thread.
class RestLoop final : public ConnectionOwner, public control::EventListener {
 public:
  explicit RestLoop(RestShared& shared) : shared_(shared) {}

  net::io_context& io() { return io_; }

  void Start() {
    shared_.events.Subscribe(*this);
    thread_ = std::jthread([this] { io_.run(); });
  }

  // Closes all connections and waits for the thread, which ends when nothing is pending.
  void Stop() {
    if (!thread_.joinable()) return;
    shared_.events.Unsubscribe(*this);
    net::post(io_, [this] {
      stopping_ = true;
      for (auto at = connections_.begin(); at != connections_.end();) (at++)->second->Close();
      work_.reset();
    });
    thread_.join();
    connections_.clear();
  }

  void Add(tcp::socket socket, Result<PeerSlot> slot) {
    if (stopping_) return;
    const std::uint64_t id = ++last_id_;
    const auto at = connections_.emplace(
        id, std::make_unique<RestConnection>(shared_, *this, std::move(socket), id));
    at.first->second->Begin(std::move(slot));
  }

 private:
  void Drop(std::uint64_t id) override { connections_.erase(id); }

  void OnEvent(const v1::Event&) override {
    if (published_.exchange(true)) return;
    net::post(io_, [this] {
      published_ = false;
      for (const auto& [id, connection] : connections_) connection->PumpEvents();
    });
  }

  RestShared& shared_;
  net::io_context io_{1};
  net::executor_work_guard<net::io_context::executor_type> work_ = net::make_work_guard(io_);
  std::atomic<bool> published_ = false;
  bool stopping_ = false;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<RestConnection>> connections_;
  std::jthread thread_;
};

}  // namespace

// The acceptor runs on the first loop's thread and distributes connections over all of them.
class RestServer::Parts {
 public:
  Parts(const RestService& service, control::EventBus& events, PeerSlots& watchers,
        const RestLimits& limits, tls::ServerSessions* tls)
      : shared_{.service = service,
                .events = events,
                .watchers = watchers,
                .limits = limits,
                .tls = tls},
        connections_("connections", limits.connections) {
    for (std::size_t n = 0; n < std::max<std::size_t>(1, limits.threads); ++n)
      loops_.push_back(std::make_unique<RestLoop>(shared_));
    acceptor_.emplace(loops_.front()->io());
    accept_again_.emplace(loops_.front()->io());
  }

  Status Listen(const HostPort& wanted);
  void Start() {
    Accept();
    for (const auto& loop : loops_) loop->Start();
  }
  void Stop();

  HostPort address;

 private:
  void Accept();

  RestShared shared_;
  PeerSlots connections_;
  std::vector<std::unique_ptr<RestLoop>> loops_;
  std::size_t next_ = 0;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<net::steady_timer> accept_again_;
};

Status RestServer::Parts::Listen(const HostPort& wanted) {
  // Gives the kernel's reason, which the libraries hide.
  RETURN_IF_ERROR(CheckListen(wanted));
  SocketError error;
  tcp::resolver resolver(loops_.front()->io());
  const auto found =
      resolver.resolve(wanted.host, Format("{}", wanted.port), tcp::resolver::passive, error);
  if (!error) {
    const tcp::endpoint endpoint = found.begin()->endpoint();
    if (!error) acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(net::socket_base::max_listen_connections, error);
  }
  if (error)
    return {Code::kUnavailable,
            Format("cannot listen on {}: {}", ToString(wanted), error.message())};
  address = {wanted.host, acceptor_->local_endpoint(error).port()};
  return {};
}

void RestServer::Parts::Accept() {
  RestLoop& loop = *loops_[next_++ % loops_.size()];
  acceptor_->async_accept(loop.io(), [this, &loop](SocketError error, tcp::socket socket) {
    if (!acceptor_->is_open()) return;
    if (!error) {
      auto slot = connections_.Take(RestConnection::PeerOf(socket));
      net::post(loop.io(), [&loop, socket = std::move(socket), slot = std::move(slot)]() mutable {
        loop.Add(std::move(socket), std::move(slot));
      });
      Accept();
      return;
    }
    // Most likely out of descriptors: the connection waits in the kernel. Retry.
    accept_again_->expires_after(std::chrono::milliseconds(100));
    accept_again_->async_wait([this](SocketError stopped) {
      if (!stopped) Accept();
    });
  });
}

void RestServer::Parts::Stop() {
  net::post(loops_.front()->io(), [this] {
    SocketError ignored;
    acceptor_->close(ignored);
    accept_again_->cancel();
  });
  for (const auto& loop : loops_) loop->Stop();
}

RestServer::RestServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
RestServer::~RestServer() {
  Stop();
}
const HostPort& RestServer::address() const {
  return parts_->address;
}
void RestServer::Stop() {
  parts_->Stop();
}

Result<std::unique_ptr<RestServer>> RestServer::Listen(
    const HostPort& address, const RestService& service, control::EventBus& events,
    PeerSlots& watchers, const RestLimits& limits, tls::ServerSessions* tls) {
  auto parts = std::make_unique<Parts>(service, events, watchers, limits, tls);
  RETURN_IF_ERROR(parts->Listen(address));
  parts->Start();
  return std::unique_ptr<RestServer>(new RestServer(std::move(parts)));
}

}  // namespace fabric::api
