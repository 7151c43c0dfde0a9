#include "base/tls/openssl.h"

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "base/no_passphrase.h"
#include "base/text.h"

namespace fabric::tls {
namespace {

Owned<BIO> Reader(std::string_view text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

template <class T>
using ReadPem = T* (*)(BIO*, T**, pem_password_cb*, void*);

template <class T>
std::vector<Owned<T>> ReadAll(std::string_view pem, ReadPem<T> read) {
  std::vector<Owned<T>> all;
  const Owned<BIO> bio = Reader(pem);
  while (T* const one = read(bio.get(), nullptr, NoPassphrase, nullptr)) all.emplace_back(one);
  ERR_clear_error();  // The end of the text counts as an error.
  return all;
}

// gRPC sets TLS 1.2 as minimum and has no setting for it. Options of the system default apply in
// addition to what a library sets.
constexpr std::string_view kTls13Only =
    "openssl_conf = fabric\n"
    "[fabric]\nssl_conf = fabric_ssl\n"
    "[fabric_ssl]\nsystem_default = fabric_tls\n"
    "[fabric_tls]\nProtocol = -ALL, TLSv1.3\nMinProtocol = TLSv1.3\n";

struct FreeConf {
  void operator()(CONF* conf) const { NCONF_free(conf); }
};

}  // namespace

std::vector<Owned<X509>> ReadCertificates(std::string_view pem) {
  return ReadAll<X509>(pem, PEM_read_bio_X509);
}

std::vector<Owned<X509_CRL>> ReadCrls(std::string_view pem) {
  return ReadAll<X509_CRL>(pem, PEM_read_bio_X509_CRL);
}

Owned<EVP_PKEY> ReadPrivateKey(std::string_view pem) {
  const Owned<BIO> bio = Reader(pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

Owned<X509_REQ> ReadCertificateRequest(std::string_view pem) {
  const Owned<BIO> bio = Reader(pem);
  Owned<X509_REQ> request(PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return request;
}

std::string_view KindOfPem(std::string_view pem) {
  const auto has = [&](std::string_view text) { return pem.find(text) != std::string_view::npos; };
  if (pem.empty()) return "an empty file";
  if (has("-----BEGIN ENCRYPTED PRIVATE KEY-----")) return "an encrypted private key";
  if (has("PRIVATE KEY-----")) return "a private key";
  if (has("-----BEGIN CERTIFICATE-----")) return "a certificate";
  if (has("-----BEGIN CERTIFICATE REQUEST-----")) return "a certificate request";
  if (has("-----BEGIN X509 CRL-----")) return "a CRL";
  if (has("-----BEGIN ")) return "another kind of PEM";
  return "text that is not PEM";
}

std::string KeyPem(EVP_PKEY& key) {
  const Owned<BIO> bio(BIO_new(BIO_s_secmem()));
  PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio.get());
}

std::string CertificatePem(X509& certificate) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), &certificate);
  return TextOf(bio.get());
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string TextOf(const X509_NAME* name) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return TextOf(bio.get());
}

WallTime TimeOf(const ASN1_TIME* time) {
  std::tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return WallTime();
  // Duration has nanoseconds and ends in 2262; CAs write 9999 for "never".
  constexpr std::time_t kMax = 9'000'000'000;
  return WallTime(std::chrono::seconds(std::min(timegm(&utc), kMax)));
}

std::string TakeOpenSslError() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "no reason given" : text;
}

Status OpenSslFailed(std::string_view what) {
  return {Code::kInternal, Format("OpenSSL cannot {}: {}", what, TakeOpenSslError())};
}

Status RequireTls13() {
  // Loads the configuration of the system first, so that OpenSSL does not load it over this one.
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr);
  const Owned<BIO> bio = Reader(kTls13Only);
  const std::unique_ptr<CONF, FreeConf> conf(NCONF_new(nullptr));
  long line = 0;
  if (conf == nullptr || NCONF_load_bio(conf.get(), bio.get(), &line) != 1 ||
      CONF_modules_load(conf.get(), nullptr, 0) != 1)
    return {Code::kInternal, "OpenSSL refuses TLS 1.3 as minimum version: " + TakeOpenSslError()};
  return {};
}

}  // namespace fabric::tls
