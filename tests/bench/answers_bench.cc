// Pages of large lists: 100,000 ports of 10,000 nodes, and a campaign with 2,000,000 results. Run
// by hand, on a release build: docs/BENCHMARKS.md.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"

namespace fabric::control {
namespace {

constexpr std::uint32_t kNodes = 10'000;
constexpr std::uint32_t kRails = 10;
constexpr std::uint32_t kResults = 2'000'000;

class NoAgents final : public AgentSink {
 public:
  void Send(SessionId, const v1::ControllerMessage&) override {}
  void Close(SessionId, const Status&) override {}
};

// A controller without rules and writes: only what queries need.
class LargeFleet {
 public:
  explicit LargeFleet(std::uint32_t results) {
    auto sqlite = *store::OpenSqlite(directory_.path() + "/state.db");
    if (results > 0) AddResults(*sqlite, results);
    store_ = std::make_unique<testing::FlakyStore>(std::move(sqlite));
    controller_ =
        std::make_unique<Controller>(ControllerOptions(), *store_, agents_, events_, clock_.Now());
    (void)controller_->Load(clock_.Now());
    store_->failure = {Code::kUnavailable, "not part of the measurement"};
  }

  void AddNodes() {
    for (std::uint32_t n = 1; n <= kNodes; ++n) {
      v1::AgentMessage hello, snapshot;
      *snapshot.mutable_snapshot() =
          testing::RoceNode({.number = n, .rails = kRails, .gpu = false});
      *hello.mutable_hello()->mutable_node() = snapshot.snapshot().node();
      (void)controller_->OnMessage(SessionId(n), hello, clock_.Now());
      (void)controller_->OnMessage(SessionId(n), snapshot, clock_.Now());
    }
  }

  template <class Response, class Request>
  Response Call(const Request& request) {
    Response response;
    const Status status = controller_->Call(request, response, clock_.Now());
    if (!status.ok()) std::abort();
    return response;
  }

 private:
  static void AddResults(store::Store& store, std::uint32_t results) {
    v1::Campaign campaign;
    campaign.set_id("c1");
    campaign.set_state(v1::CAMPAIGN_STATE_DONE);
    campaign.mutable_ended_at()->set_seconds(1);
    campaign.set_probes_ok(results);
    (void)store.PutCampaign(campaign);
    v1::PairResult result;
    result.mutable_from()->set_node("gpu-node-0001");
    result.mutable_to()->set_node("gpu-node-0002");
    result.mutable_result()->set_reason(std::string(200, 'r'));
    const std::vector<store::CampaignResult> some(10'000, {"c1", result});
    for (std::uint32_t n = 0; n < results; n += 10'000) (void)store.AddPairResults(some);
  }

  testing::TempTree directory_;
  SystemClock clock_;
  NoAgents agents_;
  EventBus events_;
  std::unique_ptr<testing::FlakyStore> store_;
  std::unique_ptr<Controller> controller_;
};

LargeFleet& Fleet() {
  static const std::unique_ptr<LargeFleet> fleet = [] {
    auto made = std::make_unique<LargeFleet>(0);
    made->AddNodes();
    return made;
  }();
  return *fleet;
}

// `pages`: pages before the measured one.
void BM_PortsPage(benchmark::State& state, const std::string& filter, int pages) {
  v1::ListDevicesRequest request;
  request.set_page_size(1'000);
  request.set_filter(filter);
  for (int n = 0; n < pages; ++n)
    request.set_page_token(Fleet().Call<v1::ListDevicesResponse>(request).next_page_token());
  int ports = 0;
  for (auto _ : state) ports = Fleet().Call<v1::ListDevicesResponse>(request).devices_size();
  state.counters["ports"] = ports;
}
BENCHMARK_CAPTURE(BM_PortsPage, first, "rail=3 state=active", 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_PortsPage, ninth, "rail=3 state=active", 8)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_PortsPage, one_of_all, "node=n9999 rail=3", 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_PortsPage, regex, "node=~\"n99.*\" rail=3", 0)->Unit(benchmark::kMillisecond);

// `before`: results before the page.
void BM_ResultsPage(benchmark::State& state, std::uint32_t before) {
  static const auto fleet = std::make_unique<LargeFleet>(kResults);
  v1::ListCampaignResultsRequest request;
  request.set_id("c1");
  request.set_page_size(10'000);
  for (std::uint32_t n = 0; n < before; n += 10'000)
    request.set_page_token(fleet->Call<v1::ListCampaignResultsResponse>(request).next_page_token());
  request.set_page_size(1'000);
  int results = 0;
  for (auto _ : state)
    results = fleet->Call<v1::ListCampaignResultsResponse>(request).results_size();
  state.counters["results"] = results;
}
BENCHMARK_CAPTURE(BM_ResultsPage, first, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ResultsPage, last, kResults - 10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::control
