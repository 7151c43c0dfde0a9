#include "base/https/oidc_issuer.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fabric::https {
namespace {

using Json = nlohmann::json;

// Empty if the member is missing or no text.
std::string Member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

Result<std::string> Body(const std::string& url, const Fetch& fetch) {
  ASSIGN_OR_RETURN(Answer answer, fetch(url));
  if (answer.status == 200) return std::move(answer.body);
  return Status(Code::kUnavailable,
                Format("{}: expected HTTP status 200, saw {}", url, answer.status));
}

Result<OidcIssuer> Discover(std::string_view issuer, const Fetch& fetch) {
  std::string url(issuer);
  while (url.ends_with('/')) url.pop_back();
  url += "/.well-known/openid-configuration";
  ASSIGN_OR_RETURN(const std::string body, Body(url, fetch));
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object())
    return Status(Code::kFailedPrecondition,
                  url + ": expected a discovery document in JSON, saw another text");
  if (const std::string seen = Member(json, "issuer"); seen != issuer)
    return Status(Code::kFailedPrecondition,
                  Format("{}: expected the issuer {}, saw {}", url, issuer, Quoted(seen)));
  OidcIssuer found{.keys_url = Member(json, "jwks_uri"),
                   .device_url = Member(json, "device_authorization_endpoint"),
                   .token_url = Member(json, "token_endpoint")};
  for (const std::string* const one : {&found.keys_url, &found.device_url, &found.token_url})
    if (!one->empty() && !ParseUrl(*one).ok())
      return Status(Code::kFailedPrecondition,
                    Format("{}: expected URLs with https://, saw {}", url, Quoted(*one)));
  if (found.keys_url.empty())
    return Status(Code::kFailedPrecondition, url + ": expected jwks_uri, saw none");
  return found;
}

}  // namespace fabric::https
