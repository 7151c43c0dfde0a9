#include "tests/unit/rules/random_nodes.h"

#include <iterator>

#include "base/text.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {

std::uint32_t Below(Random& random, std::uint32_t end) {
  return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random);
}

namespace {

constexpr std::uint32_t kRandomRails = 4;

// What a fault does to a random port, or to the node.
using RandomFault = void (*)(v1::NodeSnapshot&, std::uint32_t rail, Random&);

constexpr RandomFault kRandomFaults[] = {
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetMtu(node, rail, Below(random, 2) == 0 ? 1500 : 4096);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetPfc(node, rail, Below(random, 256));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::TrustPcp(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      if (testing::NetdevOf(node, rail).dcb().dscp_to_priority_size() == 64)
        testing::MapDscp(node, rail, 26, 1);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::LinkDown(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) { testing::DropAddress(node, rail); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::SetAddress(node, rail, Format("10.10.{}.{}", rail, 1 + Below(random, 4)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::SetAddress(node, rail, "10.99.0.7");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) { testing::UnloadPeermem(node); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::PortOf(node, rail).clear_state();
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::PortOf(node, rail).set_lid(1 + Below(random, 4));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::PortOf(node, rail).set_sm_lid(1 + Below(random, 2));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::PortOf(node, rail).set_active_mtu_bytes(2048);
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::DeviceOf(node, rail).set_firmware(Format("28.39.{}", Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::DeviceOf(node, rail).set_node_guid("5054:00ff:fe00:0001");
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random& random) {
      testing::DeviceOf(node, rail).set_model(Format("ConnectX-{}", 6 + Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::NetdevOf(node, rail).set_mac("52:54:00:00:00:01");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) {
      node.mutable_node()->set_machine_id("the same");
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random& random) {
      node.mutable_host()->set_product(Format("Product {}", Below(random, 2)));
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) {
      node.mutable_time_sync()->set_synchronized(false);
    },
    [](v1::NodeSnapshot& node, std::uint32_t, Random&) { node.mutable_gpu_nic_paths()->Clear(); },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      if (node.rdma_devices_size() < static_cast<int>(kRandomRails)) return;
      node.mutable_rdma_devices()->DeleteSubrange(static_cast<int>(rail), 1);  // Shifts the rails
    },
    [](v1::NodeSnapshot& node, std::uint32_t rail, Random&) {
      testing::DeviceOf(node, rail).set_name(Format("other{}", rail));
    },
};

// The same on all ports, of this node and of those that draw the same: what has one cause.
void BreakAll(v1::NodeSnapshot& node, Random& random) {
  constexpr std::size_t kOfPort = 3;  // The first ones
  const RandomFault fault = kRandomFaults[Below(random, kOfPort)];
  const Random drawn(Below(random, 2));
  for (int rail = 0; rail < node.rdma_devices_size(); ++rail) {
    Random same = drawn;
    fault(node, static_cast<std::uint32_t>(rail), same);
  }
}

// Two units with leaves of their own, here and there a cable in the wrong place or two that are
// crossed, on several nodes alike, and switches that announce something else.
void Wire(v1::NodeSnapshot& node, std::uint32_t number, Random& random) {
  const bool crossed = Below(random, 6) == 0;
  for (std::uint32_t rail = 0; rail < static_cast<std::uint32_t>(node.rdma_devices_size());
       ++rail) {
    const std::uint32_t meant = crossed && rail < 2 ? 1 - rail : rail;
    const std::uint32_t plugged = Below(random, 10) == 0 ? Below(random, kRandomRails) : meant;
    const std::uint32_t unit = Below(random, 20) == 0 ? 0 : number % 2;
    v1::LldpNeighbor& heard =
        testing::Hear(node, rail, Format("leaf{}-{}", unit, plugged),
                      Format("{}{}", Below(random, 4) == 0 ? "Ethernet" : "swp", number));
    if (Below(random, 8) == 0) heard.set_max_frame_bytes(1518);
    if (Below(random, 8) == 0) heard.mutable_pfc()->set_enabled_mask(0);
    if (Below(random, 12) == 0) heard.clear_pfc();
  }
}

}  // namespace

v1::NodeSnapshot RandomNode(std::uint32_t number, Random& random) {
  const testing::NodeOptions options = {.number = number, .rails = kRandomRails};
  v1::NodeSnapshot node;
  const std::uint32_t kind = Below(random, 10);
  if (kind == 0)
    node = testing::InfinibandNode(options);
  else if (kind == 1)
    node = testing::BnxtNode(options);
  else if (kind == 2)
    node = testing::RxeNode(options);
  else
    node = testing::RoceNode(options);
  node.mutable_taken_at()->set_seconds(Below(random, 1'000'000));
  for (std::uint32_t faults = Below(random, 3); faults > 0; --faults)
    kRandomFaults[Below(random, std::size(kRandomFaults))](node, Below(random, 2), random);
  if (Below(random, 3) == 0) BreakAll(node, random);
  if (Below(random, 4) != 0) Wire(node, number, random);
  return node;
}

void MoveCounters(fleet::NodeRecord& record, Random& random) {
  record.snapshot.clear_counters();  // A new table of them
  testing::Pair pair = testing::PairOf({record.snapshot});
  v1::NodeSnapshot& after = pair.after[0];
  for (v1::CounterSet& set : *after.mutable_counters())
    for (v1::Counter& counter : *set.mutable_counters()) {
      if (Below(random, 4) == 0)
        counter.set_value(counter.value() + (std::uint64_t{1} << Below(random, 40)));
      if (Below(random, 60) == 0) counter.set_saturated(true);
      if (Below(random, 60) == 0) counter.clear_neutral();
    }
  record.rates = fleet::CounterRates::Between(pair.before[0], after);
  *record.snapshot.mutable_counters() = after.counters();
}

std::vector<v1::NodeSnapshot> RandomFleet(std::uint32_t nodes, Random& random) {
  std::vector<v1::NodeSnapshot> fleet;
  for (std::uint32_t number = 1; number <= nodes; ++number)
    fleet.push_back(RandomNode(number, random));
  return fleet;
}

}  // namespace fabric::rules
