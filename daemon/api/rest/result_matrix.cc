#include "daemon/api/rest/result_matrix.h"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/text.h"
#include "daemon/api/rest/rest_text.h"
#include "fabric/v1/fabric.pb.h"
#include "proto/json.h"
#include "proto/probe_kinds.h"

namespace fabric::api {
namespace {

constexpr std::uint32_t kMatrixPageSize = 2'000;

void AppendNumber(std::uint32_t number, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

void AppendBlock(MatrixBlock block, std::uint32_t measure, std::size_t count, std::string& out) {
  AppendNumber(static_cast<std::uint32_t>(block), out);
  AppendNumber(measure, out);
  AppendNumber(static_cast<std::uint32_t>(count), out);
}

class MatrixStream final : public BodyStream {
 public:
  MatrixStream(const CallFunction& call, const google::protobuf::MethodDescriptor& method,
               access::Caller caller, v1::ListCampaignResultsRequest request, std::string head,
               std::string next_page_token, MatrixWriter writer)
      : call_(call),
        method_(method),
        caller_(std::move(caller)),
        request_(std::move(request)),
        head_(std::move(head)),
        writer_(std::move(writer)) {
    request_.set_page_token(std::move(next_page_token));
  }

  Result<bool> Next(std::string& out) override {
    out += std::exchange(head_, {});
    if (!request_.page_token().empty()) {
      v1::ListCampaignResultsResponse page;
      RETURN_IF_ERROR(call_({.caller = caller_, .transport = "rest"}, method_, request_, page));
      writer_.Append(page.results(), out);
      request_.set_page_token(page.next_page_token());
    }
    if (!request_.page_token().empty()) return true;
    MatrixWriter::AppendEnd(out);
    return false;
  }

 private:
  const CallFunction& call_;
  const google::protobuf::MethodDescriptor& method_;
  const access::Caller caller_;
  v1::ListCampaignResultsRequest request_;
  std::string head_;
  MatrixWriter writer_;
};

}  // namespace

float MatrixValue(const v1::PairResult& pair) {
  const v1::ProbeResult& result = pair.result();
  if (result.status() != v1::PROBE_STATUS_OK) return -static_cast<float>(result.status());
  if (result.has_bandwidth()) return static_cast<float>(result.bandwidth().mean_bps());
  if (result.has_latency()) return static_cast<float>(result.latency().median_us());
  if (result.has_ping() && result.ping().answered() > 0)
    return static_cast<float>(result.ping().network_round_trip().median_us());
  if (result.path_mtu_bytes() > 0) return static_cast<float>(result.path_mtu_bytes());
  return std::numeric_limits<float>::quiet_NaN();
}

std::uint32_t MatrixWriter::NumberOf(const v1::ProbePort& port) {
  const auto number = static_cast<std::uint32_t>(ports_.size());
  const auto [at, is_new] =
      ports_.try_emplace(Format("{}/{}/{}", port.node(), port.device(), port.port()), number);
  if (is_new) new_ports_ += (new_ports_.empty() ? "" : ",") + ToJson(port, false);
  return at->second;
}

void MatrixWriter::Append(const google::protobuf::RepeatedPtrField<v1::PairResult>& results,
                          std::string& out) {
  std::map<v1::Measure, std::string> cells;
  for (const v1::PairResult& result : results) {
    std::string& of_measure = cells[MeasureOf(result.probe())];
    AppendNumber(NumberOf(result.from()), of_measure);
    AppendNumber(NumberOf(result.to()), of_measure);
    AppendNumber(std::bit_cast<std::uint32_t>(MatrixValue(result)), of_measure);
  }
  if (!new_ports_.empty()) {
    std::string text = "[" + std::exchange(new_ports_, {}) + "]";
    text.resize((text.size() + 3) / 4 * 4, ' ');
    AppendBlock(MatrixBlock::kPorts, 0, text.size(), out);
    out += text;
  }
  for (const auto& [measure, text] : cells) {
    AppendBlock(MatrixBlock::kCells, measure, text.size() / 12, out);
    out += text;
  }
}

void MatrixWriter::AppendEnd(std::string& out) {
  AppendBlock(MatrixBlock::kEnd, 0, 0, out);
}

bool WantsMatrix(const HttpRequest& request, const google::protobuf::Message& call_request) {
  return request.accept == kResultMatrixType &&
         call_request.GetDescriptor() == v1::ListCampaignResultsRequest::descriptor();
}

// The first page is read here, so that a refused call is answered with its status.
std::variant<HttpResponse, EventStreamStart, StreamedResponse> StreamMatrix(
    const CallFunction& call_function, const RestCall& call, const access::Caller& caller) {
  auto request = static_cast<const v1::ListCampaignResultsRequest&>(*call.request);
  request.set_page_size(kMatrixPageSize);
  v1::ListCampaignResultsResponse page;
  const Status status =
      call_function({.caller = caller, .transport = "rest"}, *call.method, request, page);
  if (!status.ok()) return ErrorResponse(HttpStatus(status.code()), status);
  MatrixWriter writer;
  std::string head;
  writer.Append(page.results(), head);
  return StreamedResponse{.head = {.content_type = std::string(kResultMatrixType)},
                          .body = std::make_unique<MatrixStream>(
                              call_function, *call.method, caller, request, std::move(head),
                              page.next_page_token(), std::move(writer))};
}

}  // namespace fabric::api
