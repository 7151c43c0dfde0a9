#include "base/tls/issuer.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <chrono>

#include "base/text.h"
#include "base/tls/openssl.h"
#include "base/tls/request.h"

namespace fabric::tls {
namespace {

constexpr long kVersion3 = 2;     // X509v3
constexpr long kCrlVersion2 = 1;  // X509 CRL v2
constexpr std::size_t kSerialBytes = 16;

Owned<ASN1_TIME> ToAsn1(WallTime time) {
  return Owned<ASN1_TIME>(ASN1_TIME_adj(
      nullptr, 0, 0,
      static_cast<long>(
          std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count())));
}

// Positive, random, without a leading zero byte.
Owned<ASN1_INTEGER> NewSerial() {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return nullptr;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3F) | 0x40);
  const Owned<BIGNUM> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return Owned<ASN1_INTEGER>(BN_to_ASN1_INTEGER(number.get(), nullptr));
}

bool AddExtension(X509& certificate, const X509V3_CTX& names, int nid, const std::string& value) {
  X509V3_CTX context = names;
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Not by X509V3_EXT_conf_nid, whose syntax a name could contain.
bool AddName(GENERAL_NAMES& names, int type, const std::string& value) {
  const bool address = type == GEN_IPADD;
  ASN1_STRING* const text =
      address ? a2i_IPADDRESS(value.c_str()) : ASN1_STRING_type_new(V_ASN1_IA5STRING);
  if (text == nullptr) return false;
  if (!address) ASN1_STRING_set(text, value.data(), static_cast<int>(value.size()));
  GENERAL_NAME* const name = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(name, type, text);
  return sk_GENERAL_NAME_push(&names, name) > 0;
}

Status AddNames(X509& certificate, const CertificateSubject& subject) {
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  for (const std::string& uri : subject.uris) (void)AddName(*names, GEN_URI, uri);
  for (const std::string& dns : subject.dns_names) (void)AddName(*names, GEN_DNS, dns);
  for (const std::string& address : subject.addresses)
    if (!AddName(*names, GEN_IPADD, address))
      return {Code::kInvalidArgument, "expected an IP address, saw " + Quoted(address)};
  if (sk_GENERAL_NAME_num(names.get()) == 0) return {};
  return X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0,
                           X509V3_ADD_DEFAULT) == 1
             ? Status()
             : OpenSslFailed("add the alternative names");
}

// The parts that all certificates have. The issuer is the subject of `ca`, or its own.
Result<Owned<X509>> NewCertificate(std::string_view common_name, EVP_PKEY* key, const X509* ca,
                                   const Validity& validity) {
  Owned<X509> made(X509_new());
  const Owned<ASN1_INTEGER> serial = NewSerial();
  X509_NAME* const name = X509_get_subject_name(made.get());
  const bool done =
      serial != nullptr && X509_set_version(made.get(), kVersion3) == 1 &&
      X509_set_serialNumber(made.get(), serial.get()) == 1 &&
      X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(made.get(), ca == nullptr ? name : X509_get_subject_name(ca)) == 1 &&
      X509_set1_notBefore(made.get(), ToAsn1(validity.not_before).get()) == 1 &&
      X509_set1_notAfter(made.get(), ToAsn1(validity.not_after).get()) == 1 &&
      X509_set_pubkey(made.get(), key) == 1;
  if (!done) return OpenSslFailed("make a certificate for " + Quoted(common_name));
  return made;
}

struct Authority {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
};

Result<Authority> AuthorityOf(const KeyAndCertificate& ca) {
  auto certificates = ReadCertificates(ca.certificate_pem);
  Owned<EVP_PKEY> key = ReadPrivateKey(ca.key_pem);
  if (certificates.empty() || key == nullptr ||
      X509_check_private_key(certificates.front().get(), key.get()) != 1) {
    (void)TakeOpenSslError();
    return Status(Code::kInvalidArgument,
                  "expected the certificate of a CA and its private key, saw others");
  }
  return Authority{.certificate = std::move(certificates.front()), .key = std::move(key)};
}

// A certificate for the public part of `key`.
Result<std::string> SignKey(const KeyAndCertificate& ca, EVP_PKEY& key,
                            const CertificateSubject& subject, const Validity& validity) {
  ASSIGN_OR_RETURN(const Authority authority, AuthorityOf(ca));
  ASSIGN_OR_RETURN(const Owned<X509> made, NewCertificate(subject.common_name, &key,
                                                          authority.certificate.get(), validity));
  RETURN_IF_ERROR(AddNames(*made, subject));
  X509V3_CTX names{};
  X509V3_set_ctx(&names, authority.certificate.get(), made.get(), nullptr, nullptr, 0);
  const bool done = AddExtension(*made, names, NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(*made, names, NID_key_usage, "critical,digitalSignature") &&
                    AddExtension(*made, names, NID_ext_key_usage,
                                 subject.server ? "serverAuth,clientAuth" : "clientAuth") &&
                    AddExtension(*made, names, NID_subject_key_identifier, "hash") &&
                    AddExtension(*made, names, NID_authority_key_identifier, "keyid:always") &&
                    X509_sign(made.get(), authority.key.get(), EVP_sha256()) > 0;
  if (!done) return OpenSslFailed("sign the certificate of " + Quoted(subject.common_name));
  return CertificatePem(*made);
}

}  // namespace

Result<KeyAndCertificate> MakeCa(std::string_view common_name, const Validity& validity) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("make a P-256 key");
  ASSIGN_OR_RETURN(const Owned<X509> made,
                   NewCertificate(common_name, key.get(), nullptr, validity));
  X509V3_CTX names{};
  X509V3_set_ctx(&names, made.get(), made.get(), nullptr, nullptr, 0);
  const bool done =
      AddExtension(*made, names, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(*made, names, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(*made, names, NID_subject_key_identifier, "hash") &&
      X509_sign(made.get(), key.get(), EVP_sha256()) > 0;
  if (!done) return OpenSslFailed("sign the CA");
  return KeyAndCertificate{.key_pem = KeyPem(*key), .certificate_pem = CertificatePem(*made)};
}

Result<KeyAndCertificate> Issue(const KeyAndCertificate& ca, const CertificateSubject& subject,
                                const Validity& validity) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("make a P-256 key");
  ASSIGN_OR_RETURN(std::string certificate, SignKey(ca, *key, subject, validity));
  return KeyAndCertificate{.key_pem = KeyPem(*key), .certificate_pem = std::move(certificate)};
}

Result<std::string> SignRequest(const KeyAndCertificate& ca, std::string_view request_pem,
                                const CertificateSubject& subject, const Validity& validity) {
  ASSIGN_OR_RETURN(const Owned<EVP_PKEY> key, ReadRequest(request_pem));
  return SignKey(ca, *key, subject, validity);
}

Status CheckAuthority(const KeyAndCertificate& ca) {
  return AuthorityOf(ca).status();
}

Result<std::string> MakeCrl(const KeyAndCertificate& ca, const std::vector<RevokedSerial>& revoked,
                            std::uint64_t number, const Validity& validity) {
  ASSIGN_OR_RETURN(const Authority authority, AuthorityOf(ca));
  const Owned<X509_CRL> crl(X509_CRL_new());
  bool done = X509_CRL_set_version(crl.get(), kCrlVersion2) == 1 &&
              X509_CRL_set_issuer_name(crl.get(),
                                       X509_get_subject_name(authority.certificate.get())) == 1 &&
              X509_CRL_set1_lastUpdate(crl.get(), ToAsn1(validity.not_before).get()) == 1 &&
              X509_CRL_set1_nextUpdate(crl.get(), ToAsn1(validity.not_after).get()) == 1;
  for (const RevokedSerial& entry : revoked) {
    BIGNUM* parsed = nullptr;
    const bool hex =
        BN_hex2bn(&parsed, entry.serial.c_str()) == static_cast<int>(entry.serial.size());
    const Owned<BIGNUM> serial(parsed);
    if (!hex || serial == nullptr)
      return Status(Code::kInvalidArgument,
                    "expected a hexadecimal serial number, saw " + Quoted(entry.serial));
    const Owned<ASN1_INTEGER> value(BN_to_ASN1_INTEGER(serial.get(), nullptr));
    X509_REVOKED* const added = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(added, value.get());
    X509_REVOKED_set_revocationDate(added, ToAsn1(entry.at).get());
    done = done && X509_CRL_add0_revoked(crl.get(), added) == 1;
  }
  const Owned<ASN1_INTEGER> crl_number(ASN1_INTEGER_new());
  ASN1_INTEGER_set_uint64(crl_number.get(), number);
  done = done && X509_CRL_add1_ext_i2d(crl.get(), NID_crl_number, crl_number.get(), 0, 0) == 1 &&
         X509_CRL_sort(crl.get()) == 1 &&
         X509_CRL_sign(crl.get(), authority.key.get(), EVP_sha256()) > 0;
  if (!done) return OpenSslFailed("sign the CRL");
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(bio.get(), crl.get());
  return TextOf(bio.get());
}

}  // namespace fabric::tls
