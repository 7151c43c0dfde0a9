#include "daemon/api/caller_certificate.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/lists.h"
#include "base/text.h"

namespace fabric::api {
namespace {

constexpr std::size_t kNamesShown = 5;
constexpr std::string_view kNodeRole = "node";
constexpr const char* kInsecure = "insecure";  // gRPC's type of connections without TLS

// Empty: the certificate names no node.
std::vector<std::string> NodesOf(const access::ClientCertificate& certificate) {
  std::vector<std::string> nodes;
  bool spiffe = false;
  for (const std::string& uri : certificate.uris) {
    spiffe |= uri.starts_with("spiffe://");
    const auto id = tls::ParseSpiffeId(uri);
    if (id.ok() && id->role == kNodeRole) nodes.push_back(id->name);
  }
  return spiffe ? nodes : certificate.dns_names;
}

std::string Names(const access::ClientCertificate& certificate) {
  std::vector<std::string> names = certificate.uris;
  names.insert(names.end(), certificate.dns_names.begin(), certificate.dns_names.end());
  if (names.empty()) return certificate.common_name.empty() ? "no name" : certificate.common_name;
  return ListSome(names, kNamesShown);
}

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

Status CheckNamesNode(const access::ClientCertificate& certificate) {
  if (!NodesOf(certificate).empty()) return {};
  return {Code::kPermissionDenied,
          Format("expected a certificate that names a node (spiffe://DOMAIN/node/NAME or a DNS "
                 "name), saw {}",
                 Names(certificate))};
}

Status CheckNodeName(const access::ClientCertificate& certificate, std::string_view node) {
  if (std::ranges::count(NodesOf(certificate), node) > 0) return {};
  return {Code::kPermissionDenied,
          Format("agent of node {}: expected a certificate that names this node, saw {}",
                 Quoted(node), Names(certificate))};
}

}  // namespace fabric::api
