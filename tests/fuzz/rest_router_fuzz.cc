// Request lines and bodies of REST: whatever they are, each is a call of its rpc or an error that
// can be sent. The input is "VERB TARGET\nBODY".
#include "base/utf8.h"
#include "daemon/api/rest/rest_router.h"
#include "daemon/api/rest/rest_text.h"
#include "proto/fabric_service.h"
#include "proto/json.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fabric::api::RestRouter router(*fabric::api::RoutesOf(fabric::FabricService()),
                                              {"/metrics"});
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view line = input.substr(0, input.find('\n'));
  const std::string_view body = line.size() < size ? input.substr(line.size() + 1) : "";
  const std::string_view verb = line.substr(0, line.find(' '));
  const std::string_view target =
      verb.size() < line.size() ? line.substr(verb.size() + 1) : std::string_view();
  const auto match = router.Match(verb, target, body);
  if (const auto* const error = std::get_if<fabric::api::RestError>(&match)) {
    Check(error->http_status >= 400 && error->http_status < 500,
          "the client is told that it erred");
    Check(!error->status.message().empty(), "an error has a reason");
    Check(fabric::IsUtf8(fabric::api::ErrorJson(error->status)), "an error can be sent");
    return 0;
  }
  const auto& call = std::get<fabric::api::RestCall>(match);
  Check(call.request->GetDescriptor() == call.method->input_type(), "the request is the rpc's");
  Check(!fabric::ToJson(*call.request, false).empty(), "a request can be printed");
  Check(!router.Allowed(target).empty(), "a path that is served has methods");
  return 0;
}
