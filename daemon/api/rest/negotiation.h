// The form of an answer that the client accepts: 304 for a known ETag, gzip when it accepts it.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/api/rest/rest_service.h"

namespace fabric::api {

// Whether the header Accept-Encoding has this coding with a quality above 0, or "*".
bool AcceptsCoding(std::string_view accept_encoding, std::string_view coding);

// Whether the header If-None-Match has this ETag or "*".
bool MatchesTag(std::string_view if_none_match, std::string_view etag);

// An answer without ETag and gzip is unchanged. A short body stays as it is.
HttpResponse Negotiate(HttpResponse answer, const HttpRequest& request);
StreamedResponse Negotiate(StreamedResponse answer, const HttpRequest& request);

// Of a body that is made for each request. Weak: its compressed forms can differ in bytes.
std::string WeakTag(std::string_view body);

}  // namespace fabric::api
