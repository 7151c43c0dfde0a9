#include "tests/testing/control_world.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"
#include "proto/names.h"
#include "tests/testing/nodes.h"

namespace fabric::testing {

using namespace std::chrono_literals;

Status FlakyStore::PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) {
  ++node_writes;
  return failure.ok() ? store_->PutNode(snapshot, memory) : failure;
}
Status FlakyStore::DeleteNode(const std::string& node) {
  return failure.ok() ? store_->DeleteNode(node) : failure;
}
Status FlakyStore::PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) {
  return failure.ok() ? store_->PutFinding(finding, record) : failure;
}
Status FlakyStore::PutSilence(const v1::Silence& silence) {
  return failure.ok() ? store_->PutSilence(silence) : failure;
}
Status FlakyStore::PutCampaign(const v1::Campaign& campaign) {
  return failure.ok() ? store_->PutCampaign(campaign) : failure;
}
Status FlakyStore::PutCertificate(const v1::GetCertificateResponse& certificate) {
  return failure.ok() ? store_->PutCertificate(certificate) : failure;
}
Status FlakyStore::Together(const std::function<Status()>& writes) {
  return failure.ok() ? store_->Together(writes) : failure;
}
Status FlakyStore::Durably(const std::function<Status()>& writes) {
  return failure.ok() ? store_->Durably(writes) : failure;
}
Result<bool> FlakyStore::Maintain(Duration ran, WallTime now) {
  if (!failure.ok()) return failure;
  return store_->Maintain(ran, now);
}
Status FlakyStore::AddPairResults(std::span<const store::CampaignResult> results) {
  ++result_writes;
  return failure.ok() ? store_->AddPairResults(results) : failure;
}
Status FlakyStore::AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) {
  return failure.ok() ? store_->AddSettingChange(node, change) : failure;
}
Status FlakyStore::AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) {
  return failure.ok() ? store_->AddCounterMark(node, mark) : failure;
}

ControlWorld::ControlWorld(const control::ControllerOptions& options) : options_(options) {
  bus_.Subscribe(log);
  Open();
}

ControlWorld::~ControlWorld() {
  bus_.Unsubscribe(log);
}

void ControlWorld::Open() {
  auto opened = store::OpenSqlite(directory_.path() + "/state.db");
  if (!opened.ok()) FAIL() << opened.status().message();
  store = std::make_unique<FlakyStore>(*std::move(opened));
  controller = std::make_unique<control::Controller>(options_, *store, agents, bus_, agents.now());
  agents.Attach(*controller);
}

void ControlWorld::Restart() {
  controller.reset();
  store.reset();
  Open();
  const Status loaded = controller->Load(agents.now());
  ASSERT_TRUE(loaded.ok()) << loaded.message();
}

void ControlWorld::ConnectNodes(std::uint32_t count) {
  for (const v1::NodeSnapshot& node : Nodes(count, RoceNode)) {
    const Status connected = agents.Connect(node);
    ASSERT_TRUE(connected.ok()) << connected.message();
  }
  agents.Advance(300ms);
}

std::string ControlWorld::StartCampaign(const v1::CampaignSpec& spec) {
  v1::Campaign campaign;
  const Status started = TryToStart(spec, campaign);
  EXPECT_TRUE(started.ok()) << started.message();
  return campaign.id();
}

Status ControlWorld::Refusal(const v1::CampaignSpec& spec) {
  v1::Campaign campaign;
  return TryToStart(spec, campaign);
}

Status ControlWorld::TryToStart(const v1::CampaignSpec& spec, v1::Campaign& campaign) {
  v1::StartCampaignRequest request;
  *request.mutable_spec() = spec;
  return controller->Call(request, campaign, agents.now());
}

v1::Campaign ControlWorld::Cancel(const std::string& id) {
  v1::CancelCampaignRequest request;
  request.set_id(id);
  v1::Campaign campaign;
  const Status cancelled = controller->Call(request, campaign, agents.now());
  EXPECT_TRUE(cancelled.ok()) << cancelled.message();
  return campaign;
}

v1::Campaign ControlWorld::Campaign(const std::string& id) {
  v1::GetCampaignRequest request;
  request.set_id(id);
  request.set_include_results(true);
  v1::Campaign campaign;
  const Status got = controller->Call(request, campaign, agents.now());
  EXPECT_TRUE(got.ok()) << got.message();
  return campaign;
}

v1::Campaign ControlWorld::Finish(const std::string& id, Duration most) {
  for (Duration passed{}; passed < most; passed += 100ms) {
    agents.Advance(100ms);
    if (Campaign(id).has_ended_at()) break;
  }
  v1::Campaign campaign = Campaign(id);
  EXPECT_TRUE(campaign.has_ended_at()) << "the campaign does not end";
  return campaign;
}

std::vector<std::string> ControlWorld::OpenFindings() {
  v1::ListFindingsResponse response;
  EXPECT_TRUE(controller->Call(v1::ListFindingsRequest(), response, agents.now()).ok());
  std::vector<std::string> lines;
  for (const v1::Finding& finding : response.findings())
    lines.push_back(Format("{} {}", finding.rule(), SubjectName(finding.subject())));
  return lines;
}

v1::NodeSummary ControlWorld::Node(const std::string& name) {
  v1::GetNodeRequest request;
  request.set_name(name);
  v1::GetNodeResponse response;
  const Status got = controller->Call(request, response, agents.now());
  EXPECT_TRUE(got.ok()) << got.message();
  return response.summary();
}

}  // namespace fabric::testing
