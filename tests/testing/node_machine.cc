#include "tests/testing/node_machine.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace fabric::testing {
namespace {

void AddFunction(const std::string& address, const std::string& class_code,
                 const std::string& driver, v1::NodeSnapshot& node) {
  // The root port above: "0000:17:00.0" is below "0000:00:17.0".
  const std::string root = Format("0000:00:{}.0", address.substr(5, 2));
  for (const bool is_root : {true, false}) {
    v1::PciFunction& function = *node.add_pci_functions();
    function.set_address(is_root ? root : address);
    function.set_class_code(is_root ? "060400" : class_code);
    function.set_driver(is_root ? "pcieport" : driver);
    function.set_vendor_id(is_root ? "8086" : "15b3");
    function.set_numa_node(0);
    function.set_root_complex("pci0000:00");
    *function.mutable_link() = Link(32, 16);
    *function.mutable_link_max() = Link(32, 16);
    if (!is_root) function.add_path(root);
    if (!is_root) *function.mutable_slot_max() = Link(32, 16);
    function.set_max_payload_bytes(256);
    function.set_max_payload_supported_bytes(512);
    function.set_max_read_request_bytes(is_root ? 512 : 4096);
    function.set_relaxed_ordering(true);
    function.set_ats_capable(false);
    function.set_iommu_group(address.substr(5, 2));
    function.set_iommu_type("identity");
    function.set_aer_correctable(0);
    function.set_aer_nonfatal(0);
    function.set_aer_fatal(0);
  }
}

void AddPath(const v1::Gpu& gpu, const v1::RdmaDevice& device, v1::NodeSnapshot& node) {
  v1::GpuNicPath& path = *node.add_gpu_nic_paths();
  path.set_gpu(gpu.pci_address());
  path.set_device(device.name());
  path.set_distance(v1::PCI_DISTANCE_PHB);
  path.add_bridges(Format("0000:00:{}.0", gpu.pci_address().substr(5, 2)));
  path.add_bridges(Format("0000:00:{}.0", device.pci_address().substr(5, 2)));
  path.set_acs_known(true);
}

void FillHost(v1::HostFacts& host) {
  host.set_kernel_command_line("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on iommu=pt");
  host.set_distribution("Debian GNU/Linux 12 (bookworm)");
  host.set_rdma_stack(v1::RDMA_STACK_INBOX);
  host.set_rdma_netns_mode(v1::RDMA_NETNS_MODE_SHARED);
  host.mutable_default_user_memlock()->set_unlimited(true);
  host.mutable_default_user_memlock()->set_source("etc/security/limits.d/rdma.conf");
  host.set_numa_nodes(1);
  host.set_virtualization("none");
  for (const char* name : {"ib_core", "ib_uverbs", "rdma_ucm"}) {
    v1::KernelModule& module = *host.add_modules();
    module.set_name(name);
    module.set_out_of_tree(false);
  }
  v1::Sysctl& balancing = *host.add_sysctls();
  balancing.set_name("kernel.numa_balancing");
  balancing.set_value("0");
}

}  // namespace

v1::PciLink Link(std::uint32_t gigatransfers, std::uint32_t width) {
  v1::PciLink link;
  link.set_speed_megatransfers_per_second(gigatransfers * 1000);
  link.set_width(width);
  return link;
}

void AddMachine(v1::NodeSnapshot& node) {
  for (const v1::RdmaDevice& device : node.rdma_devices())
    if (device.has_pci_address())
      AddFunction(device.pci_address(), "020000", device.driver(), node);
  for (const v1::Gpu& gpu : node.gpus())
    AddFunction(gpu.pci_address(), "030200", gpu.driver(), node);
  std::sort(node.mutable_pci_functions()->begin(), node.mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
  for (const v1::Gpu& gpu : node.gpus())
    for (const v1::RdmaDevice& device : node.rdma_devices())
      if (device.has_pci_address()) AddPath(gpu, device, node);
  FillHost(*node.mutable_host());
  node.mutable_time_sync()->set_synchronized(true);
  node.mutable_time_sync()->set_offset_seconds(0.001);
}

v1::PciFunction& FunctionAt(v1::NodeSnapshot& node, const std::string& address) {
  for (v1::PciFunction& function : *node.mutable_pci_functions())
    if (function.address() == address) return function;
  std::abort();  // A mistake of the test.
}

v1::PciFunction& FunctionOfRail(v1::NodeSnapshot& node, std::uint32_t rail) {
  return FunctionAt(node, node.rdma_devices(static_cast<int>(rail)).pci_address());
}

v1::PciFunction& FunctionOfGpu(v1::NodeSnapshot& node) {
  return FunctionAt(node, node.gpus(0).pci_address());
}

void RemoveCard(v1::NodeSnapshot& node, std::uint32_t rail) {
  const auto erase = [](auto& list, const auto& is_gone) {
    for (int i = list.size(); i-- > 0;)
      if (is_gone(list[i])) list.DeleteSubrange(i, 1);
  };
  const v1::RdmaDevice device = node.rdma_devices(static_cast<int>(rail));
  erase(*node.mutable_pci_functions(), [&](const v1::PciFunction& function) {
    return function.address() == device.pci_address();
  });
  erase(*node.mutable_net_interfaces(),
        [&](const v1::NetInterface& netdev) { return netdev.name() == device.ports(0).netdev(); });
  erase(*node.mutable_gpu_nic_paths(),
        [&](const v1::GpuNicPath& path) { return path.device() == device.name(); });
  node.mutable_rdma_devices()->DeleteSubrange(static_cast<int>(rail), 1);
}

void MoveCard(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& address) {
  v1::RdmaDevice& device = *node.mutable_rdma_devices(static_cast<int>(rail));
  FunctionAt(node, device.pci_address()).set_address(address);
  std::sort(node.mutable_pci_functions()->begin(), node.mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
  for (v1::NetInterface& netdev : *node.mutable_net_interfaces())
    if (netdev.pci_address() == device.pci_address()) netdev.set_pci_address(address);
  device.set_pci_address(address);
}

v1::KernelLogLine& Logged(v1::NodeSnapshot& node, const std::string& category,
                          const std::string& text, std::uint32_t rail) {
  v1::KernelLogLine& line = *node.add_kernel_log();
  line.set_category(category);
  line.set_text(text);
  line.set_count(1);
  line.set_pci_address(node.rdma_devices(static_cast<int>(rail)).pci_address());
  *line.mutable_last_at() = node.taken_at();
  return line;
}

}  // namespace fabric::testing
