#include "daemon/api/rest/request_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace fabric::api {
namespace {

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsAddress(const std::string& host) {
  in6_addr ignored{};
  if (host.starts_with('[') && host.ends_with(']'))
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &ignored) == 1;
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

// "fabricd" of "fabricd:9419", "[::1]" of "[::1]:9419".
std::string WithoutPort(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool port = colon != host.npos && (bracket == host.npos || colon > bracket);
  return ToLower(port ? host.substr(0, colon) : host);
}

}  // namespace

RequestGuard::RequestGuard(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) name = ToLower(name);
}

bool RequestGuard::Allows(std::string_view host) const {
  const std::string name = WithoutPort(host);
  return name == "localhost" || IsAddress(name) ||
         std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& one) { return one == "*" || one == name; });
}

Status RequestGuard::Check(const RequestHeaders& headers) const {
  if (!headers.host.empty() && !Allows(headers.host))
    return {Code::kPermissionDenied,
            Format("Host: expected an IP address, localhost or a name of the setting rest-hosts, "
                   "saw {}",
                   Quoted(headers.host))};
  if (!headers.origin.empty()) {
    const std::size_t scheme = headers.origin.find("://");
    const std::string_view origin =
        scheme == headers.origin.npos ? headers.origin : headers.origin.substr(scheme + 3);
    if (headers.host.empty() || ToLower(origin) != ToLower(headers.host))
      return {Code::kPermissionDenied, Format("Origin: expected {} as in Host, saw {}",
                                              Quoted(headers.host), Quoted(headers.origin))};
  }
  const std::string type =
      ToLower(Trim(headers.content_type.substr(0, headers.content_type.find(';'))));
  if (headers.has_body && type != "application/json")
    return {Code::kInvalidArgument,
            Format("Content-Type: expected application/json, saw {}", Quoted(type))};
  return {};
}

}  // namespace fabric::api
