// Requests of list methods: filter, mask and page token, one on each line. Each is accepted or
// refused in one line, and an accepted filter can be applied to any element.
#include "base/utf8.h"
#include "daemon/control/listing/list_turn.h"
#include "fabric/v1/fabric.pb.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!fabric::IsUtf8(input)) return 0;  // Not in a message
  fabric::v1::ListFindingsRequest request;
  for (std::string* field :
       {request.mutable_filter(), request.mutable_fields(), request.mutable_page_token()}) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    *field = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  const fabric::Moment now{.steady = {}, .wall = fabric::WallTime(std::chrono::hours(1'000'000))};
  auto turn = fabric::control::ListTurn::Start(request, *fabric::v1::Finding::descriptor(), now);
  if (!turn.ok()) {
    Check(turn.status().message().find('\n') == std::string::npos, "an error is one line");
    Check(fabric::IsUtf8(turn.status().message()), "an error can be sent");
    return 0;
  }
  fabric::v1::ListFindingsResponse response;
  fabric::v1::Finding finding;
  turn->Offer("a", finding, *response.mutable_findings());
  finding.set_title("title");
  finding.mutable_subject()->set_node("n1");
  finding.add_affected()->set_node("n1");
  finding.mutable_opened_at()->set_seconds(1);
  turn->Offer("b", finding, *response.mutable_findings());
  turn->End(false);
  turn->Finish(response);
  request.set_page_token(response.next_page_token());
  auto next = fabric::control::ListTurn::Start(request, *fabric::v1::Finding::descriptor(), now);
  Check(next.ok() && next->after() == "b", "the next page follows");
  return 0;
}
