#include "daemon/api/rest/rest_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <optional>
#include <thread>

#include "base/text.h"
#include "daemon/api/event_queue.h"
#include "daemon/api/listen_error.h"

namespace fabric::api {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::size_t kEventBytesAtOnceMax = 64 << 10;
constexpr std::string_view kServer = "fabricd";
constexpr std::string_view kEventStreamHead =
    "HTTP/1.1 200 OK\r\n"
    "Server: fabricd\r\n"
    "Content-Type: text/event-stream\r\n"
    "Cache-Control: no-store\r\n"
    "X-Accel-Buffering: no\r\n"
    "Connection: close\r\n"
    "\r\n"
    "retry: 1000\n\n";
constexpr std::string_view kHeartbeat = ": heartbeat\n\n";

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

// Malformed HTTP, in the words that its sender needs.
HttpResponse BadHttp(error_code error, const RestLimits& limits) {
  if (error == http::error::body_limit)
    return ErrorResponse(413,
                         {Code::kResourceExhausted,
                          Format("expected a body of at most {} bytes", limits.body_bytes_max)});
  if (error == http::error::header_limit)
    return ErrorResponse(
        431, {Code::kResourceExhausted,
              Format("expected a header of at most {} bytes", limits.header_bytes_max)});
  return ErrorResponse(400, {Code::kInvalidArgument, "malformed HTTP: " + error.message()});
}

}  // namespace

// Everything below runs on the loop's thread, but for the wake of an event queue. A connection is
// owned by the loop and dropped when it is closed and none of its operations is pending.
class RestServer::Loop {
 public:
  Loop(const RestService& rest_service, control::EventBus& bus, const RestLimits& rest_limits)
      : service(rest_service), events(bus), limits(rest_limits) {}

  Status Listen(const HostPort& address);
  void Run() {
    thread_ = std::jthread([this] { io.run(); });
  }
  void Stop();

  const RestService& service;
  control::EventBus& events;
  const RestLimits limits;
  HostPort address;
  net::io_context io{1};
  std::size_t watchers = 0;

 private:
  class Connection;
  friend class Connection;

  void Accept();
  void Add(tcp::socket socket);
  void Drop(std::uint64_t id) { connections_.erase(id); }

  tcp::acceptor acceptor_{io};
  net::steady_timer accept_again_{io};
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::jthread thread_;
};

class RestServer::Loop::Connection {
 public:
  Connection(Loop& loop, tcp::socket socket, std::uint64_t id)
      : loop_(loop), id_(id), stream_(std::move(socket)), timer_(loop.io) {
    error_code ignored;
    const auto peer = stream_.socket().remote_endpoint(ignored);
    peer_ = ToString(HostPort{peer.address().to_string(ignored), peer.port()});
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }
  ~Connection() {
    if (queue_ != nullptr) --loop_.watchers;
  }

  void Begin() { Read(loop_.limits.request_timeout); }

  void Refuse() {
    closing_ = true;
    Write(ErrorResponse(503, {Code::kResourceExhausted, "too many connections"}), false, false);
  }

  void Close() {
    closing_ = true;
    queue_wanted_ = false;
    timer_.cancel();
    stream_.close();
    MaybeDrop();
  }

 private:
  // Wraps a completion: counts it as pending, and drops the connection when it was the last one.
  template <class Handler>
  auto Pending(Handler handler) {
    ++pending_;
    return [this, handler = std::move(handler)](error_code error, std::size_t bytes = 0) mutable {
      handler(error, bytes);
      --pending_;
      MaybeDrop();
    };
  }

  void MaybeDrop() {
    if (pending_ == 0 && !stream_.socket().is_open()) loop_.Drop(id_);  // Deletes this.
  }

  void Read(Duration timeout) {
    parser_.emplace();
    parser_->header_limit(loop_.limits.header_bytes_max);
    parser_->body_limit(loop_.limits.body_bytes_max);
    stream_.expires_after(timeout);
    http::async_read(stream_, buffer_, *parser_,
                     Pending([this](error_code error, std::size_t) { OnRead(error); }));
  }

  void OnRead(error_code error) {
    if (!stream_.socket().is_open()) return;
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        (error && error.category() == net::error::get_system_category())) {
      stream_.close();
      return;
    }
    if (error) {
      closing_ = true;
      Write(BadHttp(error, loop_.limits), false, false);
      return;
    }
    const Request& request = parser_->get();
    const std::string peer = peer_;
    auto answer = loop_.service.Handle({.verb = View(request.method_string()),
                                        .target = View(request.target()),
                                        .body = request.body(),
                                        .last_event_id = View(request["Last-Event-ID"]),
                                        .peer = peer});
    if (const auto* const start = std::get_if<EventStreamStart>(&answer)) {
      BeginEvents(start->after_sequence);
      return;
    }
    closing_ = !request.keep_alive();
    Write(std::get<HttpResponse>(std::move(answer)), request.method() == http::verb::head,
          request.keep_alive());
  }

  void Write(HttpResponse answer, bool head, bool keep_alive) {
    response_.emplace();
    response_->result(static_cast<unsigned>(answer.status));
    response_->set(http::field::server, beast::string_view(kServer.data(), kServer.size()));
    if (!answer.content_type.empty())
      response_->set(http::field::content_type, answer.content_type);
    if (!answer.allow.empty()) response_->set(http::field::allow, answer.allow);
    response_->set(http::field::cache_control, "no-store");
    response_->keep_alive(keep_alive);
    const bool has_length = answer.status != 204;
    if (has_length) response_->content_length(answer.body.size());
    if (!head) response_->body() = std::move(answer.body);
    stream_.expires_after(loop_.limits.request_timeout);
    serializer_.emplace(*response_);
    auto done = Pending([this](error_code error, std::size_t) { OnWritten(error); });
    if (head)
      http::async_write_header(stream_, *serializer_, std::move(done));
    else
      http::async_write(stream_, *serializer_, std::move(done));
  }

  void OnWritten(error_code error) {
    if (!stream_.socket().is_open()) return;
    if (error) {
      stream_.close();
    } else if (closing_) {
      Linger();
    } else {
      Read(loop_.limits.idle_timeout);
    }
  }

  // Says that no more comes and takes what the other end still sends, for a moment: closing at once
  // would reset the connection and take the answer with it.
  void Linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    timer_.expires_after(std::chrono::seconds(1));
    timer_.async_wait(Pending([this](error_code, std::size_t) { stream_.close(); }));
    Discard();
  }

  void Discard() {
    stream_.socket().async_read_some(net::buffer(discarded_),
                                     Pending([this](error_code error, std::size_t) {
                                       if (error) {
                                         stream_.close();
                                         timer_.cancel();
                                       } else if (stream_.socket().is_open()) {
                                         Discard();
                                       }
                                     }));
  }

  void BeginEvents(std::uint64_t after_sequence) {
    closing_ = true;
    if (loop_.watchers >= loop_.limits.watchers_max) {
      Write(ErrorResponse(503, {Code::kResourceExhausted, "too many watchers of events"}), false,
            false);
      return;
    }
    ++loop_.watchers;
    stream_.expires_never();
    text_ = kEventStreamHead;
    queue_wanted_ = true;
    Loop* const loop = &loop_;
    const std::uint64_t id = id_;
    queue_ = std::make_unique<EventQueue>(loop_.events, after_sequence, [loop, id] {
      net::post(loop->io, [loop, id] {
        const auto at = loop->connections_.find(id);
        if (at != loop->connections_.end()) at->second->PumpEvents();
      });
    });
    WriteEvents();
    WatchForEnd();
    StartHeartbeat();
  }

  // The client has nothing to say; what comes is its end.
  void WatchForEnd() {
    stream_.socket().async_read_some(net::buffer(discarded_),
                                     Pending([this](error_code error, std::size_t) {
                                       if (error)
                                         EndEvents();
                                       else if (queue_wanted_)
                                         WatchForEnd();
                                     }));
  }

  void StartHeartbeat() {
    timer_.expires_after(loop_.limits.heartbeat);
    timer_.async_wait(Pending([this](error_code error, std::size_t) {
      if (error || !queue_wanted_) return;
      if (writing_ && wrote_nothing_) {
        EndEvents();
        return;
      }
      wrote_nothing_ = true;
      if (!writing_) {
        text_ = kHeartbeat;
        WriteEvents();
      }
      StartHeartbeat();
    }));
  }

  void PumpEvents() {
    if (writing_ || !queue_wanted_) return;
    if (queue_->overflowed()) {
      EndEvents();
      return;
    }
    text_.clear();
    while (text_.size() < kEventBytesAtOnceMax) {
      const auto event = queue_->Pop();
      if (!event) break;
      text_ += ServerSentEvent(*event);
    }
    if (!text_.empty()) WriteEvents();
  }

  void WriteEvents() {
    writing_ = true;
    net::async_write(stream_.socket(), net::buffer(text_),
                     Pending([this](error_code error, std::size_t) {
                       writing_ = false;
                       wrote_nothing_ = false;
                       if (error)
                         EndEvents();
                       else
                         PumpEvents();
                     }));
  }

  void EndEvents() {
    queue_wanted_ = false;
    timer_.cancel();
    stream_.close();
  }

  Loop& loop_;
  const std::uint64_t id_;
  beast::tcp_stream stream_;
  net::steady_timer timer_;  // Of lingering, or of heartbeats
  std::string peer_;
  int pending_ = 0;
  bool closing_ = false;  // After the answer that is being written

  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<Response> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::array<char, 1024> discarded_{};

  std::unique_ptr<EventQueue> queue_;
  bool queue_wanted_ = false;
  std::string text_;  // Of the write in flight
  bool writing_ = false;
  bool wrote_nothing_ = false;  // Since the last heartbeat
};

Status RestServer::Loop::Listen(const HostPort& wanted) {
  // The kernel's reason, before the libraries wrap it.
  RETURN_IF_ERROR(CheckListen(wanted));
  error_code error;
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(wanted.host, Format("{}", wanted.port), tcp::resolver::passive, error);
  if (!error) {
    const tcp::endpoint endpoint = found.begin()->endpoint();
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  }
  if (error)
    return {Code::kUnavailable,
            Format("cannot listen on {}: {}", ToString(wanted), error.message())};
  address = {wanted.host, acceptor_.local_endpoint(error).port()};
  Accept();
  return {};
}

void RestServer::Loop::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (!error) {
      Add(std::move(socket));
      Accept();
      return;
    }
    // Out of descriptors, most likely: the connection waits in the kernel until there are some.
    accept_again_.expires_after(std::chrono::milliseconds(100));
    accept_again_.async_wait([this](error_code stopped) {
      if (!stopped) Accept();
    });
  });
}

void RestServer::Loop::Add(tcp::socket socket) {
  const std::uint64_t id = ++last_id_;
  const bool full = connections_.size() >= limits.connections_max;
  const auto at =
      connections_.emplace(id, std::make_unique<Connection>(*this, std::move(socket), id));
  if (full)
    at.first->second->Refuse();
  else
    at.first->second->Begin();
}

void RestServer::Loop::Stop() {
  if (!thread_.joinable()) return;
  net::post(io, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    accept_again_.cancel();
    for (auto at = connections_.begin(); at != connections_.end();) (at++)->second->Close();
  });
  thread_.join();  // The loop ends when nothing is pending any more.
  connections_.clear();
}

RestServer::RestServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
RestServer::~RestServer() {
  Stop();
}
const HostPort& RestServer::address() const {
  return loop_->address;
}
void RestServer::Stop() {
  loop_->Stop();
}

Result<std::unique_ptr<RestServer>> RestServer::Listen(const HostPort& address,
                                                       const RestService& service,
                                                       control::EventBus& events,
                                                       const RestLimits& limits) {
  auto loop = std::make_unique<Loop>(service, events, limits);
  RETURN_IF_ERROR(loop->Listen(address));
  loop->Run();
  return std::unique_ptr<RestServer>(new RestServer(std::move(loop)));
}

}  // namespace fabric::api
