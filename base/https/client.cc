#include "base/https/client.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>

#include "base/grammar.h"
#include "base/text.h"
#include "base/tls/chain.h"
#include "base/tls/contexts.h"
#include "base/tls/openssl.h"

namespace fabric::https {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;
using net::ip::tcp;
using Error = boost::system::error_code;

constexpr std::uint32_t kHeaderBytesMax = 32 << 10;
constexpr int kHttp11 = 11;

// One request on one connection. Each step runs until it ends or the time is over.
class Exchange {
 public:
  Exchange(const Url& url, const Limits& limits, SSL* session)
      : url_(url),
        limits_(limits),
        deadline_(std::chrono::steady_clock::now() + limits.patience),
        tcp_(io_),
        stream_(tcp_, session) {}

  Result<Answer> Run(http::verb verb, std::string_view form) {
    RETURN_IF_ERROR(Connect());
    if (const Error error =
            Step([&](auto done) { stream_.async_handshake(net::ssl::stream_base::client, done); }))
      return HandshakeFailed(error);
    http::request<http::string_body> request(verb, url_.target, kHttp11);
    request.set(http::field::host,
                url_.port == 443 ? url_.host : Format("{}:{}", url_.host, url_.port));
    request.set(http::field::user_agent, "fabricd");
    request.set(http::field::accept, "application/json");
    request.set(http::field::connection, "close");
    if (verb == http::verb::post) {
      request.set(http::field::content_type, "application/x-www-form-urlencoded");
      request.body() = form;
      request.prepare_payload();
    }
    if (const Error error = Step([&](auto done) { http::async_write(stream_, request, done); }))
      return Failed(error.message());
    return Read();
  }

 private:
  Status Failed(std::string_view reason) const {
    return {Code::kUnavailable, Format("{}: {}", ToString(url_), reason)};
  }

  // Starts an operation and waits for its end. The time limit of the connection ends it.
  template <class Start>
  Error Step(const Start& start) {
    Error result = net::error::would_block;
    tcp_.expires_at(deadline_);
    start([&](Error error, auto&&...) { result = error; });
    io_.restart();
    io_.run();
    return result;
  }

  Status Connect() {
    Error error = net::error::would_block;
    tcp::resolver::results_type found;
    tcp::resolver resolver(io_);
    resolver.async_resolve(url_.host, Format("{}", url_.port),
                           [&](Error failure, tcp::resolver::results_type results) {
                             error = failure;
                             found = std::move(results);
                           });
    io_.run_until(deadline_);
    if (error == net::error::would_block) return Failed("no answer of the name server in time");
    if (error) return Failed(error.message());
    error = Step([&](auto done) { tcp_.async_connect(found, done); });
    return error
               ? Failed(error == beast::error::timeout ? "no connection in time" : error.message())
               : Status();
  }

  Status HandshakeFailed(Error error) {
    const long result = SSL_get_verify_result(stream_.native_handle());
    if (result != X509_V_OK)
      return Failed("certificate of the server refused: " + tls::ReasonOf(result));
    return Failed("TLS: " + error.message());
  }

  Result<Answer> Read() {
    http::response_parser<http::string_body> parser;
    parser.header_limit(kHeaderBytesMax);
    parser.body_limit(limits_.bytes_max);
    beast::flat_buffer buffer;
    const Error error = Step([&](auto done) { http::async_read(stream_, buffer, parser, done); });
    if (error == http::error::body_limit)
      return Status(Code::kResourceExhausted,
                    Format("{}: expected an answer of at most {} bytes, saw a longer one",
                           ToString(url_), limits_.bytes_max));
    if (error && !parser.is_done())
      return Failed(error == beast::error::timeout ? "no answer in time" : error.message());
    return Answer{.status = static_cast<int>(parser.get().result_int()),
                  .body = std::move(parser.get().body())};
  }

  const Url& url_;
  const Limits& limits_;
  const std::chrono::steady_clock::time_point deadline_;
  net::io_context io_{1};
  beast::tcp_stream tcp_;
  net::ssl::stream<beast::tcp_stream&> stream_;
};

Result<Answer> Request(const Url& url, http::verb verb, std::string_view form,
                       const Limits& limits) {
  ASSIGN_OR_RETURN(const tls::Owned<SSL_CTX> context, tls::MakeHttpsContext(limits.ca_pem));
  tls::Owned<SSL> session(SSL_new(context.get()));
  if (session == nullptr)
    return Status(Code::kInternal, "OpenSSL cannot make a session: " + tls::TakeOpenSslError());
  tls::ExpectServer(*session, url.host);
  try {
    Exchange exchange(url, limits, session.release());  // The stream owns it.
    return exchange.Run(verb, form);
  } catch (const std::exception& error) {
    return Status(Code::kInternal, Format("{}: {}", ToString(url), error.what()));
  }
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  const Status wrong(Code::kInvalidArgument,
                     Format("expected https://HOST[:PORT][/PATH], saw {}", Quoted(text)));
  const bool plain =
      std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '#'; });
  if (!plain || !text.starts_with(kScheme)) return wrong;
  text.remove_prefix(kScheme.size());
  const std::size_t slash = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, slash);
  Url url;
  if (slash < text.size())
    url.target = (text[slash] == '?' ? "/" : "") + std::string(text.substr(slash));
  if (authority.empty() || authority.find('@') != authority.npos) return wrong;
  const bool has_port = authority.find(':', authority.rfind(']') + 1) != authority.npos;
  const auto address =
      ParseHostPort(has_port ? std::string(authority) : std::string(authority) + ":443");
  if (!address.ok() || address->host.empty() || address->port == 0) return wrong;
  url.host = address->host;
  url.port = address->port;
  return url;
}

std::string ToString(const Url& url) {
  const std::string host =
      url.port == 443 ? url.host : fabric::ToString(HostPort{url.host, url.port});
  return Format("https://{}{}", host, url.target);
}

Result<Answer> Get(const Url& url, const Limits& limits) {
  return Request(url, http::verb::get, {}, limits);
}

Result<Answer> Post(const Url& url, std::string_view form, const Limits& limits) {
  return Request(url, http::verb::post, form, limits);
}

}  // namespace fabric::https
