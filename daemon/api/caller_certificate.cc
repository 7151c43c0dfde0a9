#include "daemon/api/caller_certificate.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>

namespace fabric::api {
namespace {

constexpr const char* kInsecure = "insecure";  // gRPC's type of connections without TLS

}  // namespace

access::ClientCertificate ToClientCertificate(const tls::Certificate& certificate) {
  return {.common_name = certificate.common_name,
          .uris = certificate.uris,
          .dns_names = certificate.dns_names,
          .not_after = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
              certificate.not_after)};
}

std::optional<access::ClientCertificate> CallerCertificate(const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return std::nullopt;
  const auto pem = connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return std::nullopt;
  const auto certificate = tls::ParseCertificate({pem.front().data(), pem.front().size()});
  // Names that cannot be read identify no one.
  if (!certificate.ok()) return access::ClientCertificate();
  return ToClientCertificate(*certificate);
}

std::string CallerChain(const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return {};
  // On a server, the chain does not contain the certificate itself.
  std::string pem;
  for (const char* const property :
       {GRPC_X509_PEM_CERT_PROPERTY_NAME, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME})
    for (const grpc::string_ref& part : connection->FindPropertyValues(property))
      pem.append(part.data(), part.size()).append("\n");
  return pem;
}

bool IsEncrypted(const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return false;
  const auto type = connection->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  // An unknown type counts as TLS: it needs a certificate.
  return !type.empty() && type.front() != kInsecure;
}

}  // namespace fabric::api
