#include "daemon/access/authenticator.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "daemon/access/spiffe_id.h"
#include "proto/roles.h"
#include "proto/timestamps.h"

namespace fabric::access {
namespace {

constexpr std::size_t kHeaderBytesMax = 8 << 10;
constexpr std::string_view kLoopbackName = "loopback";
constexpr std::string_view kPlainName = "unencrypted";

Status Unknown(std::string message) {
  return {Code::kUnauthenticated, std::move(message)};
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The token of "Bearer TOKEN". Messages never contain the header, which can be a secret.
Result<std::string_view> BearerToken(std::string_view header) {
  const std::size_t blank = header.find(' ');
  if (header.size() > kHeaderBytesMax || blank == header.npos ||
      !EqualIgnoringCase(header.substr(0, blank), "Bearer"))
    return Unknown(
        Format("authorization: expected 'Bearer TOKEN' of at most {} bytes, saw another "
               "value",
               kHeaderBytesMax));
  const std::string_view token = Trim(header.substr(blank));
  if (token.empty()) return Unknown("authorization: expected 'Bearer TOKEN', saw no token");
  return token;
}

}  // namespace

std::vector<v1::Role> AllLoopbackRoles() {
  return {v1::ROLE_ADMIN, v1::ROLE_AGENT, v1::ROLE_METRICS};
}

Status CheckTrustDomain(std::string_view domain) {
  const bool valid =
      !domain.empty() && domain.size() <= 255 && std::ranges::all_of(domain, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
      });
  if (valid) return {};
  return {Code::kInvalidArgument,
          "expected lower case letters, digits and ._- as in 'example.org', saw " + Quoted(domain)};
}

std::string HostOf(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  std::string_view host = colon == address.npos ? address : address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

bool IsLoopback(std::string_view address) {
  const std::string host = HostOf(address);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

void Authenticator::SetTokens(TokenList tokens) {
  const MutexLock lock(mutex_);
  tokens_ = std::move(tokens);
}

void Authenticator::SetBindings(RoleBindings bindings) {
  const MutexLock lock(mutex_);
  bindings_ = std::move(bindings);
}

void Authenticator::SetOidc(OidcIssuer issuer) {
  const MutexLock lock(mutex_);
  oidc_ = std::move(issuer);
}

Result<Principal> Authenticator::Identify(const Caller& caller, WallTime now) const {
  const bool loopback = IsLoopback(caller.address);
  if (!caller.encrypted && !loopback && !plain_roles_)
    return Unknown("expected an encrypted connection (TLS), saw one without encryption from " +
                   HostOf(caller.address));
  // Others on the network can read it.
  if (!caller.authorization.empty() && !caller.encrypted && !loopback)
    return Unknown("expected a bearer token over an encrypted connection (TLS), saw one without");
  if (!caller.authorization.empty()) return IdentifyToken(caller, now);
  if (caller.encrypted && caller.certificate) return IdentifyCertificate(*caller.certificate, now);
  if (caller.encrypted)
    return Unknown("expected a client certificate or a bearer token, saw neither");
  Principal principal;
  principal.identity.set_name(std::string(loopback ? kLoopbackName : kPlainName));
  principal.identity.set_credential(v1::CREDENTIAL_NONE);
  SetRoles(loopback ? loopback_roles_ : *plain_roles_, principal.identity);
  return principal;
}

Result<Principal> Authenticator::IdentifyToken(const Caller& caller, WallTime now) const {
  ASSIGN_OR_RETURN(const std::string_view text, BearerToken(caller.authorization));
  // A static token has no dots.
  std::optional<OidcIssuer> issuer;
  if (std::ranges::count(text, '.') == 2) {
    const MutexLock lock(mutex_);
    issuer = oidc_;
  }
  // Without the lock: a signature takes long to verify.
  return issuer ? IdentifyOidc(*issuer, text, now) : IdentifyStatic(text, now);
}

Result<Principal> Authenticator::IdentifyOidc(const OidcIssuer& issuer, std::string_view token,
                                              WallTime now) const {
  const auto read = ReadOidcToken(issuer, token, now);
  if (!read.ok()) {
    if (on_unknown_key_ && !issuer.keys.Knows(token)) on_unknown_key_();
    return read.status();
  }
  const OidcIdentity& found = *read;
  Principal principal{.identity = {}, .nodes = std::vector<std::string>()};
  principal.identity.set_name(found.name);
  principal.identity.set_credential(v1::CREDENTIAL_OIDC);
  *principal.identity.mutable_expires_at() = ToProto(found.expires_at);
  const MutexLock lock(mutex_);
  std::vector<v1::Role> roles = bindings_.RolesOf(found.name);
  bindings_.AddScoped(found.name, principal.identity);
  for (const std::string& group : found.groups) {
    bindings_.AddScoped(group, principal.identity);
    const std::vector<v1::Role> bound = bindings_.RolesOf(group);
    roles.insert(roles.end(), bound.begin(), bound.end());
  }
  std::erase(roles, v1::ROLE_AGENT);  // An agent proves its node by a certificate.
  SetRoles(std::move(roles), principal.identity);
  return principal;
}

Result<Principal> Authenticator::IdentifyStatic(std::string_view text, WallTime now) const {
  const MutexLock lock(mutex_);
  const Token* const token = tokens_.Find(text);
  if (token == nullptr) return Unknown("the bearer token is not known");
  if (token->expires_at && *token->expires_at <= now)
    return Unknown(Format("the bearer token {} expired at {}", token->name,
                          ToString(ToProto(*token->expires_at))));
  Principal principal{.identity = {}, .nodes = std::vector<std::string>()};
  principal.identity.set_name(token->name);
  principal.identity.set_credential(v1::CREDENTIAL_TOKEN);
  SetRoles(token->roles, principal.identity);
  if (token->expires_at) *principal.identity.mutable_expires_at() = ToProto(*token->expires_at);
  return principal;
}

Result<Principal> Authenticator::IdentifyCertificate(const ClientCertificate& certificate,
                                                     WallTime now) const {
  ASSIGN_OR_RETURN(CertificateName name, NameOf(certificate, trust_domain_));
  const WallTime not_after = std::chrono::time_point_cast<Duration>(certificate.not_after);
  if (not_after <= now)
    return Unknown(Format("the client certificate of {} expired at {}", name.name,
                          ToString(ToProto(not_after))));
  if (chain_check_ && !certificate.chain_pem.empty())
    RETURN_IF_ERROR(chain_check_(certificate.chain_pem));
  Principal principal{.identity = {}, .nodes = std::move(name.nodes)};
  principal.identity.set_name(name.name);
  principal.identity.set_credential(v1::CREDENTIAL_CERTIFICATE);
  *principal.identity.mutable_expires_at() = ToProto(not_after);
  std::vector<v1::Role> roles = std::move(name.roles);
  if (!name.is_node) {
    const MutexLock lock(mutex_);
    const std::vector<v1::Role> bound = bindings_.RolesOf(name.name);
    roles.insert(roles.end(), bound.begin(), bound.end());
    bindings_.AddScoped(name.name, principal.identity);
  }
  SetRoles(std::move(roles), principal.identity);
  return principal;
}

}  // namespace fabric::access
