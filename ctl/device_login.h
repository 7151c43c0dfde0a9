// Sign-in at an OIDC issuer with a device code (RFC 8628). Pure: the calls come in.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/https/oidc_issuer.h"
#include "base/status.h"

namespace fabric::ctl {

struct DeviceLoginOptions {
  std::string issuer;
  std::string client_id;
  std::string scope;          // "openid groups"
  bool access_token = false;  // Instead of the ID token
};

struct LoginCalls {
  https::Fetch get;
  std::function<Result<https::Answer>(const std::string& url, const std::string& form)> post;
};

struct DeviceCode {
  std::string token_url;
  std::string device_code;                      // Secret
  std::string user_code;                        // That the person enters
  std::string page;                             // Where, https://
  Duration interval = std::chrono::seconds(5);  // Between two polls
  Duration lifetime{};
};

// Errors name the URL, expected and seen; never a secret.
Result<DeviceCode> StartDeviceLogin(const DeviceLoginOptions& options, const LoginCalls& calls);

// The token, once the person has signed in. Empty: not yet; `code.interval` can grow.
// PERMISSION_DENIED if they refuse, DEADLINE_EXCEEDED if the code is too old.
Result<std::optional<std::string>> PollDeviceLogin(const DeviceLoginOptions& options,
                                                   const LoginCalls& calls, DeviceCode& code);

}  // namespace fabric::ctl
