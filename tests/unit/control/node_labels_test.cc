// Labels of nodes: limits, restart, removal, events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proto/events.h"
#include "proto/labels.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeLabelsTest : public ::testing::Test {
 protected:
  NodeLabelsTest() {
    world_.ConnectNodes(3);
    world_.agents.Advance(1s);
  }

  using Pairs = std::vector<std::pair<std::string, std::string>>;
  Status Change(const std::string& node, const Pairs& set,
                const std::vector<std::string>& remove = {}) {
    v1::SetNodeLabelsRequest request;
    request.set_name(node);
    request.set_author("ada");
    for (const auto& [key, value] : set) (*request.mutable_set())[key] = value;
    request.mutable_remove()->Assign(remove.begin(), remove.end());
    v1::NodeSummary summary;
    const Status status = world_.controller->Call(request, summary, world_.agents.now());
    if (status.ok()) {
      EXPECT_EQ(LabelsText(summary.labels()), Labels(node)) << "the answer has the labels";
    }
    return status;
  }
  std::string Labels(const std::string& node) { return LabelsText(world_.Node(node).labels()); }
  std::vector<std::string> Listed(const std::string& filter) {
    v1::ListNodesRequest request;
    request.set_filter(filter);
    v1::ListNodesResponse response;
    EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
    std::vector<std::string> names;
    for (const v1::NodeSummary& node : response.nodes()) names.push_back(node.name());
    return names;
  }

  testing::ControlWorld world_;
};

TEST_F(NodeLabelsTest, AreSetReplacedAndRemoved) {
  ASSERT_TRUE(Change("n1", {{"pool", "h100"}, {"rack", "r12"}}).ok());
  EXPECT_EQ(Labels("n1"), "pool=h100,rack=r12");
  ASSERT_TRUE(Change("n1", {{"pool", "h200"}, {"spare", ""}}, {"rack"}).ok());
  EXPECT_EQ(Labels("n1"), "pool=h200,spare=");
  EXPECT_EQ(Labels("n2"), "");
  ASSERT_TRUE(Change("n2", {{"pool", "h100"}}).ok());
  EXPECT_THAT(Listed("labels.pool=h100"), ElementsAre("n2"));
  EXPECT_THAT(Listed("labels.pool=~h.*"), ElementsAre("n1", "n2"));
  EXPECT_THAT(Listed("labels.rack!=r12"), ElementsAre("n1", "n2", "n3"));
  ASSERT_TRUE(Change("n1", {}, {"pool", "spare"}).ok());
  EXPECT_EQ(Labels("n1"), "");
}

TEST_F(NodeLabelsTest, AWrongChangeChangesNothing) {
  ASSERT_TRUE(Change("n1", {{"pool", "h100"}}).ok());
  const std::tuple<Status, Code, std::string> cases[] = {
      {Change("n4", {{"pool", "x"}}), Code::kNotFound, "unknown node 'n4'"},
      {Change("n1", {}), Code::kInvalidArgument, "expected a label to set or to remove, saw none"},
      {Change("n1", {{"po ol", "x"}}), Code::kInvalidArgument, "saw 'po ol'"},
      {Change("n1", {{"rack", "a"}, {"pool", "x y"}}), Code::kInvalidArgument,
       "value of the label 'pool': expected at most 63 letters"},
      {Change("n1", {{"rack", "a"}}, {"pol"}), Code::kNotFound,
       "node n1: unknown label 'pol'; did you mean 'pool'?"},
      {Change("n1", {{"pool", "x"}}, {"pool"}), Code::kInvalidArgument,
       "label 'pool': expected it in set or in remove, saw both"},
  };
  for (const auto& [status, code, message] : cases) {
    EXPECT_EQ(status.code(), code) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
  EXPECT_EQ(Labels("n1"), "pool=h100");
}

TEST_F(NodeLabelsTest, ANodeHasAtMost32) {
  Pairs many;
  for (std::size_t n = 0; n < kLabelsMax; ++n) many.emplace_back(Format("key{}", n), "x");
  ASSERT_TRUE(Change("n1", many).ok());
  EXPECT_EQ(Change("n1", {{"more", "x"}}).message(),
            "labels of node n1: expected at most 32, saw 33");
  EXPECT_TRUE(Change("n1", {{"more", "x"}}, {"key7"}).ok());
}

TEST_F(NodeLabelsTest, OutliveARestartAndALostNode) {
  ASSERT_TRUE(Change("n1", {{"pool", "h100"}}).ok());
  world_.Restart();
  EXPECT_EQ(Labels("n1"), "pool=h100") << "the node is lost";
  ASSERT_TRUE(Change("n1", {{"rack", "r12"}}).ok());
  ASSERT_TRUE(world_.agents.Connect(testing::RoceNode({.number = 1})).ok());
  world_.agents.Advance(300ms);
  EXPECT_EQ(Labels("n1"), "pool=h100,rack=r12");
}

TEST_F(NodeLabelsTest, EndWithTheNode) {
  ASSERT_TRUE(Change("n1", {{"pool", "h100"}}).ok());
  world_.agents.Disconnect("n1", "reset by peer");
  world_.agents.Advance(1s);
  v1::DeleteNodeRequest request;
  request.set_name("n1");
  v1::NodeSummary removed;
  ASSERT_TRUE(world_.controller->Call(request, removed, world_.agents.now()).ok());
  EXPECT_EQ(LabelsText(removed.labels()), "pool=h100") << "the last summary has them";
  ASSERT_TRUE(world_.agents.Connect(testing::RoceNode({.number = 1})).ok());
  world_.agents.Advance(300ms);
  EXPECT_EQ(Labels("n1"), "") << "another machine may have the name now";
  world_.Restart();
  EXPECT_THAT(*world_.store->NodeLabels(), IsEmpty());
}

TEST_F(NodeLabelsTest, AChangeIsAnEventThatIsNoChangeOfTheState) {
  const auto before = world_.log.events.size();
  world_.agents.Advance(1s);
  ASSERT_TRUE(Change("n1", {{"pool", "h100"}}).ok());
  ASSERT_EQ(world_.log.events.size(), before + 1);
  const v1::Event& event = world_.log.events.back();
  EXPECT_EQ(event.node().name(), "n1");
  EXPECT_EQ(LabelsText(event.node().labels()), "pool=h100");
  EXPECT_TRUE(IsLabelChange(event));
  world_.agents.Disconnect("n1", "reset by peer");
  for (std::size_t n = before + 1; n < world_.log.events.size(); ++n) {
    EXPECT_FALSE(IsLabelChange(world_.log.events[n]));
  }
}

}  // namespace
}  // namespace fabric::control
