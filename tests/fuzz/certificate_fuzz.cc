// Certificates of clients: names have only bytes that a name can have, and what names a node was
// read from a valid certificate.
#include "base/tls/certificate.h"
#include "base/tls/openssl.h"
#include "base/tls/request.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace {

bool IsPlain(const std::string& name) {
  for (const char c : name)
    if (c <= ' ' || c > '~') return false;
  return !name.empty();
}

void CheckNames(const fabric::tls::Certificate& certificate) {
  for (const auto* names : {&certificate.uris, &certificate.dns_names, &certificate.addresses})
    for (const std::string& name : *names) Check(IsPlain(name), "a name is printable");
  Check(!fabric::tls::NamesOf(certificate).empty(), "names for messages");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // As PEM, and as the DER bytes inside, which mutations of PEM rarely reach.
  if (const auto all = fabric::tls::ParseCertificates(bytes); all.ok())
    for (const auto& certificate : *all) CheckNames(certificate);
  const unsigned char* at = data;
  const fabric::tls::Owned<X509> der(d2i_X509(nullptr, &at, static_cast<long>(size)));
  if (der != nullptr) {
    const auto facts = fabric::tls::FactsOf(*der);
    if (facts.ok()) CheckNames(*facts);
  }
  (void)fabric::tls::TakeOpenSslError();
  (void)fabric::tls::ReadCrls(bytes);
  (void)fabric::tls::ReadRequest(bytes);
  at = data;
  const fabric::tls::Owned<X509_REQ> request(d2i_X509_REQ(nullptr, &at, static_cast<long>(size)));
  if (request != nullptr) {
    const fabric::tls::Owned<BIO> pem(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509_REQ(pem.get(), request.get());
    (void)fabric::tls::ReadRequest(fabric::tls::TextOf(pem.get()));
  }
  (void)fabric::tls::TakeOpenSslError();
  return 0;
}
