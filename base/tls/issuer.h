// Certificate authority with ECDSA P-256 keys, for sites without a CA of their own. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::tls {

struct KeyAndCertificate {
  std::string key_pem;  // Secret; PKCS #8
  std::string certificate_pem;
};

struct Validity {
  WallTime not_before;
  WallTime not_after;
};

// A CA that signs certificates and CRLs, and no other CAs.
Result<KeyAndCertificate> MakeCa(std::string_view common_name, const Validity& validity);

struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> uris;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses;  // "192.0.2.7", "2001:db8::1"
  bool server = false;                 // May be used by servers, besides clients
};

// A new key and its certificate. The serial number is random.
Result<KeyAndCertificate> Issue(const KeyAndCertificate& ca, const CertificateSubject& subject,
                                const Validity& validity);

// A certificate for the key of a request, which see; the names are those of `subject`.
Result<std::string> SignRequest(const KeyAndCertificate& ca, std::string_view request_pem,
                                const CertificateSubject& subject, const Validity& validity);

// INVALID_ARGUMENT unless the key belongs to the first certificate.
Status CheckAuthority(const KeyAndCertificate& ca);

struct RevokedSerial {
  std::string serial;  // Hexadecimal
  WallTime at;
};

// A signed CRL in PEM. `number` grows with each CRL.
Result<std::string> MakeCrl(const KeyAndCertificate& ca, const std::vector<RevokedSerial>& revoked,
                            std::uint64_t number, const Validity& validity);

}  // namespace fabric::tls
