#include "ctl/device_login.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/https/form.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTextBytesMax = 2048;
constexpr std::int64_t kIntervalMax = 60;
constexpr std::int64_t kLifetimeMax = 3600;
constexpr Duration kSlowDown = std::chrono::seconds(5);  // RFC 8628, section 3.5

// Empty if it is missing, too long, or has characters that a terminal interprets.
std::string PlainMember(const Json& object, const char* name, std::size_t bytes_max) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return {};
  std::string text = at->get<std::string>();
  const bool plain =
      std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c <= '~'; });
  return plain && text.size() <= bytes_max ? text : std::string();
}

Duration SecondsMember(const Json& object, const char* name, std::int64_t otherwise,
                       std::int64_t max) {
  const auto at = object.find(name);
  const bool number = at != object.end() && at->is_number_integer();
  return std::chrono::seconds(
      std::clamp<std::int64_t>(number ? at->get<std::int64_t>() : otherwise, 1, max));
}

Result<Json> ObjectOf(const std::string& url, const https::Answer& answer) {
  Json json = Json::parse(answer.body, nullptr, false);
  if (json.is_object()) return json;
  return Status(Code::kUnavailable,
                Format("{}: expected an object in JSON, saw HTTP status {} with another text", url,
                       answer.status));
}

Status Refused(const std::string& url, const https::Answer& answer, const Json& json) {
  const std::string error = PlainMember(json, "error", 100);
  const std::string text = PlainMember(json, "error_description", 500);
  return {Code::kUnauthenticated,
          Format("{}: HTTP status {}: {}{}", url, answer.status,
                 error.empty() ? "no reason" : error, text.empty() ? "" : ": " + text)};
}

}  // namespace

Result<DeviceCode> StartDeviceLogin(const DeviceLoginOptions& options, const LoginCalls& calls) {
  ASSIGN_OR_RETURN(const https::OidcIssuer issuer, https::Discover(options.issuer, calls.get));
  if (issuer.device_url.empty() || issuer.token_url.empty())
    return Status(Code::kFailedPrecondition,
                  Format("{}: expected an issuer with device codes (RFC 8628), saw one without",
                         options.issuer));
  ASSIGN_OR_RETURN(const https::Answer answer,
                   calls.post(issuer.device_url, https::Form({{"client_id", options.client_id},
                                                              {"scope", options.scope}})));
  ASSIGN_OR_RETURN(const Json json, ObjectOf(issuer.device_url, answer));
  if (answer.status != 200) return Refused(issuer.device_url, answer, json);
  DeviceCode code{.token_url = issuer.token_url,
                  .device_code = PlainMember(json, "device_code", kTextBytesMax),
                  .user_code = PlainMember(json, "user_code", 100),
                  .page = PlainMember(json, "verification_uri_complete", kTextBytesMax),
                  .interval = SecondsMember(json, "interval", 5, kIntervalMax),
                  .lifetime = SecondsMember(json, "expires_in", 600, kLifetimeMax)};
  if (code.page.empty()) code.page = PlainMember(json, "verification_uri", kTextBytesMax);
  if (code.device_code.empty() || code.user_code.empty() || !https::ParseUrl(code.page).ok())
    return Status(Code::kFailedPrecondition,
                  issuer.device_url +
                      ": expected a device code, a user code and an https:// page, "
                      "saw an answer without them");
  return code;
}

Result<std::optional<std::string>> PollDeviceLogin(const DeviceLoginOptions& options,
                                                   const LoginCalls& calls, DeviceCode& code) {
  ASSIGN_OR_RETURN(
      const https::Answer answer,
      calls.post(code.token_url,
                 https::Form({{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                              {"device_code", code.device_code},
                              {"client_id", options.client_id}})));
  ASSIGN_OR_RETURN(const Json json, ObjectOf(code.token_url, answer));
  if (answer.status == 200) {
    const char* const member = options.access_token ? "access_token" : "id_token";
    std::string token = PlainMember(json, member, 16 << 10);
    if (!token.empty()) return std::optional(std::move(token));
    return Status(Code::kFailedPrecondition,
                  Format("{}: expected {}, saw an answer without it: check --scope (openid)",
                         code.token_url, member));
  }
  const std::string error = PlainMember(json, "error", 100);
  if (error == "slow_down") code.interval += kSlowDown;
  if (error == "authorization_pending" || error == "slow_down") return std::optional<std::string>();
  if (error == "access_denied")
    return Status(Code::kPermissionDenied, "sign-in was refused in the browser");
  if (error == "expired_token")
    return Status(Code::kDeadlineExceeded, "the code has expired: run fabricctl login again");
  return Refused(code.token_url, answer, json);
}

}  // namespace fabric::ctl
