#include "base/tls/chain.h"

#include <vector>

#include "base/text.h"
#include "base/tls/certificate.h"
#include "base/tls/request.h"

namespace fabric::tls {
namespace {

struct Verification {
  int result = X509_V_OK;
  std::string root;  // Fingerprint of the last certificate, if the result is X509_V_OK
};

// `purpose`: "ssl_client" or "ssl_server"
Verification Verify(X509_STORE& store, const std::vector<Owned<X509>>& chain, const char* purpose) {
  STACK_OF(X509)* const others = sk_X509_new_null();
  for (std::size_t n = 1; n < chain.size(); ++n) sk_X509_push(others, chain[n].get());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), &store, chain.front().get(), others);
  X509_STORE_CTX_set_default(context.get(), purpose);
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context.get()), kSecurityLevel);
  Verification verification;
  if (X509_verify_cert(context.get()) == 1) {
    const STACK_OF(X509)* const built = X509_STORE_CTX_get0_chain(context.get());
    verification.root = FingerprintOf(*sk_X509_value(built, sk_X509_num(built) - 1));
  } else {
    verification.result = X509_STORE_CTX_get_error(context.get());
  }
  sk_X509_free(others);
  (void)TakeOpenSslError();
  return verification;
}

}  // namespace

Owned<X509_STORE> MakeStore(std::string_view ca_pem, std::string_view crl_pem) {
  Owned<X509_STORE> store(X509_STORE_new());
  for (const auto& ca : ReadCertificates(ca_pem)) X509_STORE_add_cert(store.get(), ca.get());
  for (const auto& crl : ReadCrls(crl_pem)) X509_STORE_add_crl(store.get(), crl.get());
  if (!crl_pem.empty()) X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK);
  return store;
}

Status VerifyClient(X509_STORE& store, std::string_view chain_pem) {
  const auto chain = ReadCertificates(chain_pem);
  if (chain.empty()) return {Code::kUnauthenticated, "expected a certificate, saw none"};
  const Verification verified = Verify(store, chain, "ssl_client");
  if (verified.result == X509_V_OK) return {};
  const int reason = verified.result;
  const auto facts = ParseCertificate(chain_pem);
  return {Code::kUnauthenticated,
          Format("certificate of {} refused: {}", facts.ok() ? NamesOf(*facts) : "a client",
                 ReasonOf(reason))};
}

std::string FingerprintOfRoot(std::string_view ca_pem, std::string_view chain_pem) {
  const auto chain = ReadCertificates(chain_pem);
  if (chain.empty()) return {};
  return Verify(*MakeStore(ca_pem, {}), chain, "ssl_server").root;
}

std::string ReasonOf(long verify_result) {
  switch (verify_result) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: return "signed by an unknown CA";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "certificate expired";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "certificate not yet valid: check the clocks";
    case X509_V_ERR_CERT_REVOKED: return "certificate revoked";
    case X509_V_ERR_UNABLE_TO_GET_CRL: return "no CRL of its CA";
    case X509_V_ERR_CRL_HAS_EXPIRED: return "the CRL is out of date";
    case X509_V_ERR_INVALID_PURPOSE: return "certificate not usable for this side of a connection";
    default: return X509_verify_cert_error_string(verify_result);
  }
}

}  // namespace fabric::tls
