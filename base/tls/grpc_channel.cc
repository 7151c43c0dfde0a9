#include "base/tls/grpc_channel.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <memory>
#include <vector>

namespace fabric::tls {

ChannelCredentials MakeChannelCredentials(const TlsMaterial& material) {
  std::vector<grpc::experimental::IdentityKeyCertPair> identity;
  if (!material.certificate_pem.empty())
    identity.push_back(
        {.private_key = material.key_pem, .certificate_chain = material.certificate_pem});
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(material.ca_pem,
                                                                          identity));
  options.watch_root_certs();
  if (!identity.empty()) options.watch_identity_key_cert_pairs();
  // gRPC's default verifier checks the name of the server.
  return grpc::experimental::TlsCredentials(options);
}

ChannelCredentials MakeUnverifiedCredentials() {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace fabric::tls
