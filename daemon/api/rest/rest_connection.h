// One HTTP connection: reads requests with limits and timeouts, writes answers, streams and events.
// Heavy headers; include it in rest_server.cc and rest_connection.cc only.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/tls/contexts.h"
#include "daemon/access/caller.h"
#include "daemon/api/peer_slots.h"
#include "daemon/api/rest/rest_server.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/api/rest/rest_socket.h"
#include "daemon/control/events.h"

namespace fabric::api {

// What all connections of a server share. Thread-safe.
struct RestShared {
  const RestService& service;
  control::EventBus& events;
  PeerSlots& watchers;
  const RestLimits limits;
  tls::ServerSessions* const tls;             // nullptr: no TLS
  std::atomic<std::uint64_t> body_bytes = 0;  // Reserved by requests that are being read
};

// Owner of connections, on one thread.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  virtual void Drop(std::uint64_t id) = 0;  // The connection is closed and has nothing pending.
};

// Everything runs on the thread of its owner.
class RestConnection {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  RestConnection(RestShared& shared, ConnectionOwner& owner, Socket socket, std::uint64_t id);
  ~RestConnection();

  // Starts to read. A failed `slot` is answered 503; with TLS it ends the connection.
  void Begin(Result<PeerSlot> slot);
  void Close();
  // Writes new events, if this is a watcher.
  void PumpEvents();

  // "127.0.0.1:40112"
  static std::string PeerOf(const Socket& socket);

 private:
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  // A completion handler: one type for all operations, so that Beast is instantiated once for each.
  // Counts as pending until it has run; the connection may be dropped then.
  using Step = void (RestConnection::*)(Error);
  struct Completion {
    RestConnection* connection;
    Step step;
    void operator()(Error error, std::size_t = 0) {
      (connection->*step)(error);
      --connection->pending_;
      connection->MaybeDrop();
    }
  };
  Completion Then(Step step) {
    ++pending_;
    return {this, step};
  }
  void MaybeDrop();

  void OnHandshake(Error error);
  void ReadHeader(Duration timeout);
  void OnHeader(Error error);
  void OnBody(Error error);
  void Refuse(const HttpResponse& answer);
  bool ReserveBody(std::uint64_t bytes);
  void ReleaseBody();
  access::Caller CallerRead() const;
  HttpRequest RequestRead() const;

  void Write(const HttpResponse& answer, bool head, bool keep_alive);
  void OnWritten(Error error);
  void WriteChunk();
  void Linger();
  void OnLingered(Error error);
  void OnDiscarded(Error error);
  void ReadSome(Step step);

  void BeginEvents(const EventStreamStart& start);
  void OnClientRead(Error error);
  void StartHeartbeat();
  void OnHeartbeat(Error error);
  void WriteEvents();
  void OnEventsWritten(Error error);
  void EndEvents();

  RestShared& shared_;
  ConnectionOwner& owner_;
  const std::uint64_t id_;
  RestSocket stream_;
  boost::asio::steady_timer timer_;  // Of lingering, or of heartbeats
  access::Caller caller_;            // Of the connection, without the Authorization header
  std::optional<PeerSlot> slot_;
  int pending_ = 0;
  bool closing_ = false;  // After the answer that is being written
  std::string text_;      // Of the write in flight

  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::uint64_t body_reserved_ = 0;
  std::array<char, 1024> discarded_{};

  std::unique_ptr<BodyStream> body_;  // Of the answer that is being written in chunks
  bool chunked_ = false;              // False: to the end of the connection (HTTP/1.0)

  std::optional<PeerSlot> watcher_slot_;
  std::optional<control::EventWatch> watch_;  // Of a watcher
  bool writing_ = false;
  bool wrote_nothing_ = false;  // Since the last heartbeat
};

}  // namespace fabric::api
