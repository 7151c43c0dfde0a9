#include "base/tls/handshake.h"

#include <netdb.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/text.h"
#include "base/tls/chain.h"
#include "base/tls/contexts.h"
#include "base/tls/openssl.h"

namespace fabric::tls {
namespace {

constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};

// OpenSSL writes without MSG_NOSIGNAL: blocks SIGPIPE in this thread and discards it.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once{};
    (void)sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A connected socket with timeouts; -1 if that fails.
int Connect(const HostPort& server, Duration patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = Format("{}", server.port);
  if (getaddrinfo(server.host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const timeval limit{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  int connected = -1;
  for (const addrinfo* at = found; at != nullptr && connected < 0; at = at->ai_next) {
    const int descriptor = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(descriptor, at->ai_addr, at->ai_addrlen) == 0)
      connected = descriptor;
    else
      close(descriptor);
  }
  freeaddrinfo(found);
  return connected;
}

std::optional<Certificate> CertificateOf(const SSL& session) {
  const Owned<X509> certificate(SSL_get1_peer_certificate(&session));
  if (certificate == nullptr) return std::nullopt;
  auto facts = FactsOf(*certificate);
  return facts.ok() ? std::optional(*std::move(facts)) : std::nullopt;
}

Status ServerRefused(const SSL& session, const HostPort& server) {
  const long result = SSL_get_verify_result(&session);
  if (result == X509_V_OK) return {};
  const auto seen = CertificateOf(session);
  const std::string names = seen ? NamesOf(*seen) : "no name";
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH)
    return {Code::kUnauthenticated,
            Format("certificate of the server: expected the name {}, saw {}", server.host, names)};
  std::string details;
  if (seen && result == X509_V_ERR_CERT_HAS_EXPIRED)
    details = Format(" at {}", ToText(seen->not_after));
  else if (seen && ReasonOf(result) == "signed by an unknown CA")
    details = Format(" ({})", seen->issuer);
  return {Code::kUnauthenticated,
          Format("certificate of the server ({}) refused: {}{}", names, ReasonOf(result), details)};
}

bool OffersHttp2(const SSL& session) {
  const unsigned char* selected = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(&session, &selected, &length);
  return length > 0;  // Only HTTP/2 was asked for.
}

// With TLS 1.3 the server answers to the client's certificate after the handshake.
Status ClientRefused(SSL& session, const TlsMaterial& material) {
  char byte = 0;
  const int read = SSL_read(&session, &byte, 1);
  if (read > 0) return {};
  const int error = SSL_get_error(&session, read);
  const std::string names =
      material.certificate ? NamesOf(*material.certificate) : "no certificate";
  if (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) > SSL_AD_REASON_OFFSET)
    return {Code::kUnauthenticated,
            Format("the server refused the certificate of this client ({}): {}", names,
                   TakeOpenSslError())};
  if (error == SSL_ERROR_WANT_READ) return {};  // Nothing to read: no refusal
  (void)TakeOpenSslError();
  return {Code::kUnauthenticated,
          Format("the server closed the connection after the handshake; its log has the reason. "
                 "Certificate of this client: {}",
                 names)};
}

}  // namespace

Status ExplainFailure(const HostPort& server, const TlsMaterial* material, Duration patience) {
  const NoSigpipe no_sigpipe;
  const Socket socket(Connect(server, patience));
  if (socket.get() < 0) return {};
  ASSIGN_OR_RETURN(const Owned<SSL_CTX> context,
                   MakeClientContext(material == nullptr ? TlsMaterial() : *material));
  const Owned<SSL> session(SSL_new(context.get()));
  SSL_set_fd(session.get(), socket.get());
  SSL_set_alpn_protos(session.get(), kHttp2.data(), kHttp2.size());
  ExpectServer(*session, server.host);
  ERR_clear_error();
  const int connected = SSL_connect(session.get());
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  if (material == nullptr) {
    (void)TakeOpenSslError();
    // An alert of the server is an answer in TLS too.
    if (connected != 1 && reason <= SSL_AD_REASON_OFFSET) return {};
    return {Code::kFailedPrecondition,
            Format("expected a server without TLS at {}, saw TLS: set tls-ca, and tls-cert and "
                   "tls-key if it asks for a certificate",
                   ToString(server))};
  }
  if (connected == 1) {
    RETURN_IF_ERROR(ServerRefused(*session, server));
    if (!OffersHttp2(*session)) return {};  // A port of another protocol, which gRPC reports
    return ClientRefused(*session, *material);
  }
  const std::string text = TakeOpenSslError();
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
    return {Code::kFailedPrecondition,
            Format("expected TLS at {}, saw a server without TLS", ToString(server))};
  if (reason == 0) return {};  // Closed or no answer: no evidence about TLS
  return {Code::kFailedPrecondition, Format("TLS handshake with {}: {}", ToString(server), text)};
}

}  // namespace fabric::tls
