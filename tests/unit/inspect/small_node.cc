#include "tests/unit/inspect/small_node.h"

#include <filesystem>

#include "base/text.h"
#include "proto/names.h"

namespace fabric::inspect {

SmallNode::SmallNode() : fake(tree.path()) {
  tree.Link("sys/class/infiniband/mlx5_0",
            "../../devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0")
      .Link("sys/class/net/eth0", "../../devices/pci0000:3a/0000:3b:00.0/net/eth0")
      .Link("sys/bus/pci/devices/0000:3b:00.0", "../../../devices/pci0000:3a/0000:3b:00.0")
      .Link(kCard + "/driver", "../../../bus/pci/drivers/mlx5_core")
      .Link(kCard + "/infiniband/mlx5_0/device", "../../../0000:3b:00.0")
      .Link(kNetdev + "/device", "../../../0000:3b:00.0")
      .File(kCard + "/vendor", "0x15b3\n")
      .File(kCard + "/class", "0x020000\n")
      .File(kCard + "/numa_node", "1\n");
  const std::string device = kCard + "/infiniband/mlx5_0/";
  tree.File(device + "node_guid", "b859:9f03:00aa:0010\n")
      .File(device + "sys_image_guid", "b859:9f03:00aa:0010\n")
      .File(device + "node_type", "1: CA\n")
      .File(device + "node_desc", "small mlx5_0\n")
      .File(device + "fw_ver", "22.39.1002\n");
  tree.File(kPort + "/state", "4: ACTIVE\n")
      .File(kPort + "/phys_state", "5: LinkUp\n")
      .File(kPort + "/rate", "100 Gb/sec (4X EDR)\n")
      .File(kPort + "/link_layer", "Ethernet\n")
      .File(kPort + "/lid", "0x0\n")
      .File(kPort + "/sm_lid", "0x0\n")
      .File(kPort + "/lid_mask_count", "0\n")
      .File(kPort + "/cap_mask", "0x00010000\n")
      .File(kPort + "/gids/0", "fe80:0000:0000:0000:ba59:9fff:feaa:0010\n")
      .File(kPort + "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n")
      .File(kPort + "/gid_attrs/types/0", "RoCE v2\n")
      .File(kPort + "/gid_attrs/ndevs/0", "eth0\n")
      .File(kPort + "/counters/symbol_error", "0\n")
      .File(kPort + "/hw_counters/out_of_sequence", "3\n")
      .File(kPort + "/hw_counters/lifespan", "10\n");
  tree.File(kNetdev + "/ifindex", "4\n")
      .File(kNetdev + "/address", "b8:59:9f:aa:00:10\n")
      .File(kNetdev + "/mtu", "4200\n")
      .File(kNetdev + "/operstate", "up\n")
      .File(kNetdev + "/carrier", "1\n")
      .File(kNetdev + "/speed", "100000\n")
      .File(kNetdev + "/dev_port", "0\n");
  tree.File("sys/module/ib_core/parameters/netns_mode", "Y\n")
      .File("sys/class/infiniband_verbs/abi_version", "6\n")
      .File("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
  tree.File("proc/sys/kernel/hostname", "small\n")
      .File("proc/sys/kernel/osrelease", "6.1.0\n")
      .File("proc/sys/kernel/random/boot_id", "11111111-2222-4333-8444-555555555555\n")
      .File("proc/modules", "mlx5_core 1 0 - Live 0x0\n")
      .File("etc/machine-id", "00ff\n");
}

SmallNode& SmallNode::File(const std::string& path, const std::string& content) {
  tree.File(path, content);
  return *this;
}

SmallNode& SmallNode::Remove(const std::string& path) {
  std::filesystem::remove_all(tree.path() + "/" + path);
  return *this;
}

SmallNode& SmallNode::Driver(const std::string& driver) {
  Remove(kCard + "/driver");
  tree.Link(kCard + "/driver", "../../../bus/pci/drivers/" + driver);
  return *this;
}

void SmallNode::AnswerRdma() {
  constexpr std::uint32_t kIndex = 7;
  fake.rdma.status = Status();
  fake.rdma.devices = {{.index = kIndex,
                        .name = "mlx5_0",
                        .firmware = "22.40.1000",
                        .node_guid = 0xb8599f0300aa0099,
                        .sys_image_guid = 0xb8599f0300aa0010,
                        .node_type = std::uint8_t{1},
                        .protocol = "roce",
                        .ports = 1}};
  fake.rdma.links[kIndex] = {{.port = 1,
                              .state = std::uint8_t{4},
                              .physical_state = std::uint8_t{5},
                              .netdev_index = 4u,
                              .netdev_name = "eth0"}};
}

v1::NodeSnapshot SmallNode::Inspected() {
  return Inspect(fake.host(), {.node_name = "", .now = WallTime{}});
}

std::vector<std::string> GapsOf(const v1::NodeSnapshot& snapshot, std::string_view inspector) {
  std::vector<std::string> lines;
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == inspector)
      lines.push_back(
          Format("{} {}: {} {}", gap.subject(), gap.path(), Name(gap.code()), gap.reason()));
  return lines;
}

const v1::Counter* FindCounter(const v1::NodeSnapshot& snapshot, const std::string& name) {
  for (const v1::CounterSet& set : snapshot.counters())
    for (const v1::Counter& counter : set.counters())
      if (counter.name() == name) return &counter;
  return nullptr;
}

}  // namespace fabric::inspect
