#include "daemon/api/rest/rest_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <optional>
#include <thread>

#include "base/text.h"
#include "daemon/api/event_queue.h"
#include "daemon/api/listen_error.h"
#include "daemon/api/rest/rest_text.h"

namespace fabric::api {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;
using Request = http::request<http::string_body>;
constexpr std::size_t kEventBytesAtOnceMax = 64 << 10;

std::string_view View(beast::string_view text) {
  return {text.data(), text.size()};
}

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

// Everything below runs on the loop's thread, except the wake-up of an event queue. The loop owns
// the connections; it drops one that is closed and has no pending operation.
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
  // A completion handler: one type for all operations, so that Beast is instantiated once for each.
  // Counts as pending until it has run; the connection may be dropped then.
  using Step = void (Connection::*)(error_code);
  struct Completion {
    Connection* connection;
    Step step;
    void operator()(error_code error, std::size_t = 0) {
      (connection->*step)(error);
      --connection->pending_;
      connection->MaybeDrop();
    }
  };
  Completion Then(Step step) {
    ++pending_;
    return {this, step};
  }

  void MaybeDrop() {
    if (pending_ == 0 && !stream_.socket().is_open()) loop_.Drop(id_);  // Deletes this.
  }

  void Read(Duration timeout) {
    parser_.emplace();
    parser_->header_limit(loop_.limits.header_bytes_max);
    parser_->body_limit(loop_.limits.body_bytes_max);
    stream_.expires_after(timeout);
    http::async_read(stream_, buffer_, *parser_, Then(&Connection::OnRead));
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
    const auto answer = loop_.service.Handle({.verb = View(request.method_string()),
                                              .target = View(request.target()),
                                              .body = request.body(),
                                              .last_event_id = View(request["Last-Event-ID"]),
                                              .peer = peer_});
    if (const auto* const start = std::get_if<EventStreamStart>(&answer)) {
      BeginEvents(start->after_sequence);
      return;
    }
    closing_ = !request.keep_alive();
    Write(std::get<HttpResponse>(answer), request.method() == http::verb::head,
          request.keep_alive());
  }

  void Write(const HttpResponse& answer, bool head, bool keep_alive) {
    stream_.expires_after(loop_.limits.request_timeout);
    text_ = ResponseText(answer, head, keep_alive);
    net::async_write(stream_, net::buffer(text_), Then(&Connection::OnWritten));
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

  // Sends FIN and reads what the client still sends, for a second: closing at once would reset the
  // connection and the client could lose the answer.
  void Linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    timer_.expires_after(std::chrono::seconds(1));
    timer_.async_wait(Then(&Connection::OnLingered));
    ReadSome(&Connection::OnDiscarded);
  }

  void OnLingered(error_code) { stream_.close(); }

  void OnDiscarded(error_code error) {
    if (error) {
      stream_.close();
      timer_.cancel();
    } else if (stream_.socket().is_open()) {
      ReadSome(&Connection::OnDiscarded);
    }
  }

  // Reads bytes that are ignored.
  void ReadSome(Step step) {
    stream_.socket().async_read_some(net::buffer(discarded_), Then(step));
  }

  void BeginEvents(std::uint64_t after_sequence) {
    closing_ = true;
    if (loop_.watchers >= loop_.limits.watchers_max) {
      Write(ErrorResponse(503, {Code::kResourceExhausted, "too many event watchers"}), false,
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
    ReadSome(&Connection::OnClientRead);
    StartHeartbeat();
  }

  // The client only reads: an error is its end.
  void OnClientRead(error_code error) {
    if (error)
      EndEvents();
    else if (queue_wanted_)
      ReadSome(&Connection::OnClientRead);
  }

  void StartHeartbeat() {
    timer_.expires_after(loop_.limits.heartbeat);
    timer_.async_wait(Then(&Connection::OnHeartbeat));
  }

  void OnHeartbeat(error_code error) {
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
    net::async_write(stream_, net::buffer(text_), Then(&Connection::OnEventsWritten));
  }

  void OnEventsWritten(error_code error) {
    writing_ = false;
    wrote_nothing_ = false;
    if (error)
      EndEvents();
    else
      PumpEvents();
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
  std::string text_;      // Of the write in flight

  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::array<char, 1024> discarded_{};

  std::unique_ptr<EventQueue> queue_;
  bool queue_wanted_ = false;
  bool writing_ = false;
  bool wrote_nothing_ = false;  // Since the last heartbeat
};

Status RestServer::Loop::Listen(const HostPort& wanted) {
  // Gives the kernel's reason, which the libraries hide.
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
    // Most likely out of descriptors: the connection waits in the kernel. Retry.
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
  thread_.join();  // The loop ends when nothing is pending.
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
