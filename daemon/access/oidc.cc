#include "daemon/access/oidc.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "daemon/access/spiffe_id.h"
#include "proto/timestamps.h"

namespace fabric::access {
namespace {

using Claims = nlohmann::json;

constexpr std::size_t kGroupsMax = 200;
constexpr double kSecondsMax = 4e9;  // Year 2096

Status BadClaim(std::string_view claim, std::string_view message) {
  return {Code::kUnauthenticated, Format("OIDC token: {}: {}", claim, message)};
}

// Absent: the token does not have the claim, or its value is not a time.
std::optional<WallTime> TimeClaim(const Claims& claims, const char* name) {
  const auto at = claims.find(name);
  if (at == claims.end() || !at->is_number()) return std::nullopt;
  const double seconds = at->get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kSecondsMax) return std::nullopt;
  return WallTime(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

// One text or a list of texts; other values are left out.
std::vector<std::string> TextsClaim(const Claims& claims, const std::string& name) {
  std::vector<std::string> texts;
  const auto at = claims.find(name);
  if (at == claims.end()) return texts;
  if (at->is_string()) return {at->get<std::string>()};
  if (at->is_array())
    for (const Claims& item : *at)
      if (item.is_string() && texts.size() < kGroupsMax) texts.push_back(item.get<std::string>());
  return texts;
}

Status CheckTimes(const Claims& claims, WallTime now) {
  const auto expires = TimeClaim(claims, "exp");
  if (!expires) return BadClaim("exp", "expected a time, saw none");
  if (*expires + OidcIssuer::kClockSkew <= now)
    return BadClaim("exp", "it expired at " + ToString(ToProto(*expires)));
  for (const char* name : {"nbf", "iat"}) {
    if (!claims.contains(name)) continue;
    const auto begins = TimeClaim(claims, name);
    if (!begins) return BadClaim(name, "expected a time, saw another value");
    if (*begins - OidcIssuer::kClockSkew > now)
      return BadClaim(name, "it is valid from " + ToString(ToProto(*begins)));
  }
  return {};
}

}  // namespace

Result<OidcIdentity> ReadOidcToken(const OidcIssuer& issuer, std::string_view token, WallTime now) {
  ASSIGN_OR_RETURN(const std::string payload, issuer.keys.Open(token));
  const Claims claims = Claims::parse(payload, nullptr, false);
  if (!claims.is_object()) return BadClaim("payload", "expected claims in JSON");
  const auto issuers = TextsClaim(claims, "iss");
  if (issuers != std::vector<std::string>{issuer.issuer} || !claims["iss"].is_string())
    return BadClaim("iss", Format("expected {}, saw {}", issuer.issuer,
                                  issuers.empty() ? "none" : Quoted(issuers.front())));
  const auto audiences = TextsClaim(claims, "aud");
  if (std::ranges::find(audiences, issuer.audience) == audiences.end())
    return BadClaim("aud", Format("expected {}, saw {}", issuer.audience,
                                  audiences.empty() ? "none" : Quoted(audiences.front())));
  RETURN_IF_ERROR(CheckTimes(claims, now));
  const auto name = claims.find(issuer.name_claim);
  OidcIdentity identity;
  if (name != claims.end() && name->is_string() && !name->get_ref<const std::string&>().empty())
    identity.name = "oidc:" + name->get<std::string>();
  if (!IsIdentityName(identity.name))
    return BadClaim(issuer.name_claim,
                    Format("expected a name of at most {} printable bytes", kIdentityBytesMax));
  for (const std::string& group : TextsClaim(claims, issuer.groups_claim))
    identity.groups.push_back("oidc-group:" + group);
  identity.expires_at = *TimeClaim(claims, "exp");
  return identity;
}

}  // namespace fabric::access
