// Owners of OpenSSL objects, and its errors as text. Include it only where OpenSSL is called.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/certificate.h"

namespace fabric::tls {

struct OpenSslFree {
  void operator()(ASN1_STRING* text) const { ASN1_STRING_free(text); }  // Also numbers and times
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* crl) const { X509_CRL_free(crl); }
  void operator()(X509_REQ* request) const { X509_REQ_free(request); }
  void operator()(X509_REVOKED* entry) const { X509_REVOKED_free(entry); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, OpenSslFree>;

// Kinds of objects in PEM files.
std::vector<Owned<X509>> ReadCertificates(std::string_view pem);  // Up to the first invalid one
std::vector<Owned<X509_CRL>> ReadCrls(std::string_view pem);
Owned<EVP_PKEY> ReadPrivateKey(std::string_view pem);  // Never asks for a passphrase
Owned<X509_REQ> ReadCertificateRequest(std::string_view pem);

// Kind of the text, for messages, which must not contain the text itself: "a private key".
std::string_view KindOfPem(std::string_view pem);

// INVALID_ARGUMENT as ParseCertificate.
Result<Certificate> FactsOf(X509& certificate);

std::string KeyPem(EVP_PKEY& key);  // PKCS #8. Secret
std::string CertificatePem(X509& certificate);
std::string TextOf(BIO* bio);               // Content of a memory BIO
std::string TextOf(const X509_NAME* name);  // "CN=fabricd,O=example" (RFC 2253)
WallTime TimeOf(const ASN1_TIME* time);

// The newest error of this thread, without numbers: "no shared cipher". Clears the queue.
std::string TakeOpenSslError();
// INTERNAL: "OpenSSL cannot make a P-256 key: ..." with the newest error.
Status OpenSslFailed(std::string_view what);

// Sets TLS 1.3 as the minimum version of every TLS connection of this process, also of libraries
// that have no setting for it. Call it before the first use of TLS. INTERNAL if OpenSSL refuses.
Status RequireTls13();

}  // namespace fabric::tls
