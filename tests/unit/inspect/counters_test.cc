// The inspectors port_counters and hw_counters, and the table they share.
#include <gmock/gmock.h>

#include "agents/inspect/counter_table.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParsePortCounter, DataIsCountedInWordsOfFourBytes) {
  const Result<v1::Counter> counter = ParsePortCounter("port_xmit_data", "1000");
  ASSERT_TRUE(counter.ok());
  EXPECT_EQ(counter->value(), 4000u);
  EXPECT_EQ(counter->unit(), "bytes");
  EXPECT_FALSE(counter->saturated());
  EXPECT_EQ(ParsePortCounter("port_xmit_data", "18446744073709551615").status().code(),
            Code::kDataLoss);
}

TEST(ParsePortCounter, MarksRegistersThatStandAtTheirMaximum) {
  const std::pair<const char*, const char*> full[] = {{"local_link_integrity_errors", "15"},
                                                      {"link_downed", "255"},
                                                      {"symbol_error", "65535"},
                                                      {"port_xmit_wait", "4294967295"},
                                                      {"port_rcv_packets", "4294967295"}};
  for (const auto& [name, value] : full) EXPECT_TRUE(ParsePortCounter(name, value)->saturated());
  EXPECT_FALSE(ParsePortCounter("symbol_error", "65534")->saturated());
  EXPECT_FALSE(ParsePortCounter("symbol_error", "65536")->saturated()) << "a wider register";
  EXPECT_FALSE(ParsePortCounter("of_a_later_kernel", "255")->saturated());
}

TEST(ParsePortCounter, NoPmaIsNotZero) {
  EXPECT_EQ(ParsePortCounter("symbol_error", "N/A (no PMA)").status().code(), Code::kUnimplemented);
  EXPECT_FALSE(ParsePortCounter("symbol_error", "").ok());
  EXPECT_FALSE(ParsePortCounter("symbol_error", "-1").ok());
}

TEST(IsPauseCounter, KnowsTheNamesOfAllVendors) {
  for (const char* name :
       {"rx_prio0_pause", "tx_prio7_pause_duration", "rx_prio3_discards", "link_down_events_phy",
        "rx_pause_prio_3", "pfc_pri3_rx_duration_us", "tx_pfc_ena_frames_pri5",
        "tx_priority_3_xoff.nic", "rx_pripause_3_1us_count", "mac_rx_pfc_pri3_pkt_num"})
    EXPECT_TRUE(IsPauseCounter(name)) << name;
  for (const char* name : {"", "rx_packets", "rx_prio8_pause", "rx_prio_pause", "rx_prio3_pauses",
                           "xx_prio3_pause", "tx_prio3_pause_transitions"})
    EXPECT_FALSE(IsPauseCounter(name)) << name;
}

TEST(UnitOf, TellsDurationsFromFrames) {
  EXPECT_EQ(UnitOf("rx_prio3_pause"), "frames");
  EXPECT_EQ(UnitOf("rx_prio3_pause_duration"), "microseconds");
  EXPECT_EQ(UnitOf("pfc_pri3_tx_duration_us"), "microseconds");
  EXPECT_EQ(UnitOf("rx_prio3_pause_transition"), "events");
  EXPECT_EQ(UnitOf("tx_pause_storm_error_events"), "events");
  EXPECT_EQ(UnitOf("rx_bytes"), "bytes");
  EXPECT_EQ(UnitOf("sent_pkts"), "packets");
  EXPECT_EQ(UnitOf("active_qps"), "");
}

TEST(PortCounters, ManyFailuresAreOneGap) {
  SmallNode node;
  node.File(kPort + "/counters/symbol_error", "N/A (no PMA)\n")
      .File(kPort + "/counters/link_downed", "N/A (no PMA)\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(GapsOf(snapshot, "port_counters"),
              ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/counters: UNIMPLEMENTED 2 "
                          "counters cannot be read, first of them link_downed: the port has no "
                          "counters: 'N/A (no PMA)'"));
  EXPECT_EQ(FindCounter(snapshot, "symbol_error"), nullptr);
}

TEST(PortCounters, DriversWithoutThemAreAGap) {
  SmallNode node;
  node.Remove(kPort + "/counters");
  EXPECT_THAT(GapsOf(node.Inspected(), "port_counters"),
              ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/counters: UNIMPLEMENTED "
                          "the driver has no port counters"));
}

TEST(HwCounters, FilesWithoutLifespan) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_NE(FindCounter(snapshot, "out_of_sequence"), nullptr);
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->value(), 3u);
  EXPECT_EQ(FindCounter(snapshot, "lifespan"), nullptr) << "the age of the cache";
  EXPECT_THAT(GapsOf(snapshot, "hw_counters"), IsEmpty());
}

TEST(HwCounters, NetlinkGoesFirst) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.rdma.counters[{7, 1}] = {{"out_of_sequence", 4}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->value(), 4u);
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->source(), v1::COUNTER_SOURCE_HW);
}

}  // namespace
}  // namespace fabric::inspect
