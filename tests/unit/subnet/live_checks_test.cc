// Checks of what only a reader of the subnet sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/mad/attributes.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Service levels 0, 1, ... on lanes 0, 1, ... up to the last, and again.
LaneOfLevel LanesUpTo(std::uint8_t lanes) {
  LaneOfLevel table{};
  for (std::size_t level = 0; level < table.size(); ++level)
    table[level] = static_cast<std::uint8_t>(level % lanes);
  return table;
}

// A fat tree with a master and a standby, and with details of all ports; `change` adds a fault.
class LiveSubnet {
 public:
  LiveSubnet() : made_(testing::Make(testing::FatTree{})) { made_.Route(); }

  std::uint32_t Find(const std::string& name) const { return made_.Find(name); }

  Subnet With(const std::function<void(Builder&)>& change) const {
    Builder builder;
    EXPECT_TRUE(AddFile("net.txt", made_.Ibnetdiscover(), builder).ok());
    EXPECT_TRUE(AddFile("lfts.txt", made_.Lfts(), builder).ok());
    builder.SetReading({.reader = "mlx5_0 port 1"});
    builder.AddManager({.port_guid = 1, .lid = 1, .priority = 9, .state = ManagerState::kMaster});
    builder.AddManager({.port_guid = 2, .lid = 2, .priority = 5, .state = ManagerState::kStandby});
    for (const testing::TestCable& cable : made_.cables)
      for (const std::uint32_t node : {cable.from, cable.to}) {
        const End end{IndexOf(builder, node), node == cable.from ? cable.from_port : cable.to_port};
        builder.PortOf(end)->enabled = Rate{4, Speed::kHdr};
        PortDetails& details = *builder.DetailsOf(end);
        details.p_keys = {{0xffff}};
        details.enforces_partitions = true;
        details.mtu = 4096;
        details.lanes = 4;
        details.lane_of_level = LanesUpTo(4);
        details.served_lanes = 0x0f;
        details.first_counters = details.counters = CounterValues{};
        details.between = std::chrono::minutes(1);
        details.wide_counters = true;
        details.first_fec = details.fec = FecCounters{};
        if (Node& owner = builder.node(end.node); owner.type == NodeType::kSwitch) {
          owner.tick = 7;
          owner.firmware = "27.2012.1010";
        }
      }
    change(builder);
    return builder.Finish();
  }

  End EndOf(Builder& builder, const std::string& name, std::uint32_t port) const {
    return {IndexOf(builder, made_.Find(name)), port};
  }

 private:
  std::uint32_t IndexOf(Builder& builder, std::uint32_t node) const {
    return builder.NodeOf(NodeType::kUnknown, made_.nodes[node].guid);
  }

  testing::TestSubnet made_;
};

std::vector<std::string> FailuresOf(const Subnet& subnet, const Expectations& expected = {}) {
  std::vector<std::string> texts;
  for (const v1::Finding& finding : Evaluate(subnet, nullptr, expected).findings)
    if (finding.verdict() == v1::VERDICT_FAIL)
      texts.push_back(Format("{}: {}", finding.rule(), finding.title()));
  return texts;
}

std::vector<std::string> UnknownOf(const Subnet& subnet) {
  std::vector<std::string> rules;
  for (const v1::Finding& finding : Evaluate(subnet, nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_UNKNOWN) rules.push_back(finding.rule());
  return rules;
}

const auto kNoChange = [](Builder&) {};

TEST(LiveChecks, AHealthySubnetHasNoFailure) {
  const Subnet subnet = LiveSubnet().With(kNoChange);
  EXPECT_THAT(FailuresOf(subnet), IsEmpty());
  EXPECT_THAT(UnknownOf(subnet),
              ElementsAre("subnet_manager_active", "subnet_cables_as_planned",
                          "subnet_oversubscription", "subnet_routing_as_expected"));
}

// A hung manager does not answer, and its port still announces it.
TEST(LiveChecks, NameASubnetManagerThatDoesNotAnswer) {
  const LiveSubnet live;
  const Subnet subnet = live.With([&live](Builder& builder) {
    Port& port = *builder.PortOf(live.EndOf(builder, "gpu-3 mlx5_0", 1));
    port.runs_manager = true;
    port.guid = 0xabc;
  });
  EXPECT_THAT(
      FailuresOf(subnet),
      ElementsAre("subnet_manager_active: the subnet manager of node \"gpu-3\" mlx5_0 port 1 "
                  "does not answer SMInfo"));
}

TEST(LiveChecks, WithoutAReaderTheyAreUnknown) {
  testing::TestSubnet made = testing::Make(testing::FatTree{});
  made.Route();
  for (const char* const rule :
       {"subnet_standby_manager", "subnet_manager_priority", "subnet_nodes_answer",
        "subnet_links_active", "subnet_mtu_equal", "subnet_path_mtu", "subnet_p_keys_match",
        "subnet_port_errors", "subnet_counters_saturated", "subnet_default_lane_usable",
        "subnet_lanes_equal", "subnet_no_congestion", "subnet_bit_errors_within_limit",
        "subnet_blocks_correctable", "subnet_firmware_equal"})
    EXPECT_THAT(UnknownOf(made.Read()), Contains(rule));
}

TEST(LiveChecks, ASubnetThatChangedMeanwhileIsNotJudged) {
  const Subnet subnet = LiveSubnet().With(
      [](Builder& builder) { builder.SetReading({.changed = "switch leaf-1: state of a port"}); });
  EXPECT_THAT(FailuresOf(subnet), IsEmpty());
  EXPECT_EQ(UnknownOf(subnet).size(), AllChecks().size());
}

TEST(SubnetOneMaster, FailsWhenNoManagerAnswersTheReader) {
  LiveSubnet live;
  Builder builder;
  testing::TestSubnet made = testing::Make(testing::FatTree{});
  ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  builder.SetReading({});
  EXPECT_THAT(FailuresOf(builder.Finish()),
              ElementsAre("subnet_one_master: no subnet manager is master"));
}

TEST(SubnetStandbyManager, FailsWithoutOne) {
  const Subnet subnet = LiveSubnet().With([](Builder& builder) {
    builder.AddManager(
        {.port_guid = 2, .lid = 2, .priority = 5, .state = ManagerState::kNotActive});
  });
  EXPECT_THAT(FailuresOf(subnet),
              ElementsAre(HasSubstr("subnet_standby_manager: no standby subnet manager: only")));
}

TEST(SubnetManagerPriority, FailsForATieAndForALowerMaster) {
  for (const std::uint32_t priority : {9U, 12U}) {
    const Subnet subnet = LiveSubnet().With([&](Builder& builder) {
      builder.AddManager(
          {.port_guid = 2, .lid = 2, .priority = priority, .state = ManagerState::kStandby});
    });
    EXPECT_THAT(
        FailuresOf(subnet),
        ElementsAre(AllOf(HasSubstr("subnet_manager_priority: "),
                          HasSubstr(priority == 9 ? "the same priority 9 as the master"
                                                  : "priority 12, above 9 of the master"))));
  }
}

TEST(SubnetReadNow, IsUnknownWhileNoAgentReadsTheSubnet) {
  const Subnet subnet = LiveSubnet().With([](Builder&) {});
  const auto verdicts = [&](const std::string& not_read_now) {
    std::vector<std::string> titles;
    for (const v1::Finding& finding :
         Evaluate(subnet, nullptr, {.not_read_now = not_read_now}).findings)
      if (finding.rule() == "subnet_read_now")
        titles.push_back(finding.verdict() == v1::VERDICT_UNKNOWN ? finding.title() : "a failure");
    return titles;
  };
  EXPECT_THAT(verdicts(""), IsEmpty());
  EXPECT_THAT(verdicts("read at noon: n3 is lost"),
              ElementsAre(HasSubstr("read at noon: n3 is lost")));
}

TEST(SubnetNodesAnswer, NamesThePortOfASilentDevice) {
  LiveSubnet live;
  const Subnet subnet = live.With([&](Builder& builder) {
    builder.SetReading({.silent = {live.EndOf(builder, "leaf-1", 40)}});
  });
  EXPECT_THAT(FailuresOf(subnet),
              ElementsAre(HasSubstr("subnet_nodes_answer: switch \"leaf-1\" port 40: the link is "
                                    "up, but")));
}

TEST(SubnetLinksActive, NamesBothEndsOfALinkThatTheManagerDidNotFinish) {
  LiveSubnet live;
  const Subnet subnet = live.With([&](Builder& builder) {
    builder.PortOf(live.EndOf(builder, "gpu-2 mlx5_0", 1))->state = LinkState::kArmed;
  });
  EXPECT_THAT(FailuresOf(subnet),
              ElementsAre(AllOf(HasSubstr("subnet_links_active: switch \"leaf-1\" port 2"),
                                HasSubstr("\"gpu-2\" mlx5_0 port 1: ARMED, expected ACTIVE"))));
}

TEST(SubnetRateAsEnabled, FailsBelowWhatBothEndsHaveEnabled) {
  LiveSubnet live;
  const Subnet subnet = live.With([&](Builder& builder) {
    for (const End end : {live.EndOf(builder, "leaf-1", 2), live.EndOf(builder, "gpu-2 mlx5_0", 1)})
      builder.PortOf(end)->rate = Rate{1, Speed::kHdr};
  });
  EXPECT_THAT(FailuresOf(subnet), Contains(AllOf(HasSubstr("subnet_rate_as_enabled: switch"),
                                                 HasSubstr("1xHDR, expected 4xHDR"))));
}

TEST(SubnetMtuEqual, FailsForDifferentMtuOrLanes) {
  LiveSubnet live;
  for (const bool mtu : {true, false}) {
    const Subnet subnet = live.With([&](Builder& builder) {
      PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "gpu-2 mlx5_0", 1));
      if (mtu)
        details.mtu = 2048;
      else
        details.lanes = 1;
    });
    EXPECT_THAT(FailuresOf(subnet),
                ElementsAre(AllOf(HasSubstr("subnet_mtu_equal: "), HasSubstr("\"gpu-2\""),
                                  HasSubstr(mtu ? "MTU 2048, 4 lanes" : "MTU 4096, 1 lane"))));
  }
}

TEST(SubnetPKeysMatch, FailsForAKeyThatTheSwitchPortBlocks) {
  LiveSubnet live;
  const auto subnet = [&](std::uint16_t adapter, std::uint16_t port, bool enforces) {
    return live.With([&](Builder& builder) {
      builder.DetailsOf(live.EndOf(builder, "gpu-2 mlx5_0", 1))->p_keys = {{0xffff, adapter}};
      PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "leaf-1", 2));
      details.p_keys = {{0xffff, port}};
      details.enforces_partitions = enforces;
    });
  };
  EXPECT_THAT(FailuresOf(subnet(0x8001, 0x8002, true)),
              ElementsAre(AllOf(HasSubstr("subnet_p_keys_match: "), HasSubstr("P_Key 0x8001"))));
  EXPECT_THAT(FailuresOf(subnet(0x8001, 0x0001, true)), ElementsAre(HasSubstr("P_Key 0x8001")));
  EXPECT_THAT(FailuresOf(subnet(0x0001, 0x8001, true)), IsEmpty()) << "a limited member";
  EXPECT_THAT(FailuresOf(subnet(0x8001, 0x8002, false)), IsEmpty()) << "not enforced";
}

TEST(SubnetPortErrors, NamesTheCableAndTheCounters) {
  LiveSubnet live;
  const auto subnet = [&](Counter counter, std::uint32_t before, std::uint32_t now) {
    return live.With([&](Builder& builder) {
      PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "spine-1", 2));
      (*details.first_counters)[static_cast<std::size_t>(counter)] = before;
      (*details.counters)[static_cast<std::size_t>(counter)] = now;
    });
  };
  EXPECT_THAT(FailuresOf(subnet(Counter::kReceiveErrors, 10, 12)),
              ElementsAre(AllOf(HasSubstr("subnet_port_errors: switch \"spine-1\" port 2 - switch "
                                          "\"leaf-2\" port 9: errors at switch \"spine-1\" port 2"),
                                HasSubstr("PortRcvErrors +2"))));
  EXPECT_THAT(FailuresOf(subnet(Counter::kReceiveErrors, 10, 10)), IsEmpty()) << "old errors";
  EXPECT_THAT(FailuresOf(subnet(Counter::kSymbolErrors, 0, 1)), IsEmpty()) << "no rate yet";
  EXPECT_THAT(FailuresOf(subnet(Counter::kSymbolErrors, 0, 50)), ElementsAre(HasSubstr("+50")));
  EXPECT_THAT(FailuresOf(subnet(Counter::kReceiveErrors, 500, 3)), ElementsAre(HasSubstr("+3")))
      << "reset meanwhile";
  EXPECT_THAT(FailuresOf(subnet(Counter::kReceiveRemotePhysicalErrors, 0, 90)), IsEmpty())
      << "another link is the cause";
}

TEST(SubnetPortErrors, TheProfileChangesTheLimitOfSymbolErrors) {
  LiveSubnet live;
  const Subnet subnet = live.With([&](Builder& builder) {
    PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "spine-1", 2));
    (*details.counters)[static_cast<std::size_t>(Counter::kSymbolErrors)] = 5;  // 300 an hour
  });
  EXPECT_THAT(FailuresOf(subnet), ElementsAre(HasSubstr("SymbolErrorCounter +5")));
  EXPECT_THAT(FailuresOf(subnet, {.symbol_errors_max_per_hour = 400}), IsEmpty());
}

TEST(SubnetBitErrors, AreJudgedByTheLimitOfTheLinkOrOfTheProfile) {
  LiveSubnet live;
  const auto subnet = [&](std::uint32_t before, std::uint32_t now) {
    return live.With([&](Builder& builder) {
      PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "spine-1", 2));
      details.first_fec->corrected_symbols = before;
      details.fec->corrected_symbols = now;
    });
  };
  // 200 Gb/s, 60 s: 2.4e-4 are 2.88e9 symbols.
  EXPECT_THAT(FailuresOf(subnet(0, 2'800'000'000U)), IsEmpty());
  EXPECT_THAT(FailuresOf(subnet(1'000, 3'000'001'000U)),
              ElementsAre(AllOf(HasSubstr("subnet_bit_errors_within_limit: "),
                                HasSubstr("before correction 0.00025 at switch \"spine-1\" port 2, "
                                          "expected at most 0.00024"))));
  EXPECT_THAT(FailuresOf(subnet(0, 2'000'000U), {.raw_ber_max = 1e-7}),
              ElementsAre(HasSubstr("before correction 1.7e-07")));
  EXPECT_THAT(FailuresOf(subnet(4'294'967'290U, 2'000'000U), {.raw_ber_max = 1e-7}),
              ElementsAre(HasSubstr("1.7e-07")))
      << "reset meanwhile";
  const Subnet full = subnet(4'294'967'295U, 4'294'967'295U);
  EXPECT_THAT(FailuresOf(full), IsEmpty());
  EXPECT_THAT(UnknownOf(full), Contains("subnet_bit_errors_within_limit"));
}

TEST(SubnetFirmwareEqual, WithoutAMajorityNamesTheVersions) {
  LiveSubnet live;
  const auto with = [&](const std::function<std::string(const std::string&)>& version) {
    return live.With([&](Builder& builder) {
      for (const char* const name : {"leaf-1", "leaf-2", "leaf-3", "leaf-4", "spine-1", "spine-2"})
        builder.node(live.EndOf(builder, name, 0).node).firmware = version(name);
    });
  };
  EXPECT_THAT(
      FailuresOf(with(
          [](const std::string& name) { return name.starts_with("leaf") ? "27.1.1" : "27.2.2"; })),
      ElementsAre("subnet_firmware_equal: switches of device 54002 have different firmware: "
                  "27.1.1 (4 switches), 27.2.2 (2 switches)"));
  const Subnet partly = with([](const std::string& name) {
    return name == "leaf-1" ? std::string() : std::string("27.1.1");
  });
  EXPECT_THAT(FailuresOf(partly), IsEmpty());
  EXPECT_THAT(UnknownOf(partly), Contains("subnet_firmware_equal"));
}

TEST(SubnetCountersSaturated, NamesCountersAtTheirMaximum) {
  LiveSubnet live;
  const Subnet subnet = live.With([&](Builder& builder) {
    PortDetails& details = *builder.DetailsOf(live.EndOf(builder, "spine-1", 2));
    details.wide_counters = false;
    for (CounterValues* const values : {&*details.first_counters, &*details.counters})
      (*values)[static_cast<std::size_t>(Counter::kLinkDowned)] = 255;
  });
  EXPECT_THAT(
      FailuresOf(subnet),
      ElementsAre(HasSubstr("subnet_counters_saturated: switch \"spine-1\" port 2: counters "
                            "at their maximum: LinkDownedCounter 255")));
}

}  // namespace
}  // namespace fabric::subnet
