// TCP connection of one HTTP client, with or without TLS: an asynchronous stream for Asio and
// Beast. Heavy headers; include it in rest_connection only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/tls/contexts.h"
#include "daemon/access/caller.h"

namespace fabric::api {

class RestSocket {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using Error = boost::system::error_code;

  // `sessions`: null for a connection without TLS. If they cannot make a session, encrypted() is
  // false.
  RestSocket(boost::asio::ip::tcp::socket socket, tls::ServerSessions* sessions);

  bool encrypted() const { return tls_.has_value(); }
  // After the handshake; empty if the client presented none.
  std::optional<access::ClientCertificate> Certificate();
  // The connection ended or broke: no answer is possible.
  static bool IsEnd(Error error);
  // A client without TLS sent an HTTP request instead of a handshake.
  static bool IsPlainHttp(Error error);

  template <class Handler>
  void async_handshake(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  // Sends the end of TLS and waits for that of the client.
  template <class Handler>
  void async_shutdown(Handler&& handler) {
    tls_->async_shutdown(std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    else
      tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_)
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    else
      tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

  executor_type get_executor() { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  boost::beast::tcp_stream& tcp() { return tcp_; }
  void expires_after(Duration limit) { tcp_.expires_after(limit); }
  void expires_never() { tcp_.expires_never(); }
  void close() { tcp_.close(); }

 private:
  boost::beast::tcp_stream tcp_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace fabric::api
