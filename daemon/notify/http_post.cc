#include "daemon/notify/http_post.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "base/tls/openssl.h"

namespace fabric::notify {
namespace {

constexpr std::size_t kHeadBytesMax = 4096;

Status Unavailable(const Url& url, std::string_view reason) {
  return {Code::kUnavailable, Format("{}:{}: {}", url.host, url.port, reason)};
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Also limits the time of connect(2).
void LimitTime(int fd, Duration left) {
  const auto us = std::max<std::int64_t>(
      1000, std::chrono::duration_cast<std::chrono::microseconds>(left).count());
  const timeval limit{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Result<Socket> Connect(const Url& url, SteadyTime deadline, const Clock& clock) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found))
    return Unavailable(url, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::string reason = "no address";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const Duration left = deadline - clock.Now().steady;
    if (left <= Duration::zero()) return Unavailable(url, "timed out");
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket.fd() < 0) continue;
    LimitTime(socket.fd(), left);
    if (::connect(socket.fd(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    reason = errno == EINPROGRESS ? "timed out" : std::strerror(errno);
  }
  return Unavailable(url, reason);
}

// A connection, with or without TLS.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual std::ptrdiff_t Write(std::string_view bytes) = 0;     // <= 0: failed
  virtual std::ptrdiff_t Read(char* to, std::size_t size) = 0;  // <= 0: ended or failed
};

class Plain final : public Connection {
 public:
  explicit Plain(int fd) : fd_(fd) {}
  std::ptrdiff_t Write(std::string_view bytes) override {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  std::ptrdiff_t Read(char* to, std::size_t size) override { return ::recv(fd_, to, size, 0); }

 private:
  const int fd_;
};

class Encrypted final : public Connection {
 public:
  Encrypted(tls::Owned<SSL_CTX> context, tls::Owned<SSL> session)
      : context_(std::move(context)), session_(std::move(session)) {}
  std::ptrdiff_t Write(std::string_view bytes) override {
    return ::SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::ptrdiff_t Read(char* to, std::size_t size) override {
    return ::SSL_read(session_.get(), to, static_cast<int>(size));
  }

 private:
  tls::Owned<SSL_CTX> context_;
  tls::Owned<SSL> session_;
};

Result<std::unique_ptr<Connection>> Encrypt(const HttpPost& post, int fd) {
  tls::Owned<SSL_CTX> context(::SSL_CTX_new(::TLS_client_method()));
  if (!context) return Unavailable(post.url, tls::TakeOpenSslError());
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int known = post.ca_file.empty() ? ::SSL_CTX_set_default_verify_paths(context.get())
                                         : ::SSL_CTX_load_verify_locations(
                                               context.get(), post.ca_file.c_str(), nullptr);
  if (known != 1) return Unavailable(post.url, "CAs: " + tls::TakeOpenSslError());
  tls::Owned<SSL> session(::SSL_new(context.get()));
  if (!session || ::SSL_set_fd(session.get(), fd) != 1)
    return Unavailable(post.url, tls::TakeOpenSslError());
  // An address is checked against the addresses of the certificate.
  if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session.get()), post.url.host.c_str()) !=
      1) {
    (void)tls::TakeOpenSslError();
    (void)::SSL_set_tlsext_host_name(session.get(), post.url.host.c_str());
    (void)::SSL_set1_host(session.get(), post.url.host.c_str());
  }
  if (::SSL_connect(session.get()) != 1) {
    const long verdict = ::SSL_get_verify_result(session.get());
    const std::string error = tls::TakeOpenSslError();
    return Unavailable(post.url, verdict == X509_V_OK
                                     ? "TLS: " + error
                                     : Format("certificate of the server refused: {}",
                                              ::X509_verify_cert_error_string(verdict)));
  }
  return std::unique_ptr<Connection>(
      std::make_unique<Encrypted>(std::move(context), std::move(session)));
}

std::string TextOf(const HttpPost& post) {
  const Url& url = post.url;
  const bool address = url.host.find(':') != url.host.npos;
  std::string text = Format(
      "POST {} HTTP/1.1\r\nHost: {}{}{}:{}\r\nContent-Length: {}\r\n"
      "Content-Type: application/json\r\nConnection: close\r\n",
      url.target, address ? "[" : "", url.host, address ? "]" : "", url.port, post.body.size());
  for (const auto& [name, value] : post.headers) text += Format("{}: {}\r\n", name, value);
  return text + "\r\n" + post.body;
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  const auto wrong = [&](std::string_view expected) {
    return Status(Code::kInvalidArgument, Format("expected {}, saw {}", expected, Quoted(text)));
  };
  Url url;
  for (const char c : text)
    if (c <= ' ' || c == '\x7f') return wrong("a URL without blanks and control characters");
  if (text.starts_with("https://"))
    url.tls = true;
  else if (!text.starts_with("http://"))
    return wrong("a URL that starts with https:// or http://");
  const std::string_view rest = text.substr(url.tls ? 8 : 7);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view host = rest.substr(0, end);
  if (host.find('@') != host.npos) return wrong("a URL without a user name");
  url.target = std::string(rest.substr(end));
  if (!url.target.starts_with('/')) url.target = "/" + url.target;
  if (const std::size_t hash = url.target.find('#'); hash != url.target.npos)
    url.target.resize(hash);
  url.port = url.tls ? "443" : "80";
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && (bracket == host.npos || colon > bracket)) {
    const auto port = ParseNumber<std::uint16_t>(host.substr(colon + 1));
    if (!port.ok() || *port == 0) return wrong("a port from 1 to 65535");
    url.port = Format("{}", *port);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong("a URL with a host");
  url.host = std::string(host);
  return url;
}

Status StatusOfAnswer(std::string_view head) {
  const std::vector<std::string_view> words = Words(head.substr(0, head.find('\r')));
  const auto number =
      words.size() > 1 ? ParseNumber<int>(words[1]) : Result<int>(Status(Code::kDataLoss, ""));
  if (!head.starts_with("HTTP/1.") || !number.ok() || *number < 100 || *number > 599)
    return {Code::kUnavailable,
            Format("expected an HTTP status, saw {}", Quoted(head.substr(0, 40)))};
  if (*number >= 200 && *number < 300) return {};
  const bool final = *number >= 400 && *number < 500 && *number != 408 && *number != 429;
  return {final ? Code::kInvalidArgument : Code::kUnavailable, Format("HTTP status {}", *number)};
}

Status Post(const HttpPost& post, const Clock& clock) {
  const SteadyTime deadline = clock.Now().steady + post.timeout;
  ASSIGN_OR_RETURN(const Socket socket, Connect(post.url, deadline, clock));
  std::unique_ptr<Connection> connection = std::make_unique<Plain>(socket.fd());
  if (post.url.tls) {
    ASSIGN_OR_RETURN(connection, Encrypt(post, socket.fd()));
  }
  const std::string text = TextOf(post);
  for (std::string_view left = text; !left.empty();) {
    if (clock.Now().steady > deadline) return Unavailable(post.url, "timed out");
    const std::ptrdiff_t sent = connection->Write(left);
    if (sent <= 0) return Unavailable(post.url, "connection closed while sending");
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string head;
  while (head.find('\n') == head.npos && head.size() < kHeadBytesMax) {
    if (clock.Now().steady > deadline) return Unavailable(post.url, "no answer in time");
    char bytes[512];
    const std::ptrdiff_t got = connection->Read(bytes, sizeof bytes);
    if (got <= 0) return Unavailable(post.url, "no answer");
    head.append(bytes, static_cast<std::size_t>(got));
  }
  const Status status = StatusOfAnswer(head);
  return status.In(Format("{}:{}", post.url.host, post.url.port));
}

}  // namespace fabric::notify
