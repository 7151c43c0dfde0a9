// Refuses requests that a web page of another site makes a browser send (cross-site request
// forgery, DNS rebinding). Pure.
//
// - Host must be an IP address, localhost or an allowed name. A page of another site can reach the
//   controller by a name of its own that resolves to the controller's address, but then Host has
//   this name.
// - Origin, which browsers add to requests of pages, must be equal to Host.
// - A body must be application/json, which pages of other sites cannot send.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::api {

struct RequestHeaders {
  std::string_view host;          // Empty: none, as in HTTP/1.0
  std::string_view origin;        // Empty: none
  std::string_view content_type;  // Empty: none
  bool has_body = false;
};

class RequestGuard {
 public:
  // Names that are allowed besides localhost, such as "fabricd.example.org"; "*" allows all.
  explicit RequestGuard(std::vector<std::string> names = {});

  // PERMISSION_DENIED for host and origin, INVALID_ARGUMENT for the content type.
  Status Check(const RequestHeaders& headers) const;

 private:
  bool Allows(std::string_view host) const;

  std::vector<std::string> names_;  // In lower case
};

}  // namespace fabric::api
