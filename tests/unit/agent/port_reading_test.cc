#include "agents/session/port_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/host/machine.h"
#include "base/text.h"
#include "tests/testing/temp_tree.h"

namespace fabric::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

void AddTo(v1::CounterSet& set, const std::string& name, const std::string& neutral,
           v1::CounterSource source = v1::COUNTER_SOURCE_HW) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(name);
  counter.set_neutral(neutral);
  counter.set_source(source);
  counter.set_value(1);
  counter.set_width_bits(64);
}

v1::RdmaDevice Device(int ports) {
  v1::RdmaDevice device;
  device.set_name("rxe0");
  for (int number = 1; number <= ports; ++number) {
    v1::Port& port = *device.add_ports();
    port.set_number(static_cast<std::uint32_t>(number));
    port.set_netdev(Format("eth{}", number));
  }
  return device;
}

counters::CounterSets Found() {
  counters::CounterSets sets;
  for (const std::uint32_t port : {0U, 1U, 2U}) {
    v1::CounterSet& set = *sets.Add();
    set.set_device("rxe0");
    set.set_port(port);
    AddTo(set, "completer_retry_err", "ack_timeout");
    AddTo(set, "sent_pkts", "rdma_tx_packets");
  }
  for (const char* netdev : {"eth1", "eth2"}) {
    v1::CounterSet& set = *sets.Add();
    set.set_netdev(netdev);
    AddTo(set, "rx_discards_phy", "rx_discards", v1::COUNTER_SOURCE_ETHTOOL);
  }
  sets.Add()->set_device("rxe1");
  return sets;
}

std::vector<std::string> Names(const counters::CounterSets& sets) {
  std::vector<std::string> names;
  for (const v1::CounterSet& set : sets) {
    names.push_back(set.netdev().empty() ? Format("{}/{}", set.device(), set.port())
                                         : set.netdev());
    for (const v1::Counter& counter : set.counters()) names.back() += " " + counter.neutral();
  }
  return names;
}

TEST(PortReading, TakesWhatIsOfThePortAndWatched) {
  EXPECT_THAT(Names(SetsOfPort(Found(), Device(1), 1)),
              ElementsAre("rxe0/0 ack_timeout", "rxe0/1 ack_timeout", "eth1 rx_discards"));
  EXPECT_THAT(Names(SetsOfPort(Found(), Device(2), 2)),
              ElementsAre("rxe0/2 ack_timeout", "eth2 rx_discards"))
      << "of a device with two ports nobody knows whose counters these are";
}

class ReadPortTest : public ::testing::Test {
 protected:
  void Set(std::uint64_t value) {
    tree.File("sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err",
              Format("{}\n", value));
  }
  std::unique_ptr<probe::PortCounters> Open(const counters::CounterSets& sets) {
    tree.Directory("sys");
    auto machine = host::Machine::Open(tree.path());
    EXPECT_TRUE(machine.ok());
    return ReadPort(std::make_unique<host::Machine>(*std::move(machine)), sets);
  }
  testing::TempTree tree;
};

TEST_F(ReadPortTest, ReadsAnewAndNotWhatAnInspectionSaw) {
  counters::CounterSets sets;
  v1::CounterSet& set = *sets.Add();
  set.set_device("rxe0");
  set.set_port(1);
  AddTo(set, "completer_retry_err", "ack_timeout");
  v1::CounterSet& netdev = *sets.Add();  // Which only a live machine reads
  netdev.set_netdev("eth1");
  AddTo(netdev, "rx_discards_phy", "rx_discards", v1::COUNTER_SOURCE_ETHTOOL);
  Set(40);
  const auto counters = Open(sets);
  EXPECT_THAT(counters->Read(), ElementsAre(Pair("ack_timeout", 40)));
  Set(45);
  EXPECT_THAT(counters->Read(), ElementsAre(Pair("ack_timeout", 45)));
  Set(3);
  EXPECT_THAT(counters->Read(), IsEmpty()) << "it has begun anew";
}

}  // namespace
}  // namespace fabric::agent
