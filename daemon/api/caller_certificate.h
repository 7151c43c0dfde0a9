// Certificate of a caller, as the connection proves it.
#pragma once

#include <optional>
#include <string>

#include "base/tls/certificate.h"
#include "daemon/access/caller.h"

namespace grpc {
class ServerContextBase;
}  // namespace grpc

namespace fabric::api {

access::ClientCertificate ToClientCertificate(const tls::Certificate& certificate,
                                              std::string chain_pem);

// Empty without TLS, and if the client presented none.
std::optional<access::ClientCertificate> CallerCertificate(const grpc::ServerContextBase& context);

// The connection uses TLS.
bool IsEncrypted(const grpc::ServerContextBase& context);

}  // namespace fabric::api
