// A captured machine of which each part is there or not and holds whatever it holds: inspection and
// report come to an end, and what they say can be stored.
//
// The input is a list of records: which place (a byte, see kPlaces), how (a byte: file, link,
// folder), and the rest of the line as content.
#include <filesystem>

#include "agents/inspect/inspector.h"
#include "agents/inspect/report/report.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

using fabric::fuzz::Check;

namespace {

constexpr const char* kFunction = "sys/bus/pci/devices/0000:05:00.0";
constexpr const char* kPlaces[] = {
    "sys/class/infiniband/mlx5_0",
    "sys/class/infiniband/mlx5_0/ports/1/state",
    "sys/class/infiniband/mlx5_0/ports/1/rate",
    "sys/class/infiniband/mlx5_0/ports/1/link_layer",
    "sys/class/infiniband/mlx5_0/ports/1/gids/0",
    "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0",
    "sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data",
    "sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan",
    "sys/class/infiniband/mlx5_0/device",
    "sys/class/infiniband/mlx5_0/hca_type",
    "sys/class/infiniband_verbs/uverbs0/ibdev",
    "sys/class/net/eth0",
    "sys/class/net/eth0/device",
    "sys/class/net/eth0/operstate",
    "sys/class/net/eth0/speed",
    "sys/class/net/eth0/mtu",
    "sys/class/net/eth0/phys_port_name",
    "sys/class/net/bond0/bonding/slaves",
    "sys/class/net/eth0/master",
    "sys/class/net/eth0/qos/pfc",
    "sys/class/net/eth0/lower_eth1",
    "sys/bus/pci/devices/0000:05:00.0",
    "sys/bus/pci/devices/0000:05:00.0/config",
    "sys/bus/pci/devices/0000:05:00.0/class",
    "sys/bus/pci/devices/0000:05:00.0/vendor",
    "sys/bus/pci/devices/0000:05:00.0/uevent",
    "sys/bus/pci/devices/0000:05:00.0/resource",
    "sys/bus/pci/devices/0000:05:00.0/physfn",
    "sys/bus/pci/devices/0000:05:00.0/driver",
    "sys/bus/pci/devices/0000:05:00.0/infiniband/mlx5_1/fw_ver",
    "sys/bus/pci/devices/0000:05:00.0/net/eth1/address",
    "sys/bus/pci/devices/0000:05:00.0/vpd",
    "sys/bus/pci/devices/0000:04:00.0/config",
    "sys/devices/pci0000:00/0000:00:01.0/0000:05:00.0/class",
    "sys/kernel/iommu_groups/1/type",
    "sys/kernel/iommu_groups/1/devices/0000:05:00.0",
    "sys/module/ib_core/parameters/netns_mode",
    "sys/devices/system/node/online",
    "proc/modules",
    "proc/cmdline",
    "proc/net/route",
    "proc/net/vlan/config",
    "proc/driver/nvidia/version",
    "etc/os-release",
    "etc/security/limits.conf",
    "dmesg",
    "proc/meminfo",
    "proc/cpuinfo",
};

void Place(fabric::testing::TempTree& tree, const std::string& path, std::uint8_t how,
           const std::string& content) {
  std::error_code ignored;
  const std::string at = tree.path() + "/" + path;
  // A parent may be a file or a link by now: below it nothing is put.
  const auto parent = std::filesystem::path(at).parent_path();
  std::filesystem::create_directories(parent, ignored);
  if (std::filesystem::weakly_canonical(parent, ignored) != parent ||
      !std::filesystem::is_directory(parent, ignored) || std::filesystem::exists(at, ignored) ||
      std::filesystem::is_symlink(at, ignored))
    return;
  if (how % 4 == 0 && !content.empty() && content.find('\0') == std::string::npos)
    tree.Link(path, content);
  else if (how % 4 == 1)
    tree.Directory(path);
  else
    tree.File(path, content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kRecordsMax = 64;
  fabric::testing::TempTree tree;
  tree.Directory(kFunction);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t records = 0;
  for (const std::string_view record : fabric::Split(input, '\n')) {
    if (record.size() < 2 || ++records > kRecordsMax) continue;
    const std::size_t place = static_cast<std::uint8_t>(record[0]) % std::size(kPlaces);
    Place(tree, kPlaces[place], static_cast<std::uint8_t>(record[1]),
          std::string(record.substr(2)));
  }
  fabric::testing::FakeHost fake(tree.path());
  const fabric::v1::NodeSnapshot snapshot =
      fabric::inspect::Inspect(fake.host(), {.node_name = "n", .now = {}});
  Check(snapshot.IsInitialized() && !snapshot.SerializeAsString().empty(), "it can be stored");
  for (const auto& gap : snapshot.gaps())
    Check(gap.code() != fabric::v1::GAP_CODE_UNSPECIFIED, "a gap has a code");
  Check(!fabric::inspect::Report(snapshot).empty(), "there is a report");
  return 0;
}
