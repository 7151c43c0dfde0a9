// X.509 certificates: the facts that fabricd uses. Values; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::tls {

struct Certificate {
  std::string common_name;  // Of the subject; empty: none
  // Subject alternative names
  std::vector<std::string> uris;       // "spiffe://example.org/node/n1"
  std::vector<std::string> dns_names;  // "n1.example.org"
  std::vector<std::string> addresses;  // "192.0.2.7", "2001:db8::1"
  std::string issuer;                  // "CN=fabric CA"
  std::string serial;                  // Hexadecimal: "1F00"
  WallTime not_before;
  WallTime not_after;
  bool authority = false;  // May sign certificates
};

// The first certificate of a PEM text. INVALID_ARGUMENT with the expected and the seen kind, or
// with the alternative name that contains bytes that a name cannot have.
Result<Certificate> ParseCertificate(std::string_view pem);

// All certificates of a PEM text, such as those of a CA bundle; at least one.
Result<std::vector<Certificate>> ParseCertificates(std::string_view pem);

std::string ToText(WallTime time);  // "2026-11-23 21:00:00 UTC"

// FAILED_PRECONDITION unless `now` is in the validity period: "expected a certificate that is
// valid now, saw one that expired at 2026-11-23 21:00:00 UTC".
Status CheckValidity(const Certificate& certificate, WallTime now);

// Names of the certificate for messages: "spiffe://example.org/node/n1, n1.example.org". At most
// five. Without alternative names, the common name.
std::string NamesOf(const Certificate& certificate);

}  // namespace fabric::tls
