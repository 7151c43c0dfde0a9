#include "daemon/api/grpc_tls.h"

#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <string>
#include <utility>

#include "base/ed25519.h"
#include "base/log.h"
#include "base/tls/chain.h"

namespace fabric::api {
namespace {

using grpc::experimental::ExternalCertificateVerifier;
using grpc::experimental::TlsCustomVerificationCheckRequest;

constexpr unsigned int kRefreshSeconds = 1;
constexpr std::string_view kEndOfCertificate = "-----END CERTIFICATE-----";
constexpr Duration kVerifiedFor = std::chrono::minutes(1);
constexpr std::size_t kVerifiedMax = 40'000;

std::string IdentityPem(const tls::TlsMaterial& material) {
  return material.key_pem + "\n" + material.certificate_pem;
}

// gRPC has verified the chain against the CAs; this adds the CRLs.
class ClientVerifier final : public ExternalCertificateVerifier {
 public:
  explicit ClientVerifier(const GrpcTls& tls) : tls_(tls) {}

  bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* answer) override {
    const grpc::string_ref leaf = request->peer_cert();
    if (leaf.empty()) return true;  // A client without a certificate
    // On a server, OpenSSL's chain does not contain the certificate itself.
    const grpc::string_ref chain = request->peer_cert_full_chain();
    const Status verified = tls_.Verify(std::string(leaf.data(), leaf.size()) + "\n" +
                                        std::string(chain.data(), chain.size()));
    if (verified.ok()) return true;
    log::Warning("TLS on gRPC: {}", verified.message());
    *answer = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, verified.message());
    return true;
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const GrpcTls& tls_;
};

}  // namespace

Result<std::unique_ptr<GrpcTls>> GrpcTls::Make(const tls::TlsFiles& files) {
  const tls::TlsMaterial material = files.material();
  ASSIGN_OR_RETURN(tls::MemoryFile identity, tls::MemoryFile::Make(IdentityPem(material)));
  ASSIGN_OR_RETURN(tls::MemoryFile ca, tls::MemoryFile::Make(material.ca_pem));
  return std::unique_ptr<GrpcTls>(new GrpcTls(files, std::move(identity), std::move(ca)));
}

GrpcTls::GrpcTls(const tls::TlsFiles& files, tls::MemoryFile identity, tls::MemoryFile ca)
    : files_(files), identity_(std::move(identity)), ca_(std::move(ca)) {
  const tls::TlsMaterial material = files_.material();
  store_ = tls::MakeStore(material.ca_pem, material.crl_pem);
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          identity_.path(), identity_.path(), ca_.path(), kRefreshSeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  options.set_certificate_verifier(ExternalCertificateVerifier::Create<ClientVerifier>(*this));
  options.set_check_call_host(false);
  credentials_ = grpc::experimental::TlsServerCredentials(options);
}

Status GrpcTls::Update() {
  const tls::TlsMaterial material = files_.material();
  RETURN_IF_ERROR(identity_.Replace(IdentityPem(material)));
  RETURN_IF_ERROR(ca_.Replace(material.ca_pem));
  auto store = tls::MakeStore(material.ca_pem, material.crl_pem);
  const MutexLock lock(mutex_);
  store_ = std::move(store);
  verified_.clear();
  return {};
}

Status GrpcTls::Verify(std::string_view chain_pem) const {
  const std::string certificate = Sha256(chain_pem.substr(0, chain_pem.find(kEndOfCertificate)));
  const SteadyTime now = SystemClock().Now().steady;
  const MutexLock lock(mutex_);
  const auto known = verified_.find(certificate);
  if (known != verified_.end() && now - known->second < kVerifiedFor) return {};
  RETURN_IF_ERROR(tls::VerifyClient(*store_, chain_pem));
  if (verified_.size() >= kVerifiedMax) verified_.clear();
  verified_[certificate] = now;
  return {};
}

}  // namespace fabric::api
