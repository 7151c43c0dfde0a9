// Damaged rows of the state file: the controller starts, counts at most this row as damaged, and
// has the other rows.
//
// The input: a byte that selects the column (see kColumns), and what its first row has there.
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/ed25519.h"
#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"
#include "proto/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"

using fabric::fuzz::Check;

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

struct Column {
  const char* table;
  const char* name;
};
// Appended to only: seeds have the positions.
constexpr Column kColumns[] = {
    {"nodes", "snapshot"},          {"nodes", "memory"},           {"findings", "finding"},
    {"finding_history", "finding"}, {"finding_history", "record"}, {"silences", "silence"},
    {"campaigns", "campaign"},      {"pair_results", "result"},    {"certificates", "certificate"},
    {"schedules", "schedule"},      {"node_actions", "action"},    {"node_labels", "labels"},
    {"fact_changes", "change"},     {"counter_marks", "counters"}};

class NoAgents final : public AgentSink {
 public:
  void Send(SessionId, const v1::ControllerMessage&) override {}
  void Close(SessionId, const Status&) override {}
};

ControllerOptions Options() {
  ControllerOptions options;
  options.actions = {.mode = Remediation::kApprove, .nodes_percent = 100};
  options.certificates.key = *SigningKey::Generate();
  return options;
}

template <class Request, class Response>
void Must(Controller& controller, const Request& request, Response& response, Moment now) {
  const Status status = controller.Call(request, response, now);
  Check(status.ok(), status.message().c_str());
  Check(ToJson(response, false) != "{}" || response.ByteSizeLong() == 0,
        "what the API answers can be printed");
}

// A state file with at least two rows in each table.
class Template {
 public:
  Template() {
    testing::ControlWorld world(Options());
    world.ConnectNodes(2);
    for (std::uint32_t number = 1; number <= 2; ++number) {
      v1::NodeSnapshot node = testing::RoceNode({.number = number});
      testing::LinkDown(node, 0);
      Check(world.agents.SendSnapshot(node).ok(), "a snapshot is taken");
      world.agents.Advance(5s);
      const std::string name = Format("n{}", number);
      v1::CreateSilenceRequest silence;
      silence.mutable_silence()->set_node(name);
      silence.mutable_silence()->set_author("mia");
      silence.mutable_silence()->set_reason("moved");
      silence.set_duration_seconds(86'400);
      v1::Silence silenced;
      Must(*world.controller, silence, silenced, world.agents.now());
      v1::SetNodeLabelsRequest labels;
      labels.set_name(name);
      (*labels.mutable_set())["rack"] = "r1";
      v1::NodeSummary labelled;
      Must(*world.controller, labels, labelled, world.agents.now());
      v1::ProposeNodeActionRequest action;
      action.set_kind(v1::NODE_ACTION_KIND_SLURM_DRAIN);
      action.set_node(name);
      action.set_reason("broken");
      action.set_evidence("f1");
      action.set_author("mia");
      v1::NodeAction proposed;
      Must(*world.controller, action, proposed, world.agents.now());
      v1::CreateScheduleRequest schedule;
      schedule.mutable_schedule()->set_cron("0 3 * * *");
      schedule.mutable_schedule()->mutable_spec()->set_preset(v1::CAMPAIGN_PRESET_QUICK);
      schedule.mutable_schedule()->set_author("mia");
      v1::Schedule scheduled;
      Must(*world.controller, schedule, scheduled, world.agents.now());
      (void)world.Finish(world.StartCampaign({}));
      v1::StartCertificateRequest certificate;
      certificate.mutable_request()->add_nodes("n1");
      certificate.mutable_request()->add_nodes("n2");
      v1::Certificate started;
      Must(*world.controller, certificate, started, world.agents.now());
      world.agents.Advance(60s);
    }
    now_ = world.agents.now();
    Check(world.store->Backup(path()).ok(), "the state is saved");
  }
  std::string path() const { return directory_.path() + "/template.db"; }
  Moment now() const { return now_; }

 private:
  testing::TempTree directory_;
  Moment now_;
};

void Damage(const std::string& path, const Column& column, std::string_view bytes) {
  auto database = store::Database::Open(path);
  Check(database.ok(), "the copy can be opened");
  auto update =
      database->Prepare(Format("UPDATE {0} SET {1} = ?1 WHERE rowid = (SELECT min(rowid) FROM {0})",
                               column.table, column.name));
  Check(update.ok() && update->Blob(0, bytes).Run().ok(), "the row can be replaced");
}

// Calls that read all tables.
void Read(Controller& controller, const Column& column, Moment now) {
  const std::string_view table = column.table;
  v1::ListNodesResponse nodes;
  Must(controller, v1::ListNodesRequest(), nodes, now);
  Check(nodes.nodes_size() >= (table == "nodes" ? 1 : 2), "the other nodes are known");
  v1::ListFindingsRequest all;
  all.set_include_resolved(true);
  all.set_include_unknown(true);
  v1::ListFindingsResponse findings;
  Must(controller, all, findings, now);
  Check(findings.findings_size() >= 1, "the other findings are known");
  for (const v1::Finding& finding : findings.findings()) {
    v1::GetFindingRequest request;
    request.set_id(finding.id());
    v1::GetFindingResponse response;
    (void)controller.Call(request, response, now);
  }
  v1::ListSilencesResponse silences;
  Must(controller, v1::ListSilencesRequest(), silences, now);
  Check(silences.silences_size() >= (table == "silences" ? 1 : 2), "the other silences are known");
  v1::ListCampaignsResponse campaigns;
  Must(controller, v1::ListCampaignsRequest(), campaigns, now);
  Check(campaigns.campaigns_size() >= 2, "the other campaigns are known");
  v1::ListCertificatesResponse certificates;
  Must(controller, v1::ListCertificatesRequest(), certificates, now);
  Check(certificates.certificates_size() >= 1, "the other certificates are known");
  v1::ListSchedulesResponse schedules;
  Must(controller, v1::ListSchedulesRequest(), schedules, now);
  Check(schedules.schedules_size() >= (table == "schedules" ? 1 : 2),
        "the other schedules are known");
  v1::ListNodeActionsResponse actions;
  Must(controller, v1::ListNodeActionsRequest(), actions, now);
  Check(actions.node_actions_size() >= (table == "node_actions" ? 1 : 2),
        "the other actions are known");
  for (const v1::Campaign& campaign : campaigns.campaigns()) {
    v1::ListCampaignResultsRequest request;
    request.set_id(campaign.id());
    v1::ListCampaignResultsResponse response;
    (void)controller.Call(request, response, now);
  }
  for (const char* name : {"n1", "n2"}) {
    v1::GetNodeRequest get;
    get.set_name(name);
    v1::GetNodeResponse node;
    Check(controller.Call(get, node, now).ok() || table == "nodes", "a node is known");
    v1::DiffNodeRequest diff;
    diff.set_name(name);
    diff.set_since_seconds(3'600);
    v1::DiffNodeResponse changes;
    (void)controller.Call(diff, changes, now);
  }
}

void StartWith(const std::uint8_t* data, std::size_t size) {
  static const Template original;
  static const testing::TempTree directory;
  const Column& column = kColumns[data[0] % std::size(kColumns)];
  const std::string path = directory.path() + "/state.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::copy_file(original.path(), path);
  Damage(path, column, {reinterpret_cast<const char*>(data) + 1, size - 1});

  Moment now = original.now();
  auto store = store::OpenSqlite(path, now.wall);
  Check(store.ok(), "the state file is opened");
  NoAgents agents;
  EventBus events;
  Controller controller(Options(), **store, agents, events, now);
  Check(controller.Load(now).ok(), "the controller starts");
  Check((*store)->damage().rows <= 1, "at most one row is damaged");
  Check((*store)->damage().file.empty(), "the file is not damaged");
  Read(controller, column, now);
  for (int tick = 0; tick < 40; ++tick) {
    now = {.steady = now.steady + 1s, .wall = now.wall + 1s};
    controller.Tick(now);
  }
  Read(controller, column, now);
}

}  // namespace
}  // namespace fabric::control

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  if (size >= 1) fabric::control::StartWith(data, size);
  return 0;
}
