#include "daemon/api/caller_certificate.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <utility>

namespace fabric::api {
namespace {

constexpr const char* kInsecure = "insecure";  // gRPC's type of connections without TLS

}  // namespace

access::ClientCertificate ToClientCertificate(const tls::Certificate& certificate,
                                              std::string chain_pem) {
  return {.common_name = certificate.common_name,
          .uris = certificate.uris,
          .dns_names = certificate.dns_names,
          .not_after = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
              certificate.not_after),
          .chain_pem = std::move(chain_pem)};
}

std::optional<access::ClientCertificate> CallerCertificate(const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return std::nullopt;
  const auto pem = connection->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (pem.empty()) return std::nullopt;
  std::string chain(pem.front().data(), pem.front().size());
  const auto certificate = tls::ParseCertificate(chain);
  // Names that cannot be read identify no one.
  if (!certificate.ok()) return access::ClientCertificate();
  // On a server, the chain does not contain the certificate itself.
  for (const grpc::string_ref& part :
       connection->FindPropertyValues(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME))
    chain.append("\n").append(part.data(), part.size());
  return ToClientCertificate(*certificate, std::move(chain));
}

bool IsEncrypted(const grpc::ServerContextBase& context) {
  const auto connection = context.auth_context();
  if (connection == nullptr) return false;
  const auto type = connection->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  // An unknown type counts as TLS: it needs a certificate.
  return !type.empty() && type.front() != kInsecure;
}

}  // namespace fabric::api
