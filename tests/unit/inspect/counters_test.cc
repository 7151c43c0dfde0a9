// The inspectors port_counters and hw_counters, and the table they share.
#include <gmock/gmock.h>

#include <algorithm>

#include "agents/inspect/counter_tables/counter_table.h"
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

TEST(PortCounters, ManyFailuresAreOneGap) {
  SmallNode node;
  node.File(kPort + "/counters/symbol_error", "N/A (no PMA)\n")
      .File(kPort + "/counters/link_downed", "N/A (no PMA)\n")
      .File(kPort + "/counters/VL15_dropped", "N/A (no PMA)\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(
      GapsOf(snapshot, "port_counters"),
      ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/counters: UNIMPLEMENTED the port "
                  "has no counters: 'N/A (no PMA)' (VL15_dropped link_downed "
                  "symbol_error)"));
  EXPECT_EQ(FindCounter(snapshot, "symbol_error"), nullptr);
}

TEST(PortCounters, DriversWithoutThemAreAGap) {
  SmallNode node;
  node.Remove(kPort + "/counters");
  EXPECT_THAT(GapsOf(node.Inspected(), "port_counters"),
              ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/counters: NOT_FOUND not in "
                          "the captured tree"));
}

TEST(PortCounters, OfOldKernelsAreInTwoDirectories) {
  SmallNode node;
  node.File(kPort + "/counters/port_xmit_data", "4294967295\n")
      .File(kPort + "/counters_ext/port_xmit_data_64", "5000000000\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::Counter* const wide = FindCounter(snapshot, "port_xmit_data_64");
  ASSERT_NE(wide, nullptr);
  EXPECT_EQ(wide->value(), 20'000'000'000u);
  EXPECT_EQ(wide->neutral(), "rdma_tx_bytes");
  const v1::Counter* const narrow = FindCounter(snapshot, "port_xmit_data");
  EXPECT_TRUE(narrow->saturated());
  EXPECT_EQ(narrow->width_bits(), 32u);
  EXPECT_FALSE(narrow->has_neutral()) << "the name goes to the one that counts on";
  EXPECT_THAT(GapsOf(snapshot, "port_counters"), IsEmpty());
}

TEST(PortCounters, OfDriversThatNeverHaveThemAreNoGap) {
  SmallNode node;
  node.Remove(kPort + "/counters").Driver("bnxt_en");
  EXPECT_THAT(GapsOf(node.Inspected(), "port_counters"), IsEmpty());
  node.File(kPort + "/counters/symbol_error", "");
  EXPECT_THAT(GapsOf(node.Inspected(), "port_counters"), IsEmpty()) << "as of qedr";
}

TEST(HwCounters, FilesWithoutLifespan) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_NE(FindCounter(snapshot, "out_of_sequence"), nullptr);
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->value(), 3u);
  EXPECT_EQ(FindCounter(snapshot, "lifespan"), nullptr) << "the age of the cache";
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).counter_lifespan_ms(), 10u);
  EXPECT_THAT(GapsOf(snapshot, "hw_counters"), IsEmpty());
}

TEST(HwCounters, GarbageIsAGapForEachFile) {
  SmallNode node;
  node.File(kPort + "/hw_counters/np_cnp_sent", "a lot\n").File(kPort + "/hw_counters/x", "");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const std::string folder = "mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
  EXPECT_THAT(GapsOf(snapshot, "hw_counters"),
              ElementsAre(folder + "np_cnp_sent: DATA_LOSS expected a number, saw 'a lot'",
                          folder + "x: DATA_LOSS expected a number, saw ''"));
  EXPECT_EQ(FindCounter(snapshot, "np_cnp_sent"), nullptr);
  EXPECT_NE(FindCounter(snapshot, "out_of_sequence"), nullptr);
}

TEST(HwCounters, OfTheWholeDeviceArePortZero) {
  SmallNode node;
  node.Remove(kPort + "/hw_counters")
      .File(kCard + "/infiniband/mlx5_0/hw_counters/out_of_buffer", "7\n")
      .File(kCard + "/infiniband/mlx5_0/hw_counters/lifespan", "10\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const auto& sets = snapshot.counters();
  const auto set = std::find_if(sets.begin(), sets.end(), [](const v1::CounterSet& each) {
    return each.device() == "mlx5_0" && each.port() == 0;
  });
  ASSERT_NE(set, sets.end());
  EXPECT_EQ(set->counters_size(), 1);
  EXPECT_EQ(set->counters(0).neutral(), "out_of_buffer");
  EXPECT_THAT(GapsOf(snapshot, "hw_counters"), IsEmpty()) << "the driver counts by device";
}

TEST(HwCounters, NetlinkGoesFirst) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.rdma.counters[{7, 1}] = {{"out_of_sequence", 4}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->value(), 4u);
  EXPECT_EQ(FindCounter(snapshot, "out_of_sequence")->source(), v1::COUNTER_SOURCE_HW);
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).counter_lifespan_ms(), 10u)
      << "of sysfs all the same";
}

}  // namespace
}  // namespace fabric::inspect
