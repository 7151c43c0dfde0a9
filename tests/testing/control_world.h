// A controller with its store, its events and agents, on one thread with a simulated clock.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "tests/testing/fake_agents.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

// Passes everything on. While `failure` is one, writes fail.
class FlakyStore final : public store::Store {
 public:
  explicit FlakyStore(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}

  Status failure;
  std::uint32_t node_writes = 0;
  std::uint32_t result_writes = 0;     // Transactions with results of campaigns
  std::uint32_t results_read_max = 0;  // Results that one call wants

  Status PutNode(const v1::NodeSnapshot& snapshot, const v1::NodeMemory& memory) override;
  Status DeleteNode(const std::string& node) override;
  Status PutFinding(const v1::Finding& finding, const v1::FindingRecord& record) override;
  Status PutSilence(const v1::Silence& silence) override;
  Status PutCampaign(const v1::Campaign& campaign) override;
  Status PutCertificate(const v1::GetCertificateResponse& certificate) override;
  Status PutSchedule(const v1::ScheduleRecord& schedule) override {
    return failure.ok() ? store_->PutSchedule(schedule) : failure;
  }
  Status DeleteSchedule(const std::string& id) override {
    return failure.ok() ? store_->DeleteSchedule(id) : failure;
  }
  Result<std::vector<v1::ScheduleRecord>> Schedules() override { return store_->Schedules(); }
  Status PutNodeAction(const v1::NodeAction& action) override {
    return failure.ok() ? store_->PutNodeAction(action) : failure;
  }
  Status DeleteNodeAction(const std::string& id) override {
    return failure.ok() ? store_->DeleteNodeAction(id) : failure;
  }
  Result<std::vector<v1::NodeAction>> NodeActions() override { return store_->NodeActions(); }
  Status PutNodeLabels(const v1::SetNodeLabelsRequest& labels) override {
    return failure.ok() ? store_->PutNodeLabels(labels) : failure;
  }
  Result<std::vector<v1::SetNodeLabelsRequest>> NodeLabels() override {
    return store_->NodeLabels();
  }
  Status PutSubnetHistory(const v1::SubnetHistory& history) override {
    return failure.ok() ? store_->PutSubnetHistory(history) : failure;
  }
  Status DeleteSubnetHistory(const std::string& subnet) override {
    return failure.ok() ? store_->DeleteSubnetHistory(subnet) : failure;
  }
  Result<std::vector<v1::SubnetHistory>> SubnetHistories() override {
    return store_->SubnetHistories();
  }
  Status AddPairResults(std::span<const store::CampaignResult> results) override;
  Status AddSettingChange(const std::string& node, const v1::DiffNodeResponse& change) override;
  Status AddCounterMark(const std::string& node, const v1::DiffNodeResponse& mark) override;
  Status Together(const std::function<Status()>& writes) override;
  Status Durably(const std::function<Status()>& writes) override;
  Result<bool> Maintain(Duration ran, WallTime now) override;
  Status Backup(const std::string& path) override { return store_->Backup(path); }
  std::uint64_t epoch() const override { return store_->epoch(); }
  const store::Damage& damage() const override { return store_->damage(); }
  std::uint64_t bytes() override { return store_->bytes(); }
  const std::string& path() const override { return store_->path(); }
  Result<std::vector<v1::GetCertificateResponse>> Certificates(std::uint32_t max) override {
    return store_->Certificates(max);
  }
  Result<v1::DiffNodeResponse> CounterMark(const std::string& node,
                                           const google::protobuf::Timestamp& at) override {
    return store_->CounterMark(node, at);
  }
  Result<store::ChangeLog> SettingChanges(const std::string& node,
                                          const google::protobuf::Timestamp& from) override {
    return store_->SettingChanges(node, from);
  }
  Result<std::vector<store::StoredNode>> Nodes() override { return store_->Nodes(); }
  Result<std::vector<v1::Finding>> OpenFindings() override { return store_->OpenFindings(); }
  Result<std::vector<v1::Finding>> ResolvedFindings(std::uint32_t max) override {
    return store_->ResolvedFindings(max);
  }
  Result<std::vector<v1::Finding>> FindingsFrom(const std::string& prefix,
                                                std::uint32_t max) override {
    return store_->FindingsFrom(prefix, max);
  }
  Result<std::vector<v1::FindingRecord>> FindingHistory(const std::string& id) override {
    return store_->FindingHistory(id);
  }
  Result<std::vector<v1::Silence>> Silences() override { return store_->Silences(); }
  Result<std::vector<v1::Campaign>> Campaigns(std::uint32_t max) override {
    return store_->Campaigns(max);
  }
  Result<std::vector<store::ResultRow>> Results(const std::string& campaign, std::int64_t after,
                                                std::uint32_t max) override {
    results_read_max = std::max(results_read_max, max);
    return store_->Results(campaign, after, max);
  }

 private:
  std::unique_ptr<store::Store> store_;
};

class ControlWorld {
 public:
  explicit ControlWorld(const control::ControllerOptions& options = {});
  ~ControlWorld();

  // The controller ends and a new one loads what the store has. Agents have to connect again.
  void Restart();

  // n1 ... n<count>, healthy ConnectX nodes with two rails, connected and judged.
  void ConnectNodes(std::uint32_t count);

  // All nodes and rails, with these probes or the default ones. Returns the id.
  std::string StartCampaign(const v1::CampaignSpec& spec = {});
  // Why such a campaign is not started; OK when it is.
  Status Refusal(const v1::CampaignSpec& spec);
  v1::Campaign Campaign(const std::string& id);
  // As it is right after the order.
  v1::Campaign Cancel(const std::string& id);
  // Lets time pass until the campaign has ended. It fails the test after `most`.
  v1::Campaign Finish(const std::string& id, Duration most = std::chrono::minutes(5));

  std::vector<std::string> OpenFindings();  // "port_active n1/mlx5_0/1"
  v1::NodeSummary Node(const std::string& name);

  FakeAgents agents;
  EventLog log;
  std::unique_ptr<FlakyStore> store;
  std::unique_ptr<control::Controller> controller;

 private:
  void Open();
  Status TryToStart(const v1::CampaignSpec& spec, v1::Campaign& campaign);

  const control::ControllerOptions options_;
  TempTree directory_;
  control::EventBus bus_;
};

}  // namespace fabric::testing
