// Actions on nodes: what is approved, the limits, what a restart keeps, and what people ended.
#include "daemon/control/actions/node_actions.h"

#include <optional>

#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

ControllerOptions With(Remediation mode, std::uint32_t per_hour = 4, std::uint32_t percent = 50) {
  return {.actions = {.mode = mode, .per_hour = per_hour, .nodes_percent = percent}};
}

class NodeActionsTest : public ::testing::Test {
 protected:
  void Start(const ControllerOptions& options, int nodes = 4) {
    world_.emplace(options);
    world_->ConnectNodes(nodes);
  }
  template <class Response, class Request>
  Result<Response> Call(const Request& request) {
    Response response;
    RETURN_IF_ERROR(world_->controller->Call(request, response, world_->agents.now()));
    return response;
  }
  Result<v1::NodeAction> Propose(const std::string& node, const std::string& author = "slurm") {
    v1::ProposeNodeActionRequest request;
    request.set_kind(v1::NODE_ACTION_KIND_SLURM_DRAIN);
    request.set_node(node);
    request.set_reason("port mlx5_0/1 is down");
    request.set_evidence("f1");
    request.set_author(author);
    return Call<v1::NodeAction>(request);
  }
  Result<v1::NodeAction> Approve(const std::string& id, const std::string& author = "mia") {
    v1::ApproveNodeActionRequest request;
    request.set_id(id);
    request.set_author(author);
    return Call<v1::NodeAction>(request);
  }
  Result<v1::NodeAction> Revert(const std::string& id) {
    v1::RevertNodeActionRequest request;
    request.set_id(id);
    request.set_author("mia");
    request.set_note("needed tonight");
    return Call<v1::NodeAction>(request);
  }
  Result<v1::NodeAction> Report(const std::string& id, v1::NodeActionState state) {
    v1::ReportNodeActionRequest request;
    request.set_id(id);
    request.set_state(state);
    request.set_author("slurm");
    return Call<v1::NodeAction>(request);
  }
  v1::ListNodeActionsResponse List() {
    const auto listed = Call<v1::ListNodeActionsResponse>(v1::ListNodeActionsRequest());
    EXPECT_TRUE(listed.ok()) << listed.status().message();
    return listed.ok() ? *listed : v1::ListNodeActionsResponse();
  }
  v1::NodeActionState StateOf(const std::string& id) {
    const v1::ListNodeActionsResponse listed = List();
    for (const v1::NodeAction& action : listed.node_actions())
      if (action.id() == id) return action.state();
    return v1::NODE_ACTION_STATE_UNSPECIFIED;
  }

  std::optional<ControlWorld> world_;
};

TEST_F(NodeActionsTest, AreOffByDefault) {
  Start({});
  const auto proposed = Propose("n1");
  EXPECT_EQ(proposed.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(proposed.status().message(), HasSubstr("expected the setting remediation"));
  EXPECT_EQ(List().limits().mode(), "off");
  EXPECT_EQ(List().node_actions_size(), 0);
}

TEST_F(NodeActionsTest, ARestartKeepsTheWayFromProposalToRevert) {
  Start(With(Remediation::kApprove));
  const auto proposed = Propose("n1");
  ASSERT_TRUE(proposed.ok()) << proposed.status().message();
  EXPECT_EQ(proposed->state(), v1::NODE_ACTION_STATE_PROPOSED);
  // Not before it is approved.
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_APPLIED).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Approve("a1")->state(), v1::NODE_ACTION_STATE_APPROVED);
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_APPLIED)->state(), v1::NODE_ACTION_STATE_APPLIED);
  world_->Restart();
  world_->ConnectNodes(4);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_APPLIED);
  EXPECT_EQ(Revert("a1")->state(), v1::NODE_ACTION_STATE_REVERTING);
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_REVERTED)->state(), v1::NODE_ACTION_STATE_REVERTED);
  const v1::ListNodeActionsResponse listed = List();
  std::vector<std::string> history;
  for (const v1::NodeActionChange& change : listed.node_actions(0).history())
    history.push_back(v1::NodeActionState_Name(change.state()).substr(18) + " " + change.author());
  EXPECT_THAT(history, ElementsAre("PROPOSED slurm", "APPROVED mia", "APPLIED slurm",
                                   "REVERTING mia", "REVERTED slurm"));
  EXPECT_EQ(List().node_actions(0).history(3).note(), "needed tonight");
}

TEST_F(NodeActionsTest, OneOpenActionOfAKindAndNode) {
  Start(With(Remediation::kApprove));
  EXPECT_EQ(Propose("n1")->id(), "a1");
  EXPECT_EQ(Propose("n1")->id(), "a1");
  EXPECT_EQ(Propose("n2")->id(), "a2");
  EXPECT_EQ(List().node_actions_size(), 2);
}

TEST_F(NodeActionsTest, WhoProposesDoesNotApprove) {
  Start(With(Remediation::kApprove));
  ASSERT_TRUE(Propose("n1", "mia").ok());
  EXPECT_EQ(Approve("a1", "mia").status().code(), Code::kPermissionDenied);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_PROPOSED);
  EXPECT_TRUE(Approve("a1", "ada").ok());
}

TEST_F(NodeActionsTest, LimitsHoldForPeopleAndForTheAutomaticMode) {
  Start(With(Remediation::kApprove, /*per_hour=*/1, /*percent=*/100));
  ASSERT_TRUE(Propose("n1").ok());
  ASSERT_TRUE(Propose("n2").ok());
  ASSERT_TRUE(Approve("a1").ok());
  const auto second = Approve("a2");
  EXPECT_EQ(second.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(second.status().message(), HasSubstr("remediation-per-hour: 1"));
  world_->agents.Advance(61min);
  EXPECT_TRUE(Approve("a2").ok());

  Start(With(Remediation::kAutomatic, /*per_hour=*/100, /*percent=*/30));
  EXPECT_EQ(Propose("n1")->state(), v1::NODE_ACTION_STATE_APPROVED);
  const auto beyond = Propose("n2");  // 30 % of four nodes is one.
  EXPECT_EQ(beyond.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(beyond.status().message(), HasSubstr("1 of 4 nodes"));
  EXPECT_EQ(List().node_actions_size(), 1);
  ASSERT_TRUE(Report("a1", v1::NODE_ACTION_STATE_FAILED).ok());
  EXPECT_EQ(Propose("n2")->state(), v1::NODE_ACTION_STATE_APPROVED);
}

TEST_F(NodeActionsTest, WhatAPersonEndedIsNotProposedAgainForADay) {
  Start(With(Remediation::kApprove));
  ASSERT_TRUE(Propose("n1").ok());
  EXPECT_EQ(Revert("a1")->state(), v1::NODE_ACTION_STATE_REJECTED);
  const auto again = Propose("n1");
  EXPECT_EQ(again.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(again.status().message(), HasSubstr("mia ended action a1 of node 'n1'"));
  EXPECT_TRUE(Propose("n2").ok());
  world_->agents.Advance(24h + 1min);
  EXPECT_EQ(Propose("n1")->id(), "a3");
}

TEST_F(NodeActionsTest, EndWhenTheyAreNotApprovedOrNotApplied) {
  Start(With(Remediation::kApprove));
  ASSERT_TRUE(Propose("n1").ok());
  ASSERT_TRUE(Propose("n2").ok());
  ASSERT_TRUE(Approve("a2").ok());
  world_->agents.Advance(59min);
  EXPECT_EQ(StateOf("a2"), v1::NODE_ACTION_STATE_APPROVED);
  world_->agents.Advance(2min);
  EXPECT_EQ(StateOf("a2"), v1::NODE_ACTION_STATE_EXPIRED);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_PROPOSED);
  world_->agents.Advance(23h + 1min);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_EXPIRED);
}

TEST_F(NodeActionsTest, EndWhenTheirNodeIsRemoved) {
  Start(With(Remediation::kApprove));
  ASSERT_TRUE(Propose("n1").ok());
  ASSERT_TRUE(Propose("n2").ok());
  ASSERT_TRUE(Approve("a2").ok());
  ASSERT_TRUE(Report("a2", v1::NODE_ACTION_STATE_APPLIED).ok());
  ASSERT_TRUE(Propose("n3").ok());
  for (const char* const node : {"n1", "n2"}) {
    world_->agents.Disconnect(node, "reset by peer");
    v1::DeleteNodeRequest request;
    request.set_name(node);
    request.set_author("ada");
    ASSERT_TRUE(Call<v1::NodeSummary>(request).ok());
  }
  const auto expect_ended = [&] {
    const v1::ListNodeActionsResponse listed = List();
    ASSERT_EQ(listed.node_actions_size(), 3);
    EXPECT_EQ(listed.node_actions(0).state(), v1::NODE_ACTION_STATE_EXPIRED);
    EXPECT_EQ(listed.node_actions(0).history().rbegin()->note(),
              "the node was removed: removed by ada");
    EXPECT_EQ(listed.node_actions(1).state(), v1::NODE_ACTION_STATE_EXPIRED);
    EXPECT_EQ(listed.node_actions(1).history().rbegin()->note(),
              "the node was removed: removed by ada; it was applied and not undone");
    EXPECT_EQ(listed.node_actions(2).state(), v1::NODE_ACTION_STATE_PROPOSED);
    EXPECT_EQ(listed.limits().nodes(), 0u) << "the limits count no node that has left";
  };
  expect_ended();
  EXPECT_EQ(world_->log.events.back().node_action().state(), v1::NODE_ACTION_STATE_EXPIRED);
  world_->Restart();
  expect_ended();
}

TEST_F(NodeActionsTest, EndWhenTheirNodeExpires) {
  ControllerOptions options = With(Remediation::kApprove);
  options.node_expiry = 2h;
  Start(options);
  ASSERT_TRUE(Propose("n1").ok());
  world_->agents.Disconnect("n1", "reset by peer");
  world_->agents.Advance(2h + 1min);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_EXPIRED);
  EXPECT_THAT(List().node_actions(0).history().rbegin()->note(),
              HasSubstr("the node was removed: expired: lost for more than 2 h"));
}

TEST_F(NodeActionsTest, EndWhenTheStateDoesNotHaveTheirNode) {
  Start(With(Remediation::kApprove));
  ASSERT_TRUE(Propose("n1").ok());
  world_->agents.Disconnect("n1", "reset by peer");
  ASSERT_TRUE(world_->store->DeleteNode("n1").ok());
  world_->Restart();
  world_->agents.Advance(59min);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_PROPOSED) << "the node can come back";
  world_->agents.Advance(2min);
  EXPECT_EQ(StateOf("a1"), v1::NODE_ACTION_STATE_EXPIRED);
  EXPECT_EQ(List().node_actions(0).history().rbegin()->note(), "fabricd does not know the node");
}

TEST_F(NodeActionsTest, AReportThatCrossesWithARevertLeavesTheRevert) {
  Start(With(Remediation::kAutomatic));
  ASSERT_TRUE(Propose("n1").ok());
  EXPECT_EQ(Revert("a1")->state(), v1::NODE_ACTION_STATE_REVERTING);
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_APPLIED)->state(), v1::NODE_ACTION_STATE_REVERTING);
  // Repeated reports are not errors.
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_REVERTED)->state(), v1::NODE_ACTION_STATE_REVERTED);
  EXPECT_EQ(Report("a1", v1::NODE_ACTION_STATE_REVERTED)->history_size(), 4);
}

TEST_F(NodeActionsTest, InvalidRequestsNameTheField) {
  Start(With(Remediation::kApprove));
  EXPECT_EQ(Propose("n77").status().code(), Code::kNotFound);
  v1::ProposeNodeActionRequest request;
  request.set_node("n1");
  request.set_reason("down");
  EXPECT_THAT(Call<v1::NodeAction>(request).status().message(), HasSubstr("kind: expected"));
  request.set_kind(v1::NODE_ACTION_KIND_KUBERNETES_TAINT);
  request.set_reason(" ");
  EXPECT_THAT(Call<v1::NodeAction>(request).status().message(), HasSubstr("reason: expected"));
  request.set_reason(std::string(1001, 'x'));
  EXPECT_THAT(Call<v1::NodeAction>(request).status().message(), HasSubstr("at most 1000 bytes"));
  ASSERT_TRUE(Propose("n1").ok());
  EXPECT_THAT(Report("a1", v1::NODE_ACTION_STATE_PROPOSED).status().message(),
              HasSubstr("state: expected applied, reverted or failed"));
  EXPECT_EQ(Approve("a9").status().code(), Code::kNotFound);
}

TEST_F(NodeActionsTest, EndedOnesAreBounded) {
  Start(With(Remediation::kAutomatic, /*per_hour=*/100000, /*percent=*/100));
  for (std::size_t i = 0; i < NodeActions::kEndedMax + 5; ++i) {
    const auto proposed = Propose("n1");
    ASSERT_TRUE(proposed.ok()) << proposed.status().message();
    ASSERT_TRUE(Report(proposed->id(), v1::NODE_ACTION_STATE_FAILED).ok());
  }
  v1::ListNodeActionsRequest request;
  request.set_page_size(10000);
  EXPECT_LE(Call<v1::ListNodeActionsResponse>(request)->node_actions_size(),
            static_cast<int>(NodeActions::kEndedMax) + 1);
}

}  // namespace
}  // namespace fabric::control
