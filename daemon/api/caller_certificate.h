// Certificate of a caller, as the connection proves it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/tls/certificate.h"
#include "daemon/access/caller.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fabric::api {

access::ClientCertificate ToClientCertificate(const tls::Certificate& certificate);

// Empty without TLS, and if the client presented none.
std::optional<access::ClientCertificate> CallerCertificate(const grpc::ServerContextBase& context);

// The certificate with its chain, PEM. Empty as above.
std::string CallerChain(const grpc::ServerContextBase& context);

// The connection uses TLS.
bool IsEncrypted(const grpc::ServerContextBase& context);

// An agent may speak for the node that its certificate names: by a URI spiffe://DOMAIN/node/NAME,
// or by a DNS name if the certificate has no spiffe URI. PERMISSION_DENIED with the expected and
// the seen names.
Status CheckNodeName(const access::ClientCertificate& certificate, std::string_view node);

// PERMISSION_DENIED if the certificate names no node, so that it cannot open a session.
Status CheckNamesNode(const access::ClientCertificate& certificate);

}  // namespace fabric::api
