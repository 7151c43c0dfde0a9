#include "daemon/api/rest/negotiation.h"

#include <utility>

#include "base/text.h"

namespace fabric::api {
namespace {

// Calls `use` with each element of a list that is separated by commas, until it returns true.
template <class Use>
bool AnyOf(std::string_view list, Use use) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (use(Trim(list.substr(0, comma)))) return true;
    if (comma == list.npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// "gzip;q=0" refuses the coding.
bool IsRefused(std::string_view parameters) {
  const std::size_t at = parameters.find("q=0");
  return at != parameters.npos && parameters.find_first_of("123456789", at + 3) == parameters.npos;
}

}  // namespace

bool AcceptsCoding(std::string_view accept_encoding, std::string_view coding) {
  return AnyOf(accept_encoding, [&](std::string_view element) {
    const std::size_t end = element.find(';');
    const std::string_view name = Trim(element.substr(0, end));
    const std::string_view parameters = end == element.npos ? "" : element.substr(end);
    return (name == coding || name == "*") && !IsRefused(parameters);
  });
}

bool MatchesTag(std::string_view if_none_match, std::string_view etag) {
  return AnyOf(if_none_match, [&](std::string_view element) {
    if (element.starts_with("W/")) element.remove_prefix(2);
    return element == etag || element == "*";
  });
}

HttpResponse Negotiate(HttpResponse answer, const HttpRequest& request) {
  if (!answer.gzip_body.empty()) answer.headers += "Vary: Accept-Encoding\r\n";
  if (!answer.etag.empty() && MatchesTag(request.if_none_match, answer.etag)) {
    answer.status = 304;
    answer.body.clear();
    return answer;
  }
  if (!answer.gzip_body.empty() && AcceptsCoding(request.accept_encoding, "gzip")) {
    answer.body = answer.gzip_body;
    answer.headers += "Content-Encoding: gzip\r\n";
  }
  return answer;
}

}  // namespace fabric::api
