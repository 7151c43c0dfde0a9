#include "tests/unit/healthy/host_tree.h"

#include "base/text.h"

namespace fabric::testing {
namespace {

std::string Mac(std::uint32_t node, std::uint32_t index) {
  return Format("88:e9:a4:{:02x}:{:02x}:{:02x}", node, index >> 8, index & 0xff);
}

std::string LinkLocal(std::uint32_t node, std::uint32_t index) {
  return Format("fe80:0000:0000:0000:8ae9:a4ff:fe{:02x}:{:04x}", node, index);
}

std::string Guid(std::uint32_t node, std::uint32_t index) {
  return Format("88e9:a4ff:ff{:02x}:{:04x}", node, index);
}

std::string Mapped(std::uint32_t node, std::uint32_t index) {
  return Format("0000:0000:0000:0000:0000:ffff:0a{:02x}:00{:02x}", index, node);
}

// Types of PCIe ports
constexpr char kRootPort = 4;
constexpr char kUpstream = 5;
constexpr char kDownstream = 6;

// Configuration space of a bridge with access control, which is off.
std::string ConfigOfBridge(char port_type) {
  std::string config(4096, '\0');
  const auto set = [&](std::size_t at, const std::vector<int>& bytes) {
    for (const int byte : bytes) config[at++] = static_cast<char>(byte);
  };
  set(0x00, {0x86, 0x80, 0x2a, 0x35, 0x06, 0x05, 0x10, 0x00, 0x00, 0x00, 0x04, 0x06});
  set(0x0e, {0x01});
  set(0x34, {0x40});
  set(0x40, {0x10, 0x00, 0x02 | port_type << 4, 0x00, 0x02, 0x80, 0x00, 0x00, 0x3f, 0x29});
  set(0x4c, {0x05, 0x01, 0x40, 0x00, 0x40, 0x00, 0x05, 0x11});
  set(0x100, {0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, 0x00, 0x00});
  return config;
}

constexpr const char* kModules[] = {"ib_uverbs", "ib_umad",  "ib_cm",
                                    "rdma_cm",   "rdma_ucm", "8021q"};

}  // namespace

HostTree::HostTree(std::uint32_t number, const std::string& product)
    : fake_(tree_.path()), number_(number) {
  const std::string name = Format("n{}", number);
  File("etc/hostname", name).File("proc/sys/kernel/hostname", name);
  File("etc/machine-id", Format("{:032x}", number));
  File("etc/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04\"");
  File("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt");
  File("proc/sys/kernel/osrelease", "6.8.0-60-generic");
  File("proc/sys/kernel/random/boot_id", Format("11111111-2222-4333-8444-{:012x}", number));
  File("proc/sys/kernel/numa_balancing", "0");
  File("proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units     \n"
       "Max locked memory         unlimited            unlimited            bytes     ");
  File("sys/class/dmi/id/product_name", product).File("sys/class/dmi/id/sys_vendor", "Vendor");
  File("sys/devices/system/node/online", "0").File("sys/devices/system/node/node0/cpulist", "0-63");
  File("sys/module/ib_core/parameters/netns_mode", "Y");
  File("sys/class/infiniband_verbs/abi_version", "6");
  File("sys/kernel/iommu_groups/1/type", "identity");
  for (const char* module : kModules) File(Format("sys/module/{}/refcnt", module), "1");
  File("sys/module/ib_core/refcnt", "1");
  modules_ = "ib_core 32768 1 ib_uverbs, Live 0x0000000000000000\n";
  for (const char* module : kModules)
    modules_ += Format("{} 32768 0 - Live 0x0000000000000000\n", module);
  fake_.verbs.status = fake_.dcb.status = fake_.ethtool.status = fake_.addresses.status =
      fake_.platform.status = Status();
  fake_.platform.clock = {.synchronized = true, .offset = {}, .max_error = {}};
}

HostTree& HostTree::File(const std::string& path, const std::string& line) {
  tree_.File(path, line + "\n");
  return *this;
}

void HostTree::AddBridge(const std::string& path, const std::string& config) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (fake_.root.Has("sys/bus/pci/devices/" + name)) return;
  tree_.Link("sys/bus/pci/devices/" + name, "../../../" + path);
  File("sys/" + path + "/class", "0x060400").File("sys/" + path + "/vendor", "0x8086");
  File("sys/" + path + "/device", "0x352a").File("sys/" + path + "/numa_node", "0");
  for (const char* which : {"current", "max"})
    File(Format("sys/{}/{}_link_speed", path, which), "32.0 GT/s PCIe")
        .File(Format("sys/{}/{}_link_width", path, which), "16");
  if (!config.empty()) tree_.File("sys/" + path + "/config", config);
}

// Returns the directory below them, relative to sys.
std::string HostTree::AddBridges(const Nic& nic) {
  const std::string domain = nic.address.substr(0, 5);
  const auto bus = static_cast<std::uint32_t>(std::stoul(nic.address.substr(5, 2), nullptr, 16));
  if (!nic.below_bridge) return Format("devices/pci{}{:02x}", domain, bus);
  if (nic.bridges.empty()) {
    const std::string path = Format("devices/pci{0}{1:02x}/{0}{1:02x}:01.0", domain, bus - 1);
    AddBridge(path, "");
    return path;
  }
  std::string path = "devices/pci" + nic.bridges.front().substr(0, 7);
  for (std::size_t depth = 0; depth < nic.bridges.size(); ++depth) {
    path += "/" + nic.bridges[depth];
    AddBridge(path, ConfigOfBridge(depth == 0       ? kRootPort
                                   : depth % 2 == 1 ? kUpstream
                                                    : kDownstream));
  }
  return path;
}

// Returns its directory.
std::string HostTree::AddFunction(const Nic& nic, const std::string& class_code) {
  std::string path = AddBridges(nic) + "/" + nic.address;
  tree_.Link("sys/bus/pci/devices/" + nic.address, "../../../" + path);
  path = "sys/" + path;
  std::string up;  // To sys
  for (const char c : path) up += c == '/' ? "../" : "";
  tree_.Link(path + "/driver", up + "bus/pci/drivers/" + nic.driver);
  tree_.Link(path + "/iommu_group", up + "kernel/iommu_groups/1");
  File(path + "/class", class_code).File(path + "/vendor", "0x" + nic.vendor);
  File(path + "/device", "0x" + nic.device).File(path + "/numa_node", "0");
  for (const char* which : {"current", "max"})
    File(Format("{}/{}_link_speed", path, which), "32.0 GT/s PCIe")
        .File(Format("{}/{}_link_width", path, which), "16");
  if (!nic.physical.empty()) tree_.Link(path + "/physfn", "../" + nic.physical);
  File(path + "/sriov_totalvfs", "8");
  File(path + "/sriov_numvfs", Format("{}", nic.virtual_functions));
  return path;
}

void HostTree::AddGid(const std::string& port, const std::string& gid, const std::string& type,
                      const std::string& netdev) {
  File(Format("{}/gids/{}", port, gids_), gid);
  File(Format("{}/gid_attrs/types/{}", port, gids_), type);
  if (!netdev.empty()) File(Format("{}/gid_attrs/ndevs/{}", port, gids_), netdev);
  ++gids_;
}

void HostTree::AddDevice(const Nic& nic, const std::string& function) {
  const std::string device = function + "/infiniband/" + nic.rdma;
  tree_.Link("sys/class/infiniband/" + nic.rdma, "../../" + device.substr(4));
  tree_.Link(device + "/device", "../../../" + nic.address);
  File(Format("sys/class/infiniband_verbs/uverbs{}/ibdev", rail_), nic.rdma);
  File(device + "/node_guid", Guid(number_, rail_));
  File(device + "/sys_image_guid", nic.card_guid.empty() ? Guid(number_, rail_) : nic.card_guid);
  File(device + "/node_type", nic.node_type)
      .File(device + "/node_desc", Format("n{} {}", number_, nic.rdma));
  File(device + "/fw_ver", "28.41.1000");
  if (!nic.board.empty()) File(device + "/board_id", nic.board);
  const std::string port = device + "/ports/1";
  if (nic.link_layer == "InfiniBand")
    File(Format("sys/class/infiniband_mad/umad{}/ibdev", rail_), nic.rdma)
        .File(Format("sys/class/infiniband_mad/umad{}/port", rail_), "1");
  fake_.verbs.dma_bufs[nic.rdma] = true;
  const bool infiniband = nic.link_layer == "InfiniBand";
  File(port + "/state", nic.up ? "4: ACTIVE" : "1: DOWN");
  File(port + "/phys_state", nic.up ? "5: LinkUp" : infiniband ? "2: Polling" : "3: Disabled");
  File(port + "/rate", nic.rate).File(port + "/link_layer", nic.link_layer);
  File(port + "/lid", infiniband && nic.up ? Format("0x{:x}", 16 * number_ + rail_ + 1) : "0x0");
  File(port + "/sm_lid", infiniband && nic.up ? "0x1" : "0x0");
  File(port + "/lid_mask_count", "0").File(port + "/cap_mask", "0x00010000");
  File(port + "/pkeys/0", "0xffff");
  const std::string above = nic.bond.empty() ? nic.netdev : nic.bond;
  gids_ = 0;
  if (nic.gids == Nic::Gids::kOne) {
    AddGid(port,
           infiniband ? "fe80:0000:0000:0000:" + Guid(number_, rail_) : LinkLocal(number_, rail_),
           "IB/RoCE v1", "");
  } else {
    const bool both = nic.gids == Nic::Gids::kV1AndV2;
    for (const std::string& gid : {LinkLocal(number_, rail_), Mapped(number_, rail_)}) {
      if (!nic.up && gid == Mapped(number_, rail_)) continue;
      if (both) AddGid(port, gid, "IB/RoCE v1", above);
      AddGid(port, gid, "RoCE v2", above);
    }
  }
  const std::uint32_t mtu = infiniband || nic.mtu > 4192 ? 4096 : 1024;
  const host::VerbsPort answer{
      .active_mtu_bytes = mtu, .max_mtu_bytes = 4096, .gid_table_length = gids_};
  fake_.verbs.ports[{nic.rdma, 1}] = answer;
  fake_.verbs.devices[nic.rdma].ports = {answer};
  for (std::uint32_t slot = 0; slot < gids_; ++slot)
    fake_.verbs.devices[nic.rdma].gids.push_back({.port = 1, .index = slot});
}

void HostTree::AnswerDcb(const std::string& netdev) {
  host::DcbIeee& dcb = fake_.dcb.ieee[netdev];
  dcb.pfc = host::DcbPfc{};
  dcb.pfc->enabled_mask = 1U << 3;
  dcb.ets = host::DcbEts{};
  for (std::uint8_t tc = 0; tc < 8; ++tc) {
    dcb.ets->tc_algorithm.at(tc) = 2;
    dcb.ets->tc_tx_bandwidth_percent.at(tc) = 12 + tc % 2;
    dcb.ets->priority_to_tc.at(tc) = tc;
  }
  dcb.app = std::vector<host::DcbApp>();
  for (std::uint16_t dscp = 0; dscp < 64; ++dscp)
    dcb.app->push_back(
        {.selector = 5, .priority = static_cast<std::uint8_t>(dscp / 8), .protocol = dscp});
  dcb.dcbx = std::uint8_t{0x0d};
  fake_.ethtool.pauses[netdev] = {};
  fake_.ethtool.links[netdev] = {
      .speed_bps = {}, .speed_max_bps = {}, .lanes = {}, .autonegotiation = true};
  fake_.ethtool.fecs[netdev] = "rs";
}

// Of the last netdev, with the route to its subnet.
void HostTree::AddAddress() {
  fake_.addresses.addresses.push_back({index_, Format("10.{}.0.{}/24", rail_, number_)});
  host::RouteInfo& route = fake_.addresses.routes.emplace_back();
  route.destination = Format("10.{}.0.0/24", rail_);
  route.netdev_index = index_;
  route.table = 254;
  route.scope = "link";
}

void HostTree::AddNetdev(const std::string& path, const std::string& name, const Nic& nic) {
  ++index_;
  tree_.Link("sys/class/net/" + name, "../../" + path.substr(4));
  File(path + "/ifindex", Format("{}", index_)).File(path + "/mtu", Format("{}", nic.mtu));
  File(path + "/address", Mac(number_, rail_)).File(path + "/dev_port", "0");
  File(path + "/operstate", nic.up ? "up" : "down");
  File(path + "/type", nic.link_layer == "InfiniBand" ? "32" : "1");
  if (nic.up) File(path + "/carrier", "1");
  File(path + "/speed", nic.up ? Format("{}", nic.gigabits * 1000) : "-1");
  if (!nic.port_name.empty()) File(path + "/phys_port_name", nic.port_name);
  if (nic.up && nic.bond.empty()) AddAddress();
  fake_.ethtool.drivers[name] = {
      .driver = nic.driver, .version = {}, .firmware = "28.41.1000", .bus_info = {}};
}

HostTree& HostTree::Add(const Nic& nic) {
  const bool infiniband = nic.link_layer == "InfiniBand";
  const std::string function = AddFunction(nic, infiniband ? "0x020700" : "0x020000");
  ++rail_;
  if (!nic.rdma.empty()) AddDevice(nic, function);
  if (nic.netdev.empty()) return *this;
  const std::string path = function + "/net/" + nic.netdev;
  AddNetdev(path, nic.netdev, nic);
  tree_.Link(path + "/device", "../../../" + nic.address);
  if (nic.dcb) AnswerDcb(nic.netdev);
  if (nic.bond.empty()) return *this;
  File(path + "/bonding_slave/state", "active").File(path + "/bonding_slave/mii_status", "up");
  tree_.Link(path + "/master", "../../../../../virtual/net/" + nic.bond);
  tree_.Link(path + "/upper_" + nic.bond, "../../../../../virtual/net/" + nic.bond);
  bonded_.push_back(nic);
  bonded_paths_.push_back(path);
  return *this;
}

HostTree& HostTree::AddRepresentor(const std::string& address, const std::string& netdev,
                                   const std::string& port_name) {
  const auto function = fake_.root.LinkTarget("sys/bus/pci/devices/" + address);
  const std::string path = "sys/" + function->substr(9) + "/net/" + netdev;
  ++rail_;
  Nic nic = {.address = address, .driver = "mlx5_core", .port_name = port_name, .bond = "none"};
  AddNetdev(path, netdev, nic);
  tree_.Link(path + "/device", "../../../" + address);
  return *this;
}

HostTree& HostTree::AddBond(const std::string& name, const std::string& vlan) {
  const std::string path = "sys/devices/virtual/net/" + name;
  std::vector<std::string> members;
  for (std::size_t i = 0; i < bonded_.size(); ++i) {
    members.push_back(bonded_[i].netdev);
    tree_.Link(path + "/lower_" + bonded_[i].netdev, "../../../" + bonded_paths_[i].substr(12));
  }
  Nic upper = bonded_.front();
  upper.bond = name;
  upper.port_name = {};
  AddNetdev(path, name, upper);
  File(path + "/bonding/mode", "802.3ad 4").File(path + "/bonding/mii_status", "up");
  File(path + "/bonding/slaves", Join(members, " "));
  File(path + "/bonding/xmit_hash_policy", "layer3+4 1");
  tree_.Link(path + "/upper_" + vlan, "../" + vlan);
  upper.bond = {};
  AddNetdev("sys/devices/virtual/net/" + vlan, vlan, upper);
  tree_.Link("sys/devices/virtual/net/" + vlan + "/lower_" + name, "../" + name);
  bonded_.clear();
  bonded_paths_.clear();
  return *this;
}

HostTree& HostTree::AddGpu(const std::string& address, const std::string& vendor,
                           const std::string& device, const std::string& driver,
                           const std::vector<std::string>& bridges) {
  AddFunction({.address = address,
               .vendor = vendor,
               .device = device,
               .driver = driver,
               .bridges = bridges},
              vendor == "1002" ? "0x120000" : "0x030200");
  if (driver != "nvidia") return *this;
  // The open module: registers memory as dma-buf.
  File("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build");
  return *this;
}

v1::NodeSnapshot HostTree::Inspected() {
  tree_.File("proc/modules", modules_);
  return inspect::Inspect(fake_.host(),
                          {.node_name = "", .now = WallTime(std::chrono::seconds(1'795'226'400))});
}

}  // namespace fabric::testing
