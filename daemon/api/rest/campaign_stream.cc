#include "daemon/api/rest/campaign_stream.h"

#include <memory>
#include <string>
#include <utility>

#include "daemon/api/rest/rest_text.h"
#include "proto/fabric_service.h"
#include "proto/message_text.h"

namespace fabric::api {
namespace {

constexpr std::uint32_t kResultsOfPiece = 256;

class CampaignStream final : public BodyStream {
 public:
  // `head` and `tail`: the text of the campaign around the list of results.
  CampaignStream(const CallFunction& call, access::Caller caller, std::string id, std::string head,
                 std::string tail)
      : call_(call), caller_(std::move(caller)), head_(std::move(head)), tail_(std::move(tail)) {
    request_.set_id(std::move(id));
    request_.set_page_size(kResultsOfPiece);
  }

  Result<bool> Next(std::string& out) override {
    out += std::exchange(head_, {});
    v1::ListCampaignResultsResponse page;
    RETURN_IF_ERROR(call_({.caller = caller_, .transport = "rest"},
                          *MethodOf(*v1::ListCampaignResultsRequest::descriptor()), request_,
                          page));
    for (const v1::PairResult& result : page.results()) {
      out += std::exchange(first_, false) ? "\n" : ",\n";
      RETURN_IF_ERROR(AppendJson(result, JsonStyle::kOneLine, out));
    }
    request_.set_page_token(page.next_page_token());
    if (!request_.page_token().empty()) return true;
    out += tail_;
    return false;
  }

 private:
  const CallFunction& call_;
  const access::Caller caller_;
  v1::ListCampaignResultsRequest request_;
  std::string head_;
  const std::string tail_;
  bool first_ = true;
};

}  // namespace

bool WantsResults(const google::protobuf::Message& request) {
  if (request.GetDescriptor() != v1::GetCampaignRequest::descriptor()) return false;
  const auto& get = static_cast<const v1::GetCampaignRequest&>(request);
  return get.include_results() && !get.omit_results();
}

std::variant<HttpResponse, EventStreamStart, StreamedResponse> StreamCampaign(
    const CallFunction& call_function, const RestCall& call, const access::Caller& caller) {
  auto request = static_cast<const v1::GetCampaignRequest&>(*call.request);
  request.set_include_results(false);
  v1::Campaign campaign;
  Status status =
      call_function({.caller = caller, .transport = "rest"}, *call.method, request, campaign);
  std::string text;
  const JsonStyle style = call.pretty ? JsonStyle::kIndented : JsonStyle::kOneLine;
  if (status.ok()) status = AppendJson(campaign, style, text);
  if (!status.ok()) return ErrorResponse(HttpStatus(status.code()), status);
  // A quote within a string is escaped, and no message within a campaign has such a list.
  const std::string_view list = call.pretty ? "\"results\": []" : "\"results\":[]";
  const std::size_t at = text.find(list);
  if (at == text.npos)
    return ErrorResponse(500, {Code::kInternal, "a campaign is printed without results"});
  const std::size_t inside = at + list.size() - 1;
  return StreamedResponse{
      .head = {},
      .body = std::make_unique<CampaignStream>(call_function, caller, campaign.id(),
                                               text.substr(0, inside), text.substr(inside) + "\n")};
}

}  // namespace fabric::api
