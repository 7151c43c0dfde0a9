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
#include <optional>
#include <utility>

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
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";

std::uint16_t UsualPort(const Url& url) {
  return url.tls ? 443 : 80;
}

// As in the header Host
std::string HostOf(const Url& url) {
  if (url.port != UsualPort(url)) return fabric::ToString(HostPort{url.host, url.port});
  return url.host.find(':') == url.host.npos ? url.host : Format("[{}]", url.host);
}

std::string OriginOf(const Url& url) {
  Url origin = url;
  origin.target.clear();
  return ToString(origin);
}

http::request<http::string_body> RequestOf(const Url& url, const Content* content) {
  http::request<http::string_body> request(content == nullptr ? http::verb::get : http::verb::post,
                                           url.target, kHttp11);
  request.set(http::field::host, HostOf(url));
  request.set(http::field::user_agent, "fabricd");
  request.set(http::field::accept, "application/json");
  request.set(http::field::connection, "close");
  if (content == nullptr) return request;
  request.set(http::field::content_type, content->type);
  for (const auto& [name, value] : content->headers) request.set(name, value);
  request.body() = content->body;
  request.prepare_payload();
  return request;
}

// One request on one connection. Each step runs until it ends or the time is over.
class Exchange {
 public:
  Exchange(const Url& url, const Limits& limits)
      : url_(url),
        limits_(limits),
        deadline_(std::chrono::steady_clock::now() + limits.patience),
        tcp_(io_) {}

  // `session`: nullptr without TLS
  Result<Answer> Run(const Content* content, tls::Owned<SSL> session) {
    RETURN_IF_ERROR(Connect());
    if (session == nullptr) return Talk(tcp_, content);
    net::ssl::stream<beast::tcp_stream&> stream(tcp_, session.release());  // The stream owns it.
    if (const Error error =
            Step([&](auto done) { stream.async_handshake(net::ssl::stream_base::client, done); }))
      return HandshakeFailed(error, SSL_get_verify_result(stream.native_handle()));
    return Talk(stream, content);
  }

 private:
  Status Failed(std::string_view reason) const {
    return {Code::kUnavailable, Format("{}: {}", OriginOf(url_), reason)};
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

  Status HandshakeFailed(Error error, long verdict) const {
    if (verdict != X509_V_OK)
      return Failed("certificate of the server refused: " + tls::ReasonOf(verdict));
    return Failed("TLS: " + error.message());
  }

  template <class Stream>
  Result<Answer> Talk(Stream& stream, const Content* content) {
    const auto request = RequestOf(url_, content);
    if (const Error error = Step([&](auto done) { http::async_write(stream, request, done); }))
      return Failed(error.message());
    http::response_parser<http::string_body> parser;
    parser.header_limit(kHeaderBytesMax);
    if (limits_.read_body)
      parser.body_limit(limits_.bytes_max);
    else
      parser.body_limit(boost::none);  // Else a long Content-Length is an error.
    beast::flat_buffer buffer;
    const Error error = Step([&](auto done) {
      if (limits_.read_body)
        http::async_read(stream, buffer, parser, done);
      else
        http::async_read_header(stream, buffer, parser, done);
    });
    if (error == http::error::body_limit)
      return Status(Code::kResourceExhausted,
                    Format("{}: expected an answer of at most {} bytes, saw a longer one",
                           OriginOf(url_), limits_.bytes_max));
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
};

Result<Answer> Request(const Url& url, const Content* content, const Limits& limits) {
  tls::Owned<SSL> session;
  if (url.tls) {
    ASSIGN_OR_RETURN(const tls::Owned<SSL_CTX> context, tls::MakeHttpsContext(limits.ca_pem));
    session.reset(SSL_new(context.get()));
    if (session == nullptr)
      return Status(Code::kInternal, "OpenSSL cannot make a session: " + tls::TakeOpenSslError());
    tls::ExpectServer(*session, url.host);
  }
  try {
    return Exchange(url, limits).Run(content, std::move(session));
  } catch (const std::exception& error) {
    return Status(Code::kInternal, Format("{}: {}", OriginOf(url), error.what()));
  }
}

// What follows the scheme.
std::optional<Url> ParseAfterScheme(std::string_view text, bool tls) {
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '#'; })) return {};
  const std::size_t slash = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, slash);
  Url url{.tls = tls};
  if (slash < text.size())
    url.target = (text[slash] == '?' ? "/" : "") + std::string(text.substr(slash));
  if (authority.empty() || authority.find('@') != authority.npos) return {};
  const bool has_port = authority.find(':', authority.rfind(']') + 1) != authority.npos;
  const auto address =
      ParseHostPort(has_port ? std::string(authority) : Format("{}:{}", authority, UsualPort(url)));
  if (!address.ok() || address->host.empty() || address->port == 0) return {};
  url.host = address->host;
  url.port = address->port;
  return url;
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  if (text.starts_with(kHttps))
    if (auto url = ParseAfterScheme(text.substr(kHttps.size()), true)) return *std::move(url);
  return Status(Code::kInvalidArgument,
                Format("expected https://HOST[:PORT][/PATH], saw {}", Quoted(text)));
}

Result<Url> ParseHttpUrl(std::string_view text) {
  if (text.starts_with(kHttps)) return ParseUrl(text);
  if (text.starts_with(kHttp))
    if (auto url = ParseAfterScheme(text.substr(kHttp.size()), false)) return *std::move(url);
  return Status(Code::kInvalidArgument,
                Format("expected http[s]://HOST[:PORT][/PATH], saw {}", Quoted(text)));
}

std::string ToString(const Url& url) {
  return Format("{}{}{}", url.tls ? kHttps : kHttp, HostOf(url), url.target);
}

Result<Answer> Get(const Url& url, const Limits& limits) {
  return Request(url, nullptr, limits);
}

Result<Answer> Post(const Url& url, const Content& content, const Limits& limits) {
  return Request(url, &content, limits);
}

}  // namespace fabric::https
