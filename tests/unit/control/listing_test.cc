// The contract of all list methods, against a controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ListingTest : public ::testing::Test {
 protected:
  template <class Response, class Request>
  Response Page(const Request& request) {
    Response response;
    const Status status = world_.controller->Call(request, response, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
    return response;
  }
  template <class Request, class Response>
  std::string Refusal(const Request& request, Response response) {
    return world_.controller->Call(request, response, world_.agents.now()).message();
  }
  // Sizes of the pages, and all elements.
  template <class Response, class Request>
  std::vector<int> Pages(Request request, std::uint32_t size, Response& all) {
    const auto& list = *Response::descriptor()->field(0);
    std::vector<int> sizes;
    request.set_page_size(size);
    do {
      const auto page = Page<Response>(request);
      sizes.push_back(page.GetReflection()->FieldSize(page, &list));
      request.set_page_token(page.next_page_token());
      all.MergeFrom(page);
    } while (!request.page_token().empty());
    all.clear_next_page_token();
    return sizes;
  }

  ControlWorld world_;
};

TEST_F(ListingTest, PagesOfNodesAndPortsAreTheWholeList) {
  world_.ConnectNodes(5);
  v1::ListNodesResponse nodes;
  EXPECT_THAT(Pages(v1::ListNodesRequest(), 2, nodes), ElementsAre(2, 2, 1));
  const auto all_nodes = Page<v1::ListNodesResponse>(v1::ListNodesRequest());
  EXPECT_EQ(nodes.SerializeAsString(), all_nodes.SerializeAsString());
  EXPECT_EQ(all_nodes.total_size(), 5u);
  v1::ListDevicesResponse ports;
  EXPECT_THAT(Pages(v1::ListDevicesRequest(), 3, ports), ElementsAre(3, 3, 3, 1));
  EXPECT_EQ(ports.SerializeAsString(),
            Page<v1::ListDevicesResponse>(v1::ListDevicesRequest()).SerializeAsString());
  v1::ListDevicesRequest of_node;
  of_node.set_node("n3");
  v1::ListDevicesResponse two;
  EXPECT_THAT(Pages(of_node, 1, two), ElementsAre(1, 1));
  EXPECT_EQ(two.devices(1).node(), "n3");
}

// More than one turn of nodes that have no port to offer.
TEST_F(ListingTest, NodesWithoutPortsDoNotStopTheListOfPorts) {
  for (v1::NodeSnapshot& node : testing::Nodes(300, testing::RoceNode)) {
    if (node.node().name() != "n99") node.clear_rdma_devices();
    ASSERT_TRUE(world_.agents.Connect(node).ok());
  }
  v1::ListDevicesResponse ports;
  EXPECT_THAT(Pages(v1::ListDevicesRequest(), 1, ports), ElementsAre(1, 1));
  EXPECT_EQ(ports.devices(0).node(), "n99");
}

TEST_F(ListingTest, AFilterAndAMaskApplyToEveryPage) {
  world_.ConnectNodes(4);
  v1::ListDevicesRequest request;
  request.set_filter("rail=1 node!=n2");
  request.set_fields("node,rail");
  v1::ListDevicesResponse ports;
  EXPECT_THAT(Pages(request, 2, ports), ElementsAre(2, 1));
  EXPECT_EQ(ports.devices(0).ShortDebugString(), "node: \"n1\" rail: 1");
  EXPECT_EQ(ports.devices(1).node(), "n3");
  request.set_fields("name");
  EXPECT_THAT(Refusal(request, v1::ListDevicesResponse()),
              HasSubstr("fields: unknown field 'name'"));
}

TEST_F(ListingTest, AFilterThatMatchesLateNeedsNoEmptyPages) {
  world_.ConnectNodes(3);
  v1::ListRulesRequest rules;
  rules.set_filter("id=vlan_of_rail_equal");
  rules.set_page_size(1);
  const auto page = Page<v1::ListRulesResponse>(rules);
  EXPECT_LE(page.rules_size(), 1);
  EXPECT_FALSE(page.has_total_size());
}

TEST_F(ListingTest, ElementsThatComeAndGoDoNotShiftPages) {
  world_.ConnectNodes(4);
  v1::ListNodesRequest request;
  request.set_page_size(2);
  request.set_page_token(Page<v1::ListNodesResponse>(request).next_page_token());
  world_.agents.Disconnect("n2", "gone");
  v1::DeleteNodeRequest remove;
  remove.set_name("n2");
  Page<v1::NodeSummary>(remove);
  const auto second = Page<v1::ListNodesResponse>(request);
  ASSERT_EQ(second.nodes_size(), 2);
  EXPECT_EQ(second.nodes(0).name(), "n3");
}

TEST_F(ListingTest, ATokenBelongsToItsRequest) {
  world_.ConnectNodes(2);
  v1::ListNodesRequest request;
  request.set_page_size(1);
  request.set_page_token(Page<v1::ListNodesResponse>(request).next_page_token());
  request.set_filter("devices>0");
  EXPECT_EQ(Refusal(request, v1::ListNodesResponse()),
            "page_token: belongs to another request: expected equal fields on all pages");
  request.set_filter("");
  for (const char* token : {"x", "0123456789abcdef", "0123456789abcdefzz", "0123456789abcdef1"}) {
    request.set_page_token(token);
    EXPECT_THAT(Refusal(request, v1::ListNodesResponse()), HasSubstr("page_token: "));
  }
}

TEST_F(ListingTest, FindingsKeepTheirOrderOverPages) {
  world_.ConnectNodes(3);
  for (const char* node : {"n1", "n2", "n3"}) world_.agents.Disconnect(node, "power");
  world_.agents.Advance(std::chrono::seconds(5));
  v1::ListFindingsRequest request;
  request.set_include_resolved(true);
  request.set_include_unknown(true);
  const auto all = Page<v1::ListFindingsResponse>(request);
  ASSERT_GE(all.findings_size(), 3);
  v1::ListFindingsResponse paged;
  Pages(request, 1, paged);
  ASSERT_EQ(paged.findings_size(), all.findings_size());
  for (int n = 0; n < all.findings_size(); ++n)
    EXPECT_EQ(paged.findings(n).id(), all.findings(n).id());
}

TEST_F(ListingTest, ResultsOfACampaignComeOnRequestAndInPages) {
  world_.ConnectNodes(4);
  const std::string id = world_.StartCampaign();
  world_.Finish(id);
  v1::GetCampaignRequest get;
  get.set_id(id);
  const auto bare = Page<v1::Campaign>(get);
  EXPECT_EQ(bare.results_size(), 0);
  EXPECT_GT(bare.results_total(), 10u);
  get.set_include_results(true);
  const auto whole = Page<v1::Campaign>(get);
  EXPECT_EQ(static_cast<std::uint64_t>(whole.results_size()), whole.results_total());
  v1::ListCampaignResultsRequest list;
  list.set_id(id);
  v1::ListCampaignResultsResponse paged;
  Pages(list, 5, paged);
  ASSERT_EQ(paged.results_size(), whole.results_size());
  for (int n = 0; n < whole.results_size(); ++n)
    EXPECT_EQ(paged.results(n).SerializeAsString(), whole.results(n).SerializeAsString());
  list.set_id("c99");
  EXPECT_THAT(Refusal(list, v1::ListCampaignResultsResponse()), HasSubstr("c99"));
}

TEST_F(ListingTest, CampaignsAreNewestFirstOverPages) {
  world_.ConnectNodes(2);
  for (int n = 0; n < 3; ++n) world_.Finish(world_.StartCampaign());
  v1::ListCampaignsResponse campaigns;
  EXPECT_THAT(Pages(v1::ListCampaignsRequest(), 2, campaigns), ElementsAre(2, 1));
  EXPECT_EQ(campaigns.campaigns(0).id(), "c3");
  EXPECT_EQ(campaigns.campaigns(2).id(), "c1");
}

}  // namespace
}  // namespace fabric::control
