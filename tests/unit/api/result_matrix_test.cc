#include "daemon/api/rest/result_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/options.pb.h"

namespace fabric::api {
namespace {

using ::testing::HasSubstr;

v1::PairResult Pair(const char* from, const char* to, double latency_us) {
  v1::PairResult pair;
  pair.mutable_from()->set_node(from);
  pair.mutable_to()->set_node(to);
  pair.mutable_probe()->mutable_rc_write_latency();
  pair.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  pair.mutable_result()->mutable_latency()->set_median_us(latency_us);
  return pair;
}

std::uint32_t NumberAt(const std::string& text, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, text.data() + at, sizeof(number));
  return number;
}

TEST(MatrixValue, IsTheMeasuredValueOrTheStatus) {
  v1::PairResult pair = Pair("n1", "n2", 2.5);
  EXPECT_EQ(MatrixValue(pair), 2.5F);
  pair.mutable_result()->set_status(v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(MatrixValue(pair), -5.0F);
  pair.mutable_result()->Clear();
  pair.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  EXPECT_TRUE(std::isnan(MatrixValue(pair))) << "no value is not 0";
  pair.mutable_result()->mutable_bandwidth()->set_mean_bps(4e11);
  EXPECT_EQ(MatrixValue(pair), 4e11F);
}

TEST(MatrixWriter, WritesEachPortOnce) {
  v1::ListCampaignResultsResponse page;
  *page.add_results() = Pair("n1", "n2", 2);
  *page.add_results() = Pair("n2", "n1", 3);
  MatrixWriter writer;
  std::string text;
  writer.Append(page.results(), text);
  ASSERT_GE(text.size(), 12U);
  EXPECT_EQ(NumberAt(text, 0), 1U);
  const std::uint32_t bytes = NumberAt(text, 8);
  EXPECT_EQ(bytes % 4, 0U);
  EXPECT_THAT(text.substr(12, bytes), HasSubstr("\"node\":\"n2\""));
  const std::size_t cells = 12 + bytes;
  EXPECT_EQ(NumberAt(text, cells), 2U);
  EXPECT_EQ(NumberAt(text, cells + 4), static_cast<std::uint32_t>(v1::MEASURE_LATENCY));
  EXPECT_EQ(NumberAt(text, cells + 8), 2U);
  EXPECT_EQ(NumberAt(text, cells + 12 + 12), 1U) << "from of the second cell";
  EXPECT_EQ(text.size(), cells + 12 + 2 * 12);
  text.clear();
  writer.Append(page.results(), text);
  EXPECT_EQ(NumberAt(text, 0), 2U) << "no new ports";
}

// Answers two pages of one result each.
Status TwoPages(const CallContext&, const google::protobuf::MethodDescriptor&,
                const google::protobuf::Message& request, google::protobuf::Message& response) {
  const auto& list = static_cast<const v1::ListCampaignResultsRequest&>(request);
  if (list.id() != "c1") return {Code::kNotFound, "no campaign"};
  auto& page = static_cast<v1::ListCampaignResultsResponse&>(response);
  *page.add_results() = Pair("n1", list.page_token().empty() ? "n2" : "n3", 2);
  if (list.page_token().empty()) page.set_next_page_token("x");
  return {};
}

TEST(StreamMatrix, ReadsAllPagesAndEndsWithABlock) {
  const auto* const service = v1::Event::descriptor()->file()->FindServiceByName("Fabric");
  const RestService rest{TwoPages, *RoutesOf(*service), {}};
  HttpRequest request{.verb = "GET",
                      .target = "/v1/campaigns/c1/results",
                      .accept = "application/vnd.fabricd.results"};
  auto answer = rest.Handle(request);
  auto* const stream = std::get_if<StreamedResponse>(&answer);
  ASSERT_NE(stream, nullptr);
  std::string text;
  while (true) {
    const auto more = stream->body->Next(text);
    ASSERT_TRUE(more.ok());
    if (!*more) break;
  }
  EXPECT_THAT(text, HasSubstr("\"node\":\"n3\""));
  EXPECT_EQ(NumberAt(text, text.size() - 12), 3U);
  request.target = "/v1/campaigns/c2/results";
  EXPECT_EQ(std::get<HttpResponse>(rest.Handle(request)).status, 404);
}

}  // namespace
}  // namespace fabric::api
