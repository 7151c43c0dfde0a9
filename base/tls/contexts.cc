#include "base/tls/contexts.h"

#include <openssl/err.h>

#include <utility>

#include "base/text.h"
#include "base/tls/chain.h"

namespace fabric::tls {
namespace {

Status UseIdentity(const TlsMaterial& material, SSL_CTX& context) {
  const auto chain = ReadCertificates(material.certificate_pem);
  const auto key = ReadPrivateKey(material.key_pem);
  bool used = !chain.empty() && key != nullptr &&
              SSL_CTX_use_certificate(&context, chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(&context, key.get()) == 1;
  for (std::size_t n = 1; used && n < chain.size(); ++n)
    used = SSL_CTX_add1_chain_cert(&context, chain[n].get()) == 1;
  if (used) return {};
  return {Code::kInvalidArgument,
          Format("OpenSSL refuses the certificate or its key: {}", TakeOpenSslError())};
}

Result<Owned<SSL_CTX>> MakeContext(const SSL_METHOD* method, const TlsMaterial& material) {
  Owned<SSL_CTX> context(SSL_CTX_new(method));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1)
    return Status(Code::kInternal, "OpenSSL refuses TLS 1.3: " + TakeOpenSslError());
  SSL_CTX_set_security_level(context.get(), kSecurityLevel);
  if (!material.certificate_pem.empty()) RETURN_IF_ERROR(UseIdentity(material, *context));
  SSL_CTX_set1_cert_store(context.get(), MakeStore(material.ca_pem, material.crl_pem).get());
  return context;
}

}  // namespace

Result<Owned<SSL_CTX>> MakeServerContext(const TlsMaterial& material) {
  ASSIGN_OR_RETURN(Owned<SSL_CTX> context, MakeContext(TLS_server_method(), material));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  for (const auto& ca : ReadCertificates(material.ca_pem))
    SSL_CTX_add_client_CA(context.get(), ca.get());
  // A resumed session would not check the client's certificate against a new CRL.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

Result<Owned<SSL_CTX>> MakeClientContext(const TlsMaterial& material) {
  ASSIGN_OR_RETURN(Owned<SSL_CTX> context, MakeContext(TLS_client_method(), material));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  return context;
}

Result<Owned<SSL_CTX>> MakeHttpsContext(std::string_view ca_pem) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
    return Status(Code::kInternal, "OpenSSL refuses TLS 1.2: " + TakeOpenSslError());
  SSL_CTX_clear_options(context.get(), SSL_OP_NO_TLSv1_2);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context.get()) == 1) return context;
    return Status(Code::kInvalidArgument,
                  "OpenSSL cannot read the CAs of the system: " + TakeOpenSslError());
  }
  if (ReadCertificates(ca_pem).empty())
    return Status(Code::kInvalidArgument, Format("expected CAs in PEM, saw {}", KindOfPem(ca_pem)));
  SSL_CTX_set1_cert_store(context.get(), MakeStore(ca_pem, {}).get());
  return context;
}

void ExpectServer(SSL& session, const std::string& host) {
  X509_VERIFY_PARAM* const expected = SSL_get0_param(&session);
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return;
  ERR_clear_error();
  X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
  SSL_set_tlsext_host_name(&session, host.c_str());
}

Result<Owned<SSL>> ServerSessions::Make() {
  const MutexLock lock(mutex_);
  const std::uint64_t version = files_.version();
  if (version != version_) {
    ASSIGN_OR_RETURN(context_, MakeServerContext(files_.material()));
    version_ = version;
  }
  Owned<SSL> session(SSL_new(context_.get()));
  if (session == nullptr)
    return Status(Code::kInternal, "OpenSSL cannot make a session: " + TakeOpenSslError());
  return session;
}

}  // namespace fabric::tls
