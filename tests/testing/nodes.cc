#include "tests/testing/nodes.h"

#include "base/text.h"
#include "tests/testing/lossless.h"
#include "tests/testing/node_machine.h"

namespace fabric::testing {
namespace {

constexpr std::uint32_t kLosslessPriority = 3;

struct Kind {
  std::string device_prefix;
  std::string rdma_driver;
  std::string net_driver;
  v1::Protocol protocol = v1::PROTOCOL_ROCE;
  std::uint32_t netdev_mtu = 9000;
  bool pci = true;                        // The RDMA device itself has a PCI address
  bool dcb = true;                        // The netdev's driver implements DCB
  bool roce_v1 = true;                    // GIDs come in both types
  std::vector<std::uint32_t> dscps = {};  // With an APP entry; empty: all 64
  std::string model = {};                 // Empty: a device of software
};

std::string Mac(std::uint32_t node, std::uint32_t rail) {
  return Format("52:54:{:02x}:fb:{:02x}:{:02x}", node >> 8 & 0xff, rail, node & 0xff);
}

std::string LinkLocalGid(std::uint32_t node, std::uint32_t rail) {
  return Format("fe80:0000:0000:0000:5054:{:02x}ff:fe{:02x}:{:04x}", node >> 8 & 0xff, rail,
                node & 0xffff);
}

std::string Address(std::uint32_t node, std::uint32_t rail) {
  return Format("10.{}.{}.{}", 10 + (node >> 8), rail, node & 0xff);
}

std::string PciAddressOf(std::uint32_t rail) {
  return Format("0000:{:02x}:00.0", 0x17 + rail);
}

// What is left for the RDMA payload when the kernel takes its 96 bytes.
std::uint32_t RdmaMtu(std::uint32_t netdev_mtu) {
  std::uint32_t mtu = 256;
  while (mtu < 4096 && 2 * mtu + 96 <= netdev_mtu) mtu *= 2;
  return mtu;
}

void AddGid(v1::Port& port, const std::string& gid, v1::GidType type, const std::string& ipv4) {
  v1::Gid& entry = *port.add_gids();
  entry.set_index(static_cast<std::uint32_t>(port.gids_size()) - 1);
  entry.set_gid(gid);
  entry.set_type(type);
  if (type != v1::GID_TYPE_INFINIBAND) entry.set_netdev(port.netdev());
  entry.set_link_local(gid.starts_with("fe80"));
  entry.set_ipv4(ipv4);
}

void AddGids(const Kind& kind, std::uint32_t node, std::uint32_t rail, v1::Port& port) {
  const std::string link_local = LinkLocalGid(node, rail);
  const std::string ipv4 = Address(node, rail);
  if (kind.protocol != v1::PROTOCOL_ROCE) {
    AddGid(port, link_local, v1::GID_TYPE_INFINIBAND, "");
    return;
  }
  if (kind.roce_v1) AddGid(port, link_local, v1::GID_TYPE_ROCE_V1, "");
  AddGid(port, link_local, v1::GID_TYPE_ROCE_V2, "");
  if (kind.roce_v1) AddGid(port, MappedGid(ipv4), v1::GID_TYPE_ROCE_V1, ipv4);
  AddGid(port, MappedGid(ipv4), v1::GID_TYPE_ROCE_V2, ipv4);
}

// What is printed on the card. Its PSID and firmware are those of all of its model.
void AddIdentity(const Kind& kind, v1::RdmaDevice& device) {
  device.set_sys_image_guid(device.node_guid());
  device.mutable_function()->set_kind(kind.pci ? v1::FUNCTION_KIND_PHYSICAL
                                               : v1::FUNCTION_KIND_SOFTWARE);
  device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  if (kind.model.empty()) return;
  device.set_model(kind.model);
  device.set_board_id("PSID of " + kind.model);
  device.set_firmware("28.39.1002");
}

// One with the default prefix, where all are full members of the default partition.
void AddSubnet(v1::Port& port) {
  port.set_subnet_prefix("fe80:0000:0000:0000");
  port.set_port_guid(port.gids(0).gid().substr(20));
  port.set_lmc(0);
  port.add_pkeys(0xffff);
}

void AddDevice(const Kind& kind, std::uint32_t node, std::uint32_t rail, v1::NodeSnapshot& out) {
  v1::RdmaDevice& device = *out.add_rdma_devices();
  device.set_name(Format("{}{}", kind.device_prefix, rail));
  device.set_node_guid(Format("5054:{:02x}ff:fe{:02x}:{:04x}", node >> 8 & 0xff, rail, node));
  device.set_node_type(kind.protocol == v1::PROTOCOL_IWARP ? v1::NODE_TYPE_RNIC : v1::NODE_TYPE_CA);
  device.set_protocol(kind.protocol);
  device.set_driver(kind.rdma_driver);
  if (kind.pci) device.set_pci_address(PciAddressOf(rail));

  AddIdentity(kind, device);

  const bool infiniband = kind.protocol == v1::PROTOCOL_INFINIBAND;
  v1::Port& port = *device.add_ports();
  port.set_number(1);
  port.set_state(v1::PORT_STATE_ACTIVE);
  port.set_physical_state(v1::PHYSICAL_STATE_LINK_UP);
  port.set_link_layer(infiniband ? v1::LINK_LAYER_INFINIBAND : v1::LINK_LAYER_ETHERNET);
  port.set_rate_bps(100'000'000'000);
  port.set_width(4);
  port.set_speed("EDR");
  port.set_lid(infiniband ? 10 * node + rail : 0);
  port.set_sm_lid(infiniband ? 1 : 0);
  port.set_active_mtu_bytes(infiniband ? 4096 : RdmaMtu(kind.netdev_mtu));
  port.set_max_mtu_bytes(4096);
  port.set_netdev(Format("rail{}", rail));
  AddGids(kind, node, rail, port);
  if (infiniband) AddSubnet(port);
}

void FillDcb(const Kind& kind, v1::DcbConfig& dcb) {
  dcb.mutable_pfc()->set_enabled_mask(1U << kLosslessPriority);
  dcb.mutable_pfc()->set_capability(8);
  dcb.mutable_dcbx()->set_host(true);
  dcb.mutable_dcbx()->set_ieee(true);
  dcb.set_app_read(true);
  dcb.set_trust(v1::TRUST_DSCP);
  for (std::uint32_t dscp = 0; dscp < 64; ++dscp) dcb.add_dscp_to_priority(0);
  std::vector<std::uint32_t> dscps = kind.dscps;
  for (std::uint32_t dscp = 0; dscp < 64 && kind.dscps.empty(); ++dscp) dscps.push_back(dscp);
  for (const std::uint32_t dscp : dscps) {
    v1::AppEntry& entry = *dcb.add_app();
    entry.set_selector(v1::APP_SELECTOR_DSCP);
    entry.set_protocol(dscp);
    entry.set_priority(dscp / 8);
    dcb.set_dscp_to_priority(static_cast<int>(dscp), dscp / 8);
  }
}

void AddNetdev(const Kind& kind, std::uint32_t node, std::uint32_t rail, v1::NodeSnapshot& out) {
  v1::NetInterface& netdev = *out.add_net_interfaces();
  netdev.set_name(Format("rail{}", rail));
  netdev.set_index(3 + rail);
  netdev.set_mac(Mac(node, rail));
  netdev.set_mtu_bytes(kind.netdev_mtu);
  netdev.set_oper_state(v1::OPER_STATE_UP);
  netdev.set_carrier(true);
  netdev.set_speed_bps(100'000'000'000);
  netdev.add_addresses(Address(node, rail) + "/24");
  netdev.set_driver(kind.net_driver);
  netdev.set_pci_address(PciAddressOf(rail));
  if (kind.dcb) {
    FillDcb(kind, *netdev.mutable_dcb());
    AddLosslessSettings(netdev);
  } else if (kind.protocol == v1::PROTOCOL_ROCE) {
    v1::Gap& gap = *out.add_gaps();
    gap.set_inspector("dcb");
    gap.set_subject(netdev.name());
    gap.set_path("netlink dcb " + netdev.name());
    gap.set_code(v1::GAP_CODE_UNIMPLEMENTED);
    gap.set_reason("the driver has no DCB");
  }
}

v1::NodeSnapshot Build(const Kind& kind, const NodeOptions& options) {
  v1::NodeSnapshot node;
  node.mutable_node()->set_name(Format("n{}", options.number));
  node.mutable_node()->set_kernel_release("6.1.0-37-amd64");
  node.mutable_node()->set_agent_version("0.1.0");
  node.mutable_node()->set_machine_id(Format("{:032x}", options.number));
  if (!kind.model.empty())
    node.mutable_host()->set_product(
        Format("server with {} {}", kind.model, v1::Protocol_Name(kind.protocol)));
  node.mutable_taken_at()->set_seconds(1'700'000'000 + options.number);
  v1::NetInterface& management = *node.add_net_interfaces();
  management.set_name("eth0");
  management.set_index(2);
  management.set_mtu_bytes(1500);
  management.set_oper_state(v1::OPER_STATE_UP);
  management.set_carrier(true);
  management.set_driver("virtio_net");
  management.set_pci_address("0000:00:03.0");
  for (std::uint32_t rail = 0; rail < options.rails; ++rail) {
    AddDevice(kind, options.number, rail, node);
    AddNetdev(kind, options.number, rail, node);
  }
  node.mutable_peer_memory()->set_nvidia_peermem_loaded(options.gpu);
  node.mutable_peer_memory()->set_nv_peer_mem_loaded(false);
  if (options.gpu) {
    v1::Gpu& gpu = *node.add_gpus();
    gpu.set_pci_address("0000:1b:00.0");
    gpu.set_vendor_id("10de");
    gpu.set_device_id("2330");
    gpu.set_driver("nvidia");
  }
  AddMachine(node);
  return node;
}

}  // namespace

v1::NodeSnapshot RoceNode(const NodeOptions& options) {
  return Build({.device_prefix = "mlx5_",
                .rdma_driver = "mlx5_core",
                .net_driver = "mlx5_core",
                .model = "ConnectX-7"},
               options);
}

v1::NodeSnapshot LabNode(const NodeOptions& options) {
  return Build({.device_prefix = "rxe",
                .rdma_driver = "rxe",
                .net_driver = "mlx5_core",
                .netdev_mtu = 4200,
                .pci = false,
                .roce_v1 = false},
               options);
}

v1::NodeSnapshot RxeNode(const NodeOptions& options) {
  return Build({.device_prefix = "rxe",
                .rdma_driver = "rxe",
                .net_driver = "virtio_net",
                .netdev_mtu = 4200,
                .pci = false,
                .dcb = false,
                .roce_v1 = false},
               options);
}

v1::NodeSnapshot BnxtNode(const NodeOptions& options) {
  return Build({.device_prefix = "bnxt_re",
                .rdma_driver = "bnxt_en",
                .net_driver = "bnxt_en",
                .dscps = {26, 48},
                .model = "BCM57608 (Thor2)"},
               options);
}

v1::NodeSnapshot InfinibandNode(const NodeOptions& options) {
  return Build({.device_prefix = "mlx5_",
                .rdma_driver = "mlx5_core",
                .net_driver = "mlx5_core[ib_ipoib]",
                .protocol = v1::PROTOCOL_INFINIBAND,
                .netdev_mtu = 2044,
                .dcb = false,
                .model = "ConnectX-7"},
               options);
}

v1::NodeSnapshot IwarpNode(const NodeOptions& options) {
  return Build({.device_prefix = "irdma",
                .rdma_driver = "ice",
                .net_driver = "ice",
                .protocol = v1::PROTOCOL_IWARP,
                .dcb = false,
                .model = "E810-C"},
               options);
}

std::vector<v1::NodeSnapshot> Nodes(std::uint32_t count,
                                    v1::NodeSnapshot (*make)(const NodeOptions&),
                                    NodeOptions options) {
  std::vector<v1::NodeSnapshot> nodes;
  for (options.number = 1; options.number <= count; ++options.number)
    nodes.push_back(make(options));
  return nodes;
}

v1::RdmaDevice& DeviceOf(v1::NodeSnapshot& node, std::uint32_t rail) {
  return *node.mutable_rdma_devices(static_cast<int>(rail));
}

v1::Port& PortOf(v1::NodeSnapshot& node, std::uint32_t rail) {
  return *DeviceOf(node, rail).mutable_ports(0);
}

v1::NetInterface& NetdevOf(v1::NodeSnapshot& node, std::uint32_t rail) {
  return *node.mutable_net_interfaces(static_cast<int>(rail) + 1);
}

void SetMtu(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t mtu_bytes) {
  NetdevOf(node, rail).set_mtu_bytes(mtu_bytes);
  PortOf(node, rail).set_active_mtu_bytes(RdmaMtu(mtu_bytes));
}

void SetPfc(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t enabled_mask) {
  v1::DcbConfig& dcb = *NetdevOf(node, rail).mutable_dcb();
  dcb.mutable_pfc()->set_enabled_mask(enabled_mask);
  LayOutBuffers(dcb, enabled_mask);
}

void TrustPcp(v1::NodeSnapshot& node, std::uint32_t rail) {
  v1::DcbConfig& dcb = *NetdevOf(node, rail).mutable_dcb();
  dcb.set_trust(v1::TRUST_PCP);
  dcb.clear_app();
  dcb.clear_dscp_to_priority();
}

void MapDscp(v1::NodeSnapshot& node, std::uint32_t rail, std::uint32_t dscp,
             std::uint32_t priority) {
  v1::DcbConfig& dcb = *NetdevOf(node, rail).mutable_dcb();
  dcb.set_dscp_to_priority(static_cast<int>(dscp), priority);
  for (v1::AppEntry& entry : *dcb.mutable_app())
    if (entry.protocol() == dscp) entry.set_priority(priority);
}

void LinkDown(v1::NodeSnapshot& node, std::uint32_t rail) {
  v1::Port& port = PortOf(node, rail);
  port.set_state(v1::PORT_STATE_DOWN);
  port.set_physical_state(v1::PHYSICAL_STATE_POLLING);
  v1::NetInterface& netdev = NetdevOf(node, rail);
  netdev.set_carrier(false);
  netdev.set_oper_state(v1::OPER_STATE_DOWN);
}

void DropAddress(v1::NodeSnapshot& node, std::uint32_t rail) {
  NetdevOf(node, rail).clear_addresses();
  auto& gids = *PortOf(node, rail).mutable_gids();
  for (int i = gids.size(); i-- > 0;)
    if (!gids[i].link_local()) gids.DeleteSubrange(i, 1);
}

void SetAddress(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& ipv4) {
  NetdevOf(node, rail).clear_addresses();
  NetdevOf(node, rail).add_addresses(ipv4 + "/24");
  for (v1::Gid& gid : *PortOf(node, rail).mutable_gids()) {
    if (gid.link_local()) continue;
    gid.set_gid(MappedGid(ipv4));
    gid.set_ipv4(ipv4);
  }
}

void PutOnBond(v1::NodeSnapshot& node, std::uint32_t rail) {
  v1::NetInterface bond = NetdevOf(node, rail);
  v1::NetInterface& member = NetdevOf(node, rail);
  member.set_name(bond.name() + "a");
  member.clear_addresses();
  bond.clear_dcb();
  bond.clear_congestion_control();
  bond.clear_driver();
  bond.clear_pci_address();
  bond.mutable_bond()->add_members(member.name());
  *node.add_net_interfaces() = std::move(bond);
}

void UnloadPeermem(v1::NodeSnapshot& node) {
  node.mutable_peer_memory()->set_nvidia_peermem_loaded(false);
}

std::string MappedGid(const std::string& ipv4) {
  std::string gid = "0000:0000:0000:0000:0000:ffff:";
  int part = 0;
  for (const std::string_view digits : Split(ipv4, '.')) {
    const auto value = ParseNumber<std::uint32_t>(digits);
    gid += Format("{:02x}{}", value.ok() ? *value : 0, ++part == 2 ? ":" : "");
  }
  return gid;
}

}  // namespace fabric::testing
