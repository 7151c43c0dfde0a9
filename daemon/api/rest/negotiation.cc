#include "daemon/api/rest/negotiation.h"

#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "daemon/api/rest/gzip.h"

namespace fabric::api {
namespace {

constexpr std::string_view kVary = "Vary: Accept-Encoding\r\n";
constexpr std::string_view kGzip = "Content-Encoding: gzip\r\n";
constexpr std::size_t kGzipBytesMin = 1024;  // Shorter bodies fit one packet.

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
  const auto strong = [](std::string_view tag) {
    return tag.substr(tag.starts_with("W/") ? 2 : 0);
  };
  return AnyOf(if_none_match, [&](std::string_view element) {
    return strong(element) == strong(etag) || element == "*";
  });
}

HttpResponse Negotiate(HttpResponse answer, const HttpRequest& request) {
  const bool zipped = !answer.gzip_body.empty();
  if (zipped || answer.compress) answer.headers += kVary;
  if (!answer.etag.empty() && MatchesTag(request.if_none_match, answer.etag)) {
    answer.status = 304;
    answer.body.clear();
    return answer;
  }
  const bool worthwhile = zipped || (answer.compress && answer.body.size() >= kGzipBytesMin);
  if (worthwhile && AcceptsCoding(request.accept_encoding, "gzip")) {
    answer.body = zipped ? std::string(answer.gzip_body) : Gzipped(answer.body);
    answer.headers += kGzip;
  }
  return answer;
}

StreamedResponse Negotiate(StreamedResponse answer, const HttpRequest& request) {
  answer.head.headers += kVary;
  if (!AcceptsCoding(request.accept_encoding, "gzip")) return answer;
  answer.head.headers += kGzip;
  answer.body = GzipBody(std::move(answer.body));
  return answer;
}

std::string WeakTag(std::string_view body) {
  return Format("W/\"{:016x}\"", Fnv(body));
}

}  // namespace fabric::api
