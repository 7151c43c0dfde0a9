// What results of probes say, and where ports are plugged in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "proto/json.h"
#include "tests/testing/nodes.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

using ::fabric::testing::RoceNode;

v1::LldpNeighbor& Hear(v1::NodeSnapshot& node, const std::string& system) {
  v1::LldpNeighbor& neighbor = *node.add_lldp_neighbors();
  neighbor.set_netdev("rail0");
  neighbor.set_chassis_id("00:11:22:33:44:55");
  neighbor.set_system_name(system);
  neighbor.set_port_id("swp7");
  return neighbor;
}

Endpoint FirstPlace(const v1::NodeSnapshot& node) {
  fleet::Fleet fleet;
  fleet.Put(node, {});
  return blame::FabricOf(fleet::FleetView(fleet)).endpoints.at(0);
}

TEST(FabricOf, TakesLeafAndItsPortFromLldp) {
  v1::NodeSnapshot node = RoceNode({.number = 1, .rails = 1});
  EXPECT_EQ(FirstPlace(node).leaf, "");
  v1::LldpNeighbor& neighbor = Hear(node, "leaf7");
  EXPECT_EQ(FirstPlace(node).leaf, "leaf7");
  EXPECT_EQ(FirstPlace(node).leaf_port, "swp7");
  EXPECT_EQ(NameOf(FirstPlace(node)), "n1/mlx5_0/1");
  neighbor.clear_system_name();
  EXPECT_EQ(FirstPlace(node).leaf, "00:11:22:33:44:55");
  Hear(node, "leaf8");
  EXPECT_EQ(FirstPlace(node).leaf, "") << "two neighbours contradict each other";
}

TEST(FabricOf, TakesTheLeafThatTheProfileGivesWhereNobodyIsHeard) {
  v1::Profile written;
  written.add_places()->set_leaf("leaf3");
  const fleet::Sites sites(*profile::Places::Make(written, {}));
  v1::NodeSnapshot node = RoceNode({.number = 1, .rails = 1});
  const auto leaf = [&] {
    fleet::Fleet fleet;
    fleet.Put(node, {});
    return blame::FabricOf(fleet::FleetView(fleet), sites).endpoints.at(0).leaf;
  };
  EXPECT_EQ(leaf(), "leaf3");
  Hear(node, "leaf7");
  EXPECT_EQ(leaf(), "leaf7");
}

TEST(FabricOf, SortsByNameAndFinds) {
  fleet::Fleet fleet;
  for (const std::uint32_t number : {12U, 2U, 1U})
    fleet.Put(RoceNode({.number = number, .rails = 2}), {});
  const Fabric fabric = blame::FabricOf(fleet::FleetView(fleet));
  ASSERT_EQ(fabric.endpoints.size(), 6U);
  EXPECT_EQ(NameOf(fabric.endpoints[2]), "n12/mlx5_0/1");
  v1::ProbePort port;
  port.set_node("n2");
  port.set_device("mlx5_1");
  port.set_port(1);
  EXPECT_EQ(Find(fabric, port), 5U);
  port.set_port(2);
  EXPECT_EQ(Find(fabric, port), std::nullopt);
}

std::vector<Observation> Observed(const std::vector<std::string>& results) {
  v1::Campaign campaign;
  for (const std::string& json : results) {
    v1::PairResult& result = *campaign.add_results();
    EXPECT_EQ(FromJson(json, result), Status());
    if (!result.has_from()) {
      result.mutable_from()->set_node("n10");
      result.mutable_to()->set_node("n11");
    }
    for (v1::ProbePort* port : {result.mutable_from(), result.mutable_to()}) {
      port->set_device("mlx5_0");
      port->set_port(1);
    }
  }
  return ObservationsOf(FabricOf({.nodes = 4, .rails = 1}), campaign.results());
}

TEST(ObservationsOf, OnePerFlowLabelOfAPing) {
  const auto seen = Observed({R"({"round": 3, "result": {"status": "PROBE_STATUS_OK", "ping": {
      "sent": 20, "answered": 17, "lost": 3, "flows": [
        {"flow_label": 5, "sent": 10, "lost": 3}, {"flow_label": 6, "sent": 10}]}}})"});
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].round, 3U);
  EXPECT_EQ(seen[0].flow_label, 5U);
  EXPECT_EQ(seen[0].attempts, 10U);
  EXPECT_EQ(seen[0].failures, 3U);
  EXPECT_EQ(seen[1].failures, 0U);
  EXPECT_FALSE(seen[0].one_way);
}

TEST(ObservationsOf, TellsTheWaysApartWhereTheResponderCounted) {
  const auto of = [](const std::string& told) {
    return Observed({R"({"result": {"status": "PROBE_STATUS_OK", "ping": {"sent": 10, "lost": 3,
        "flows": [{"flow_label": 5, "sent": 10, "lost": 3)" +
                     told + "}]}}}"});
  };
  const auto seen = of(R"(, "lost_out": 2, "lost_in": 1)");
  ASSERT_EQ(seen.size(), 2U);
  for (const Observation& one : seen) EXPECT_TRUE(one.one_way);
  EXPECT_EQ(seen[0].from, 0U);
  EXPECT_EQ(seen[0].attempts, 10U);
  EXPECT_EQ(seen[0].failures, 2U);
  EXPECT_EQ(seen[1].from, 1U) << "the way back";
  EXPECT_EQ(seen[1].attempts, 8U) << "of those that had arrived";
  EXPECT_EQ(seen[1].failures, 1U);
  EXPECT_EQ(seen[1].flow_label, 5U);
  EXPECT_EQ(of(R"(, "lost_out": 3, "lost_in": 0)").size(), 2U);
  // Of one that is not told, or of more than were lost, nothing is known of the ways.
  for (const char* const told : {"", R"(, "lost_out": 3)", R"(, "lost_out": 2, "lost_in": 0)",
                                 R"(, "lost_out": 9, "lost_in": 1)"}) {
    const auto whole = of(told);
    ASSERT_EQ(whole.size(), 1U) << told;
    EXPECT_FALSE(whole[0].one_way) << told;
    EXPECT_EQ(whole[0].failures, 3U) << told;
  }
  const auto none = Observed({R"({"result": {"status": "PROBE_STATUS_OK", "ping": {"sent": 10,
      "lost": 10, "flows": [{"flow_label": 5, "sent": 10, "lost": 10, "lost_out": 10,
      "lost_in": 0}]}}})"});
  ASSERT_EQ(none.size(), 1U) << "nothing arrived that could have been answered";
  EXPECT_TRUE(none[0].one_way);
}

TEST(ObservationsOf, FailuresAreOfTheWayUnlessAnEndIsKnownToHaveFailed) {
  const auto status = [](const std::string& what, const std::string& blamed) {
    return Observed({R"({"result": {"status": "PROBE_STATUS_)" + what + R"(", "blamed_node": ")" +
                     blamed + R"("}})"});
  };
  for (const char* const what : {"FAILED", "TIMED_OUT"}) {
    ASSERT_EQ(status(what, "").size(), 1U) << what;
    EXPECT_EQ(status(what, "")[0].failures, 1U) << what;
    EXPECT_EQ(status(what, "")[0].failed_end, std::nullopt) << what;
  }
  EXPECT_EQ(status("UNREACHABLE", "n11").at(0).failed_end, End::kTo);
  EXPECT_EQ(status("SETUP_FAILED", "n10").at(0).failed_end, End::kFrom);
  EXPECT_EQ(status("TIMED_OUT", "n10").at(0).failed_end, End::kFrom);
  EXPECT_EQ(status("TIMED_OUT", "n10").at(0).attempts, 0U) << "a late agent is no fault of a port";
  EXPECT_TRUE(status("REFUSED", "n10").empty()) << "busy is no fault";
  EXPECT_TRUE(status("CANCELLED", "").empty());
  EXPECT_TRUE(status("FAILED", "n10").empty())
      << "its adapter rejected the request, or n10 sent a report that cannot be right";
}

// Of what was measured the result alone tells: who made all void is named in it.
TEST(ObservationsOf, OfHostsThatWereLateEachTimeNothingIsKnown) {
  for (const char* const void_one :
       {R"("ping": {"sent": 8, "voided": 8})", R"("latency": {"voided": 9})"}) {
    for (const char* const late : {"n10", "n11"}) {
      const auto seen = Observed({Format(R"({{"result": {{"status": "PROBE_STATUS_TIMED_OUT",
          "blamed_node": "{}", {}}}}})",
                                         late, void_one)});
      ASSERT_EQ(seen.size(), 1U);
      EXPECT_EQ(seen[0].attempts, 0U) << "nothing of the end that was late";
      EXPECT_TRUE(seen[0].failed_end.has_value()) << "and nothing of the way between";
    }
  }
}

std::string SetUpFailed(int from, int to, int blamed) {
  return Format(R"({{"from": {{"node": "n{}"}}, "to": {{"node": "n{}"}}, "result": {{
      "status": "PROBE_STATUS_SETUP_FAILED", "blamed_node": "n{}"}}}})",
                from, to, blamed);
}

std::string Done(int from, int to) {
  return Format(R"({{"from": {{"node": "n{}"}}, "to": {{"node": "n{}"}}, "result": {{
      "status": "PROBE_STATUS_OK"}}}})",
                from, to);
}

// Both ends fail, and who says so first is named: it could as well have been the other one.
TEST(ObservationsOf, SetUpsThatFailEverywhereSayNothingOfAnybody) {
  for (const Observation& seen :
       Observed({SetUpFailed(10, 11, 10), SetUpFailed(10, 12, 12), SetUpFailed(11, 12, 12)})) {
    EXPECT_EQ(seen.attempts, 0U);
    EXPECT_TRUE(seen.failed_end.has_value()) << "and nothing of the way between";
  }
}

TEST(ObservationsOf, SetUpsThatFailAtFewSayThatTheyAreBad) {
  const auto seen =
      Observed({SetUpFailed(10, 11, 10), SetUpFailed(12, 10, 10), Done(11, 12), Done(12, 11)});
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0].attempts, 1U);
  EXPECT_EQ(seen[0].failed_end, End::kFrom);
  EXPECT_EQ(seen[1].attempts, 1U);
  EXPECT_EQ(seen[1].failed_end, End::kTo);
}

TEST(ObservationsOf, OfTwoPortsOfANodeNobodyKnowsWhichCouldNotBeSetUp) {
  const auto loopback = Observed({SetUpFailed(10, 10, 10), Done(11, 12)});
  ASSERT_EQ(loopback.size(), 2U);
  EXPECT_EQ(loopback[0].attempts, 1U) << "a port with itself is known";
  EXPECT_EQ(loopback[0].failed_end, End::kFrom);
}

// A round of few pairs: the suspects' own figures are not what is usual.
TEST(ObservationsOf, ComparesFewWithWhatWasUsualBefore) {
  const auto fabric = FabricOf({.nodes = 4, .rails = 1});
  const auto of = [&](int count, double bps, Baselines& baselines) {
    v1::Campaign campaign;
    for (int i = 0; i < count; ++i) {
      v1::PairResult& result = *campaign.add_results();
      EXPECT_EQ(FromJson(Done(10, 11), result), Status());
      for (v1::ProbePort* port : {result.mutable_from(), result.mutable_to()}) {
        port->set_device("mlx5_0");
        port->set_port(1);
      }
      result.mutable_probe()->mutable_rc_write_bandwidth();
      result.mutable_result()->mutable_bandwidth()->set_mean_bps(bps);
    }
    return ObservationsOf(fabric, campaign.results(), baselines);
  };
  Baselines baselines;
  EXPECT_FLOAT_EQ(*of(100, 10e9, baselines)[0].speed, 1.0F);
  EXPECT_FLOAT_EQ(*of(8, 5e9, baselines)[0].speed, 0.5F);
  EXPECT_FLOAT_EQ(*of(60, 8e9, baselines)[0].speed, 1.0F) << "these are enough";
  EXPECT_FLOAT_EQ(*of(8, 4e9, baselines)[0].speed, 0.5F);
  EXPECT_FLOAT_EQ(*of(1, 4e9, baselines)[0].speed, 0.5F) << "and what could not be compared before";
  Baselines nothing;
  EXPECT_FLOAT_EQ(*of(8, 5e9, nothing)[0].speed, 1.0F);
}

// Four pairs at a time share what one pair has for itself: they are not slow for that, and what is
// slow alone is slow.
TEST(ObservationsOf, ComparesNoRoundWithThoseOfFewPairs) {
  v1::Campaign campaign;
  const auto add = [&](std::uint32_t round, double us) {
    v1::PairResult& result = *campaign.add_results();
    EXPECT_EQ(FromJson(Done(10, 11), result), Status());
    for (v1::ProbePort* port : {result.mutable_from(), result.mutable_to()}) {
      port->set_device("mlx5_0");
      port->set_port(1);
    }
    result.set_round(round);
    result.mutable_probe()->mutable_rc_write_latency();
    result.mutable_result()->mutable_latency()->set_median_us(us);
  };
  for (std::uint32_t round = 1; round <= 15; ++round) add(round, 1);
  for (std::uint32_t round = 16; round <= 18; ++round)
    for (int pair = 0; pair < 4; ++pair) add(round, 10);
  add(19, 30);
  const auto seen = ObservationsOf(FabricOf({.nodes = 4, .rails = 1}), campaign.results());
  ASSERT_EQ(seen.size(), 28U);
  EXPECT_FLOAT_EQ(*seen[20].latency, 1.0F);
  EXPECT_FLOAT_EQ(*seen[27].latency, 3.0F);
}

TEST(ObservationsOf, ComparesSpeedsWithEqualsAndKnowsTheirDirection) {
  const auto result = [](const std::string& kind, double there, double back) {
    return R"({"probe": {")" + kind + R"(": {"bidirectional": true}}, "result": {
        "status": "PROBE_STATUS_OK", "bandwidth": {"mean_bps": )" +
           std::to_string(there) + R"(}, "reverse_bandwidth": {"mean_bps": )" +
           std::to_string(back) + "}}}";
  };
  const auto seen =
      Observed({result("rc_write_bandwidth", 100, 50), result("rc_write_bandwidth", 100, 100),
                result("rc_read_bandwidth", 40, 40)});
  ASSERT_EQ(seen.size(), 5U) << "too few reads to compare with: a success, no speed";
  EXPECT_EQ(seen[0].from, 0U);
  EXPECT_FLOAT_EQ(*seen[0].speed, 1.0F);
  EXPECT_EQ(seen[1].from, 1U) << "the way back";
  EXPECT_FLOAT_EQ(*seen[1].speed, 0.5F);
  EXPECT_EQ(seen[4].from, 1U) << "a read moves data from the responder";
  EXPECT_EQ(seen[4].attempts, 1U);
  EXPECT_FALSE(seen[4].speed.has_value());
}

TEST(ObservationsOf, LeavesOutPortsThatItDoesNotKnow) {
  EXPECT_TRUE(Observed({R"({"from": {"node": "n10"}, "to": {"node": "elsewhere"},
                            "result": {"status": "PROBE_STATUS_OK"}})"})
                  .empty());
}

}  // namespace
}  // namespace fabric::blame::testing
