#include "daemon/api/rest/rest_socket.h"

#include <openssl/err.h>

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

#include "daemon/api/caller_certificate.h"

namespace fabric::api {
namespace {

namespace beast = boost::beast;
namespace net = boost::asio;

}  // namespace

RestSocket::RestSocket(net::ip::tcp::socket socket, tls::ServerSessions* sessions)
    : tcp_(std::move(socket)) {
  if (sessions == nullptr) return;
  auto session = sessions->Make();
  if (session.ok()) tls_.emplace(tcp_, session->release());
}

std::optional<access::ClientCertificate> RestSocket::Certificate() {
  if (!tls_) return std::nullopt;
  const tls::Owned<X509> certificate(SSL_get1_peer_certificate(tls_->native_handle()));
  if (certificate == nullptr) return std::nullopt;
  const auto facts = tls::FactsOf(*certificate);
  // Names that cannot be read identify no one.
  if (!facts.ok()) return access::ClientCertificate();
  std::string chain = tls::CertificatePem(*certificate);
  // On a server, the chain does not contain the certificate itself.
  const STACK_OF(X509)* const others = SSL_get_peer_cert_chain(tls_->native_handle());
  for (int n = 0; n < sk_X509_num(others); ++n)
    chain += tls::CertificatePem(*sk_X509_value(others, n));
  return ToClientCertificate(*facts, std::move(chain));
}

bool RestSocket::IsEnd(Error error) {
  return error == beast::http::error::end_of_stream || error == beast::error::timeout ||
         error == net::ssl::error::stream_truncated ||
         (error && (error.category() == net::error::get_system_category() ||
                    error.category() == net::error::get_ssl_category()));
}

bool RestSocket::IsPlainHttp(Error error) {
  return error.category() == net::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace fabric::api
