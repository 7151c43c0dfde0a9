// Answers that do not fit into memory: streamed with back-pressure, in bounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "proto/json.h"
#include "tests/testing/raw_client.h"
#include "tests/unit/api/controller_world.h"

namespace fabric::api {
namespace {

using testing::ControllerWorld;
using ::testing::HasSubstr;
using testing::HttpBody;
using testing::HttpGet;
using testing::RawClient;
using ::testing::StartsWith;

v1::PairResult SampleResult(std::uint32_t number) {
  v1::PairResult result;
  result.set_round(number);
  for (auto* port : {result.mutable_from(), result.mutable_to()}) {
    port->set_node("gpu-node-" + std::to_string(number));
    port->set_device("mlx5_0");
    port->set_port(1);
  }
  result.mutable_probe()->mutable_rc_write_latency()->set_message_bytes(8);
  result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  result.mutable_result()->mutable_latency()->set_median_us(2.5);
  return result;
}

// A world whose store has a campaign c1 with this many results.
std::unique_ptr<ControllerWorld> WorldWithResults(std::uint32_t results) {
  return std::make_unique<ControllerWorld>([results](store::Store& store) {
    v1::Campaign campaign;
    campaign.set_id("c1");
    campaign.set_state(v1::CAMPAIGN_STATE_DONE);
    campaign.mutable_ended_at()->set_seconds(1);
    campaign.set_probes_ok(results);
    ASSERT_TRUE(store.PutCampaign(campaign).ok());
    std::vector<store::CampaignResult> some;
    for (std::uint32_t n = 0; n < results; ++n) {
      some.push_back({"c1", SampleResult(n)});
      if (some.size() < 10'000 && n + 1 < results) continue;
      ASSERT_TRUE(store.AddPairResults(some).ok());
      some.clear();
    }
  });
}

// The body of a chunked answer.
std::string Unchunked(std::string_view body) {
  std::string text;
  while (!body.empty()) {
    const std::size_t end = body.find("\r\n");
    const std::size_t size = std::stoul(std::string(body.substr(0, end)), nullptr, 16);
    text += body.substr(end + 2, size);
    body.remove_prefix(end + 2 + size + 2);
    if (size == 0) break;
  }
  return text;
}

TEST(LargeAnswers, ACampaignIsStreamedAsOneObject) {
  const auto world = WorldWithResults(1'000);
  const std::string answer = HttpGet(world->rest_port(), "/v1/campaigns/c1?include_results=true");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked\r\n"));
  v1::Campaign campaign;
  const Status status = FromJson(Unchunked(HttpBody(answer)), campaign);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(campaign.results_size(), 1'000);
  EXPECT_EQ(campaign.results(999).from().node(), "gpu-node-999");
  EXPECT_EQ(campaign.results_total(), 1'000u);
}

TEST(LargeAnswers, ResultsAreOmittedWithoutARequest) {
  const auto world = WorldWithResults(10);
  const std::string bare = HttpBody(HttpGet(world->rest_port(), "/v1/campaigns/c1"));
  EXPECT_THAT(bare, HasSubstr("\"results\":[]"));
  EXPECT_THAT(bare, HasSubstr("\"results_total\":\"10\""));
  const std::string page =
      HttpBody(HttpGet(world->rest_port(), "/v1/campaigns/c1/results?page_size=4"));
  EXPECT_THAT(page, HasSubstr("\"next_page_token\":\""));
  const std::string missing = HttpGet(world->rest_port(), "/v1/campaigns/c2?include_results=true");
  EXPECT_THAT(missing, StartsWith("HTTP/1.1 404 "));
}

TEST(LargeAnswers, AnHttp10ClientGetsTheWholeAnswerToo) {
  const auto world = WorldWithResults(10);
  RawClient client(world->rest_port());
  client.Send("GET /v1/campaigns/c1?include_results=true HTTP/1.0\r\n\r\n");
  v1::Campaign campaign;
  ASSERT_TRUE(FromJson(HttpBody(client.ReadToEnd()), campaign).ok());
  EXPECT_EQ(campaign.results_size(), 10);
}

// Resident memory of this process.
std::size_t ResidentBytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(LargeAnswers, AClientThatDoesNotReadHoldsTheStreamBack) {
  const auto world = WorldWithResults(200'000);
  HttpGet(world->rest_port(), "/v1/campaigns/c1/results");
  const std::size_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int n = 0; n < 8; ++n) {
    clients.push_back(std::make_unique<RawClient>(world->rest_port()));
    clients.back()->Send(
        "GET /v1/campaigns/c1?include_results=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    clients.back()->ReadUntil("\"round\":1");
  }
  // 8 times 80 MB of text; each stream has a piece of some 100 kB.
  EXPECT_LT(ResidentBytes(), before + (64u << 20));
  EXPECT_THAT(HttpGet(world->rest_port(), "/v1/version"), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace fabric::api
