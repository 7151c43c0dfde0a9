// A campaign with all of its results, as JSON that is made while it is sent.
#pragma once

#include <variant>

#include "daemon/api/rest/rest_service.h"

namespace fabric::api {

// True for GetCampaign with include_results.
bool WantsResults(const google::protobuf::Message& request);

// Reads the results page by page, each as a call of the caller. `call_function` is borrowed by the
// stream.
std::variant<HttpResponse, EventStreamStart, StreamedResponse> StreamCampaign(
    const CallFunction& call_function, const RestCall& call, const access::Caller& caller);

}  // namespace fabric::api
