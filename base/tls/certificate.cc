#include "base/tls/certificate.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/lists.h"
#include "base/text.h"
#include "base/tls/openssl.h"

namespace fabric::tls {
namespace {

constexpr std::size_t kNamesShown = 5;

// Names are compared as bytes, so a NUL or a control character must not be part of one.
Result<std::string> NameOf(const ASN1_IA5STRING* text) {
  const std::string name(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                         static_cast<std::size_t>(ASN1_STRING_length(text)));
  const bool plain = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (plain && !name.empty()) return name;
  return Status(Code::kInvalidArgument,
                "expected alternative names of printable ASCII, saw " + Quoted(name));
}

Result<std::string> AddressOf(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(bytes);
  const int family = size == 4 ? AF_INET : size == 16 ? AF_INET6 : AF_UNSPEC;
  if (family == AF_UNSPEC ||
      inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size()) == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("expected an IP address of 4 or 16 bytes, saw {}", size));
  return std::string(text.data());
}

Status AddName(const GENERAL_NAME& name, Certificate& out) {
  switch (name.type) {
    case GEN_URI: {
      ASSIGN_OR_RETURN(std::string uri, NameOf(name.d.uniformResourceIdentifier));
      out.uris.push_back(std::move(uri));
      return {};
    }
    case GEN_DNS: {
      ASSIGN_OR_RETURN(std::string dns, NameOf(name.d.dNSName));
      out.dns_names.push_back(std::move(dns));
      return {};
    }
    case GEN_IPADD: {
      ASSIGN_OR_RETURN(std::string address, AddressOf(name.d.iPAddress));
      out.addresses.push_back(std::move(address));
      return {};
    }
    default: return {};  // Names that nothing uses
  }
}

Status AddAlternativeNames(const X509* certificate, Certificate& out) {
  int critical = 0;
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nullptr)));
  if (names == nullptr) {
    if (critical == -1) return {};  // The certificate has none.
    return {Code::kInvalidArgument,
            "expected one list of alternative names, saw one that is malformed or repeated"};
  }
  for (int n = 0; n < sk_GENERAL_NAME_num(names.get()); ++n)
    RETURN_IF_ERROR(AddName(*sk_GENERAL_NAME_value(names.get(), n), out));
  return {};
}

// Empty if there is none or if it has control characters.
std::string CommonNameOf(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* bytes = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  const std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  const bool plain =
      std::ranges::none_of(name, [](char c) { return (c >= 0 && c < ' ') || c == 127; });
  return plain ? name : std::string();
}

std::string SerialOf(const X509* certificate) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* const text = number == nullptr ? nullptr : BN_bn2hex(number.get());
  if (text == nullptr) return {};
  std::string serial(text);
  OPENSSL_free(text);
  return serial;
}

}  // namespace

Result<Certificate> FactsOf(X509& from) {
  X509* const certificate = &from;
  Certificate facts;
  RETURN_IF_ERROR(AddAlternativeNames(certificate, facts));
  facts.common_name = CommonNameOf(certificate);
  facts.issuer = TextOf(X509_get_issuer_name(certificate));
  facts.serial = SerialOf(certificate);
  facts.not_before = TimeOf(X509_get0_notBefore(certificate));
  facts.not_after = TimeOf(X509_get0_notAfter(certificate));
  facts.authority = X509_check_ca(certificate) == 1;
  return facts;
}

Result<std::vector<Certificate>> ParseCertificates(std::string_view pem) {
  std::vector<Certificate> all;
  for (const Owned<X509>& certificate : ReadCertificates(pem)) {
    ASSIGN_OR_RETURN(Certificate facts, FactsOf(*certificate));
    all.push_back(std::move(facts));
  }
  if (!all.empty()) return all;
  const std::string_view seen = KindOfPem(pem);
  return Status(Code::kInvalidArgument,
                Format("expected a certificate in PEM (-----BEGIN CERTIFICATE-----), saw {}",
                       seen == "a certificate" ? "one that is malformed" : seen));
}

Result<Certificate> ParseCertificate(std::string_view pem) {
  ASSIGN_OR_RETURN(const std::vector<Certificate> all, ParseCertificates(pem));
  return all.front();
}

std::string ToText(WallTime time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return Format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Status CheckValidity(const Certificate& certificate, WallTime now) {
  constexpr std::string_view kExpected = "expected a certificate that is valid now, saw one";
  if (now > certificate.not_after)
    return {Code::kFailedPrecondition,
            Format("{} that expired at {}", kExpected, ToText(certificate.not_after))};
  if (now < certificate.not_before)
    return {Code::kFailedPrecondition,
            Format("{} that becomes valid at {}", kExpected, ToText(certificate.not_before))};
  return {};
}

std::string NamesOf(const Certificate& certificate) {
  std::vector<std::string> names = certificate.uris;
  names.insert(names.end(), certificate.dns_names.begin(), certificate.dns_names.end());
  names.insert(names.end(), certificate.addresses.begin(), certificate.addresses.end());
  if (names.empty()) return certificate.common_name.empty() ? "no name" : certificate.common_name;
  return ListSome(names, kNamesShown);
}

}  // namespace fabric::tls
