#include "daemon/access/spiffe_id.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

constexpr std::string_view kScheme = "spiffe://";

Status Unauthenticated(std::string message) {
  return {Code::kUnauthenticated, "client certificate: " + std::move(message)};
}

// A segment of the path of a SPIFFE id.
bool IsSegment(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  });
}

// Of a path ROLE/NAME. AGENT by the word node alone.
std::optional<v1::Role> RoleOfPath(std::string_view word) {
  if (word == "node") return v1::ROLE_AGENT;
  const auto role = ParseRole(word);
  if (!role.ok() || *role == v1::ROLE_AGENT) return std::nullopt;
  return *role;
}

Result<CertificateName> NameOfSpiffeId(const std::string& id, std::string_view trust_domain) {
  const auto parts = Split(std::string_view(id).substr(kScheme.size()), '/');
  if (id.size() > kIdentityBytesMax || parts.size() < 2 || !std::ranges::all_of(parts, IsSegment))
    return Unauthenticated(
        Format("expected spiffe://DOMAIN/PATH of at most {} bytes, with segments of letters, "
               "digits and ._-, saw {}",
               kIdentityBytesMax, Quoted(id)));
  CertificateName name{.name = id, .roles = {}, .nodes = {}};
  if (parts.size() != 3 || parts[0] != trust_domain) return name;
  const auto role = RoleOfPath(parts[1]);
  if (!role) return name;
  name.roles = {*role};
  name.is_node = *role == v1::ROLE_AGENT;
  if (name.is_node) name.nodes = {std::string(parts[2])};
  return name;
}

}  // namespace

bool IsIdentityName(std::string_view name) {
  return !name.empty() && name.size() <= kIdentityBytesMax && IsUtf8(name) &&
         std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<CertificateName> NameOf(const ClientCertificate& certificate,
                               std::string_view trust_domain) {
  std::vector<std::string> ids;
  std::ranges::copy_if(certificate.uris, std::back_inserter(ids),
                       [](const std::string& uri) { return uri.starts_with(kScheme); });
  if (ids.size() > 1)
    return Unauthenticated(Format("expected one SPIFFE id, saw {}", Join(ids, ", ")));
  CertificateName name;
  if (ids.size() == 1) {
    ASSIGN_OR_RETURN(name, NameOfSpiffeId(ids.front(), trust_domain));
  } else if (!certificate.dns_names.empty()) {
    name.name = certificate.dns_names.front();
  } else if (!certificate.common_name.empty()) {
    // With a prefix, so that it cannot be taken for a SPIFFE id or a DNS name.
    name.name = "CN=" + certificate.common_name;
  }
  if (!IsIdentityName(name.name))
    return Unauthenticated(Format(
        "expected a SPIFFE id, a DNS name or a common name of at most {} printable bytes, saw {}",
        kIdentityBytesMax, name.name.empty() ? "none" : Quoted(name.name)));
  if (name.is_node) return name;
  // Nodes are named with or without their domain.
  for (const std::string& dns : certificate.dns_names) {
    name.nodes.push_back(dns);
    if (const std::size_t dot = dns.find('.'); dot != dns.npos && dot > 0)
      name.nodes.push_back(dns.substr(0, dot));
  }
  return name;
}

}  // namespace fabric::access
