// The tables of counters: mlx5, mlx4, bnxt, irdma, ionic, hns, efa, qedr, rxe, siw, hfi1, cxgb4,
// erdma and mana.
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

using ::testing::IsEmpty;

const CounterTable& Table(std::string_view name) {
  for (const CounterTable* table : AllCounterTables())
    if (table->name == name) return *table;
  ADD_FAILURE() << name;
  return *AllCounterTables()[0];
}

struct Known {
  v1::CounterSource source;
  const char* name;
  std::uint64_t value;
};

v1::CounterSet Named(std::string_view table, const std::vector<Known>& counters) {
  v1::CounterSet set;
  for (const auto& [source, name, value] : counters) {
    v1::Counter& counter = *set.add_counters();
    counter.set_source(source);
    counter.set_name(name);
    counter.set_value(value);
  }
  NameCounters(table.empty() ? nullptr : &Table(table), set);
  return set;
}

// "neutral=name" of all that have a neutral name.
std::set<std::string> NeutralOf(const v1::CounterSet& set) {
  std::set<std::string> names;
  for (const v1::Counter& counter : set.counters())
    if (counter.has_neutral()) names.insert(counter.neutral() + "=" + counter.name());
  return names;
}

TEST(CounterTables, EveryNeutralNameIsInTheList) {
  for (const CounterTable* table : AllCounterTables()) {
    for (const CounterRow& row : table->rows) {
      const std::string where = std::string(table->name) + " " + std::string(row.name);
      if (row.neutral.empty()) continue;
      const auto found = FindNeutralCounter(row.neutral);
      ASSERT_TRUE(found) << where;
      EXPECT_THAT(row.unit, IsEmpty()) << where << ": it has the unit of its name";
      EXPECT_EQ(row.name.find('#') == std::string_view::npos,
                row.neutral.find('#') == std::string_view::npos)
          << where;
    }
    for (const CounterSum& sum : table->sums) EXPECT_TRUE(FindNeutralCounter(sum.neutral));
  }
  for (const PortRegister& row : AllPortRegisters())
    EXPECT_TRUE(FindNeutralCounter(row.neutral)) << row.name;
}

TEST(CounterTables, NoRowStandsTwice) {
  std::set<std::string_view> drivers;
  for (const CounterTable* table : AllCounterTables()) {
    for (const std::string_view driver : table->drivers)
      EXPECT_TRUE(drivers.insert(driver).second) << driver;
    std::set<std::pair<int, std::string_view>> rows;
    for (const CounterRow& row : table->rows)
      EXPECT_TRUE(rows.emplace(row.source, row.name).second) << table->name << " " << row.name;
    for (const std::string_view name : table->wide_hw) EXPECT_LT(table->hw_width_bits, 64u) << name;
  }
  std::set<std::string_view> names;
  for (const NeutralCounter& row : AllNeutralCounters())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(CounterTables, AreChosenByTheDriverElseByTheName) {
  v1::RdmaDevice device;
  device.set_name("rocep59s0");
  EXPECT_EQ(CountersOf(device), nullptr);
  const std::pair<const char*, const char*> drivers[] = {
      {"mlx5_core", "mlx5"}, {"mlx4_core", "mlx4"}, {"bnxt_en", "bnxt"}, {"ice", "irdma"},
      {"i40e", "irdma"},     {"ionic", "ionic"},    {"hns3", "hns"},     {"efa", "efa"},
      {"qede", "qedr"},      {"rxe", "rxe"},        {"siw", "siw"},      {"hfi1", "hfi1"},
      {"cxgb4", "cxgb4"},    {"erdma", "erdma"},    {"mana", "mana"}};
  for (const auto& [driver, table] : drivers) {
    device.set_driver(driver);
    ASSERT_NE(CountersOf(device), nullptr) << driver;
    EXPECT_EQ(CountersOf(device)->name, table);
  }
  device.clear_driver();
  device.set_name("bnxt_re1");
  EXPECT_EQ(CountersOf(device)->name, "bnxt");
}

TEST(CounterTables, OfANetdevAreItsDriversElseItsPorts) {
  v1::NodeSnapshot snapshot;
  v1::RdmaDevice& device = *snapshot.add_rdma_devices();
  device.set_driver("ice");
  device.add_ports()->set_netdev("eth0");
  v1::NetInterface netdev;
  netdev.set_name("eth0");
  EXPECT_EQ(CountersOf(snapshot, netdev)->name, "irdma");
  netdev.set_driver("mlx5_core[ib_ipoib]");
  EXPECT_EQ(CountersOf(snapshot, netdev)->name, "mlx5");
  netdev.set_driver("bonding");
  EXPECT_EQ(CountersOf(snapshot, netdev), nullptr);
}

TEST(NameCounters, TellsFramesDurationsAndTransitionsApart) {
  const v1::CounterSet set = Named("mlx5", {{kEthtool, "rx_prio3_pause", 1},
                                            {kEthtool, "rx_prio3_pause_duration", 2},
                                            {kEthtool, "rx_prio3_pause_transition", 3},
                                            {kEthtool, "rx_prio8_pause", 4},
                                            {kEthtool, "tx_prio3_pause_transition", 5}});
  EXPECT_EQ(NeutralOf(set),
            (std::set<std::string>{"pfc_rx_frames_prio3=rx_prio3_pause",
                                   "pfc_rx_duration_us_prio3=rx_prio3_pause_duration",
                                   "pfc_rx_transitions_prio3=rx_prio3_pause_transition"}));
  EXPECT_EQ(set.counters(0).unit(), "frames");
  EXPECT_EQ(set.counters(1).unit(), "microseconds");
  EXPECT_EQ(set.counters(4).unit(), "") << "there is none of that name";
}

TEST(NameCounters, OneCounterBearsAName) {
  EXPECT_EQ(NeutralOf(Named("mlx5", {{kEthtool, "rx_prio3_pause", 1},
                                     {kDcb, "pfc_indications_prio3", 1},
                                     {kDcb, "pfc_indications_prio4", 0}})),
            (std::set<std::string>{"pfc_rx_frames_prio3=pfc_indications_prio3",
                                   "pfc_rx_frames_prio4=pfc_indications_prio4"}));
}

TEST(NameCounters, ReceivedNotificationsAreNotHandledOnes) {
  EXPECT_EQ(NeutralOf(Named("mlx5", {{kHw, "rp_cnp_handled", 1}})),
            std::set<std::string>{"cnp_rx_handled=rp_cnp_handled"});
  EXPECT_EQ(NeutralOf(Named("bnxt", {{kHw, "rp_cnp_handled", 1}})),
            std::set<std::string>{"cnp_rx_packets=rp_cnp_handled"})
      << "as newer drivers name what they receive";
  EXPECT_EQ(NeutralOf(Named("ionic", {{kHw, "rx_rdma_cnp_pkts", 1}})),
            std::set<std::string>{"cnp_rx_packets=rx_rdma_cnp_pkts"});
}

TEST(NameCounters, SumsNeedAllTheirParts) {
  const v1::CounterSet both =
      Named("irdma", {{kHw, "ip4OutOctets", 100}, {kHw, "ip6OutOctets", 11}});
  EXPECT_EQ(NeutralOf(both), std::set<std::string>{"rdma_tx_bytes=ip4OutOctets+ip6OutOctets"});
  EXPECT_EQ(both.counters(2).value(), 111u);
  EXPECT_EQ(both.counters(2).unit(), "bytes");
  EXPECT_THAT(NeutralOf(Named("irdma", {{kHw, "ip4OutOctets", 100}})), IsEmpty());
  v1::CounterSet again = both;
  NameCounters(&Table("irdma"), again);
  EXPECT_EQ(again.counters_size(), 3) << "not a sum of sums";
}

TEST(NameCounters, WidthsAreThoseOfTheRegisters) {
  const v1::CounterSet set = Named("mlx5", {{kHw, "out_of_sequence", 1},
                                            {kHw, "np_cnp_sent", 1},
                                            {kHw, "of_a_later_kernel", 1},
                                            {kEthtool, "outbound_pci_stalled_wr", 35}});
  EXPECT_EQ(set.counters(0).width_bits(), 32u);
  EXPECT_EQ(set.counters(1).width_bits(), 64u);
  EXPECT_FALSE(set.counters(2).has_width_bits());
  EXPECT_FALSE(set.counters(3).has_width_bits()) << "no count";
  EXPECT_EQ(set.counters(3).unit(), "percent");
}

TEST(NameCounters, GaugesOfBnxtAreNoCounts) {
  const v1::CounterSet set = Named("bnxt", {{kHw, "active_qps", 5}, {kHw, "watermark_qps", 9}});
  for (const v1::Counter& counter : set.counters()) {
    EXPECT_EQ(counter.unit(), "objects");
    EXPECT_TRUE(IsGaugeUnit(counter.unit()));
    EXPECT_FALSE(counter.has_neutral());
  }
}

TEST(NameCounters, RegistersOfInfiniBandAreTheSameForAll) {
  EXPECT_EQ(NeutralOf(Named("", {{v1::COUNTER_SOURCE_PORT, "symbol_error", 1}})),
            std::set<std::string>{"symbol_errors=symbol_error"});
  EXPECT_THAT(NeutralOf(Named("", {{kHw, "out_of_sequence", 1}})), IsEmpty());
}

TEST(FindNeutralCounter, TakesOneDigitOfAPriority) {
  const auto found = FindNeutralCounter("pfc_rx_frames_prio7");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counter->name, "pfc_rx_frames_prio#");
  EXPECT_EQ(found->priority, "7");
  EXPECT_EQ(FindNeutralCounter("pfc_rx_frames")->priority, "");
  for (const char* name : {"pfc_rx_frames_prio8", "pfc_rx_frames_prio", "", "pfc_rx_frames_prio33"})
    EXPECT_FALSE(FindNeutralCounter(name)) << name;
}

}  // namespace
}  // namespace fabric::inspect
