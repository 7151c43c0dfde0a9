// The commands remedy list, approve, revert, propose and report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::ListNodeActionsResponse Listed() {
  return FromText<v1::ListNodeActionsResponse>(R"({
    "limits": {"mode": "approve", "per_hour_max": 4, "last_hour": 1, "nodes_max": 6, "nodes": 1},
    "node_actions": [
      {"id": "a1", "kind": "NODE_ACTION_KIND_SLURM_DRAIN", "node": "n1", "reason": "port is down",
       "evidence": "f7", "state": "NODE_ACTION_STATE_PROPOSED",
       "history": [{"at": "2026-11-24T02:30:00Z", "state": "NODE_ACTION_STATE_PROPOSED",
                    "author": "fabric-slurm"}]},
      {"id": "a2", "kind": "NODE_ACTION_KIND_KUBERNETES_TAINT", "node": "n2", "reason": "slow",
       "state": "NODE_ACTION_STATE_REJECTED",
       "history": [{"at": "2026-11-24T02:31:00Z", "state": "NODE_ACTION_STATE_REJECTED",
                    "author": "mia", "note": "needed tonight"}]}]})");
}

v1::NodeAction Answered(v1::NodeActionState state) {
  v1::NodeAction action;
  action.set_id("a1");
  action.set_kind(v1::NODE_ACTION_KIND_SLURM_DRAIN);
  action.set_node("n1");
  action.set_state(state);
  return action;
}

TEST(RemedyList, ShowsOpenActionsAndTheLimits) {
  FakeController controller;
  controller.Answer<v1::ListNodeActionsResponse>() = Listed();
  const Said said = RunWords("remedy list", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("Remediation: approve. Approved in the last hour: 1 of 4. "
                                  "Nodes: 1 of 6."));
  EXPECT_THAT(said.out, HasSubstr("a1  slurm-drain  n1    proposed  2026-11-24T02:30:00Z  "
                                  "fabric-slurm  port is down"));
  EXPECT_THAT(said.out, Not(HasSubstr("a2")));
  const Said all = RunWords("remedy list --all -o wide", controller);
  EXPECT_THAT(all.out, HasSubstr("kubernetes-taint"));
  EXPECT_THAT(all.out, HasSubstr("needed tonight"));
  EXPECT_EQ(RunWords("remedy list -o name", controller).out, "a1\n");
}

TEST(RemedyList, SaysHowToSwitchActionsOn) {
  FakeController controller;
  controller.Answer<v1::ListNodeActionsResponse>().mutable_limits()->set_mode("off");
  const Said said = RunWords("remedy list", controller);
  EXPECT_THAT(said.out, HasSubstr("set remediation to approve or automatic in fabricd"));
}

TEST(RemedyApprove, SendsTheAuthorAndTheNote) {
  FakeController controller;
  controller.Answer<v1::NodeAction>() = Answered(v1::NODE_ACTION_STATE_APPROVED);
  const Said said = RunWords("remedy approve a1 --note ordered", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(said.out, "Action a1 (slurm-drain of n1) is approved. Its program applies it.\n");
  const auto request = controller.LastRequest<v1::ApproveNodeActionRequest>();
  EXPECT_EQ(request.id(), "a1");
  EXPECT_EQ(request.author(), "ada");
  EXPECT_EQ(request.note(), "ordered");
}

TEST(RemedyRevert, SaysThatTheProgramUndoesIt) {
  FakeController controller;
  controller.Answer<v1::NodeAction>() = Answered(v1::NODE_ACTION_STATE_REVERTING);
  const Said said = RunWords("remedy revert a1", controller);
  EXPECT_EQ(said.out, "Action a1 (slurm-drain of n1) is reverting. Its program undoes it.\n");
  EXPECT_EQ(controller.LastRequest<v1::RevertNodeActionRequest>().id(), "a1");
}

TEST(RemedyPropose, SendsKindNodeAndReason) {
  FakeController controller;
  controller.Answer<v1::NodeAction>() = Answered(v1::NODE_ACTION_STATE_PROPOSED);
  const Said said =
      RunWords("remedy propose n1 --kind slurm-drain --reason down --evidence f7", controller);
  EXPECT_THAT(said.out, HasSubstr("is proposed. It waits for `fabricctl remedy approve`."));
  const auto request = controller.LastRequest<v1::ProposeNodeActionRequest>();
  EXPECT_EQ(request.kind(), v1::NODE_ACTION_KIND_SLURM_DRAIN);
  EXPECT_EQ(request.node(), "n1");
  EXPECT_EQ(request.reason(), "down");
  EXPECT_EQ(request.evidence(), "f7");
  EXPECT_EQ(RunWords("remedy propose n1 --kind drain --reason x", controller).status, kExitUsage);
}

TEST(RemedyReport, SendsTheState) {
  FakeController controller;
  controller.Answer<v1::NodeAction>() = Answered(v1::NODE_ACTION_STATE_APPLIED);
  EXPECT_EQ(RunWords("remedy report a1 applied", controller).status, kExitOk);
  EXPECT_EQ(controller.LastRequest<v1::ReportNodeActionRequest>().state(),
            v1::NODE_ACTION_STATE_APPLIED);
  EXPECT_EQ(RunWords("remedy report a1 approved", controller).status, kExitUsage);
}

}  // namespace
}  // namespace fabric::ctl
