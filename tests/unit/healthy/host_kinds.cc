#include "tests/unit/healthy/host_kinds.h"

#include "base/text.h"
#include "tests/unit/healthy/host_tree.h"

namespace fabric::testing {
namespace {

using Gids = Nic::Gids;

Nic ConnectX7(int number) {
  return {.address = Format("0000:{:02x}:00.0", 0x17 + 0x10 * number),
          .vendor = "15b3",
          .device = "1021",
          .driver = "mlx5_core",
          .rdma = Format("mlx5_{}", number),
          .netdev = Format("ens{}np0", number + 1),
          .board = "MT_0000000838",
          .port_name = "p0"};
}

Nic AsInfiniband(Nic nic) {
  nic.link_layer = "InfiniBand";
  nic.gids = Gids::kOne;
  nic.mtu = 4092;
  nic.dcb = false;
  nic.port_name = {};
  return nic;
}

// Ethernet for management: no RDMA.
Nic Management() {
  return {.address = "0000:05:00.0",
          .vendor = "8086",
          .device = "1563",
          .driver = "ixgbe",
          .netdev = "eno1",
          .gigabits = 10,
          .mtu = 1500,
          .dcb = false};
}

void Broadcom(HostTree& host) {
  for (int i = 0; i < 2; ++i) {
    const std::string cc = Format("sys/kernel/config/bnxt_re/bnxt_re{}/ports/1/cc/", i);
    host.Add({.address = Format("0000:{:02x}:00.0", 0x17 + 0x10 * i),
              .vendor = "14e4",
              .device = "1760",
              .driver = "bnxt_en",
              .rdma = Format("bnxt_re{}", i),
              .netdev = Format("ens{}np0", i + 1)});
    // The operator created some of the directories.
    if (i == 1 || host.number() % 4 == 3) continue;
    if (host.number() % 4 == 2)
      host.File(Format("sys/kernel/debug/bnxt_re/bnxt_re{}/info", i),
                "fw_service_prof_type_sup : 0");
    host.File(cc + "ecn_enable", "0x1").File(cc + "cnp_dscp", "0x30").File(cc + "cnp_prio", "0x6");
    host.File(cc + "roce_dscp", "0x1a").File(cc + "roce_prio", "0x3").File(cc + "cc_mode", "0x1");
  }
}

void IntelRoce(HostTree& host) {
  for (int i = 0; i < 2; ++i)
    host.Add({.address = Format("0000:17:00.{}", i),
              .vendor = "8086",
              .device = "1592",
              .driver = "ice",
              .rdma = Format("rocep23s0f{}", i),
              .netdev = Format("ens1f{}np{}", i, i),
              .rate = "100 Gb/sec (4X EDR)",
              .gids = Gids::kV2,
              .gigabits = 100,
              .up = i == 0,
              .port_name = Format("p{}", i)});
}

void IntelIwarp(HostTree& host) {
  host.Add({.address = "0000:17:00.0",
            .vendor = "8086",
            .device = "1592",
            .driver = "ice",
            .rdma = "iwp23s0f0",
            .netdev = "ens1f0np0",
            .node_type = "4: RNIC",
            .rate = "100 Gb/sec (4X EDR)",
            .gids = Gids::kOne,
            .gigabits = 100,
            .dcb = false});
}

void Efa(HostTree& host) {
  for (int i = 0; i < 4; ++i)
    host.Add({.address = Format("0000:{:02x}:00.0", 0x50 + 0x10 * i),
              .vendor = "1d0f",
              .device = "efa2",
              .driver = "efa",
              .rdma = Format("rdmap{}s0", 80 + 16 * i),
              .link_layer = "Unspecified",
              .node_type = "7: unspecified",
              .rate = "100 Gb/sec (4X EDR)",
              .gids = Gids::kOne,
              .dcb = false,
              .below_bridge = false});
  host.File("sys/class/dmi/id/sys_vendor", "Amazon EC2");
  for (int i = 0; i < 4; ++i)
    host.AddGpu(Format("0000:{:02x}:00.0", 0x53 + 0x10 * i), "10de", "2330", "nvidia");
}

// Containers use them; one belongs to a virtual machine. Their number differs.
void VirtualFunctions(HostTree& host) {
  Nic physical = ConnectX7(0);
  const int functions = 1 + static_cast<int>(host.number() % 3);
  physical.virtual_functions = static_cast<std::uint32_t>(functions) + 1;
  host.Add(physical);
  host.Add({.address = Format("0000:17:00.{}", functions + 1),
            .vendor = "15b3",
            .device = "101e",
            .driver = "vfio-pci",
            .physical = physical.address});
  for (int i = 1; i <= functions; ++i)
    host.Add({.address = Format("0000:17:00.{}", i),
              .vendor = "15b3",
              .device = "101e",
              .driver = "mlx5_core",
              .rdma = Format("mlx5_{}", i),
              .netdev = Format("ens1v{}", i - 1),
              .dcb = false,
              .physical = physical.address});
}

void GuestWithVirtualFunction(HostTree& host) {
  host.File("sys/class/dmi/id/sys_vendor", "QEMU");
  host.Add({.address = "0000:07:00.0",
            .vendor = "15b3",
            .device = "101e",
            .driver = "mlx5_core",
            .rdma = "mlx5_0",
            .netdev = "ens7",
            .dcb = false,
            .below_bridge = false});
}

void Bond(HostTree& host) {
  for (int i = 0; i < 2; ++i)
    host.Add({.address = Format("0000:17:00.{}", i),
              .vendor = "15b3",
              .device = "101d",
              .driver = "mlx5_core",
              .rdma = i == 0 ? "mlx5_bond_0" : "",
              .netdev = Format("ens1f{}np{}", i, i),
              .rate = "100 Gb/sec (4X EDR)",
              .gigabits = 100,
              .board = "MT_0000000359",
              .port_name = Format("p{}", i),
              .bond = "bond0"});
  host.AddBond("bond0", "bond0.100");
}

// On the processor of the DPU: uplinks and the representors of the host's functions.
void BlueField(HostTree& host) {
  for (int i = 0; i < 2; ++i) {
    const std::string address = Format("0000:03:00.{}", i);
    host.Add({.address = address,
              .vendor = "15b3",
              .device = "a2dc",
              .driver = "mlx5_core",
              .rdma = Format("mlx5_{}", i),
              .netdev = Format("p{}", i),
              .board = "MT_0000000884",
              .port_name = Format("p{}", i)});
    host.AddRepresentor(address, Format("pf{}hpf", i), Format("pf{}", i));
  }
}

// One card in two slots: a function on each socket. Two hosts share a card.
void SocketDirect(HostTree& host) {
  for (int i = 0; i < 2; ++i) {
    Nic nic = ConnectX7(i);
    nic.board = "MT_0000000834";
    nic.card_guid = Format("88e9:a400:0000:{:04x}", (host.number() - 1) / 2);
    host.Add(nic);
  }
}

void GraceHopper(HostTree& host) {
  host.File("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu.passthrough=1");
  host.File("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f");
  host.AddGpu("0009:01:00.0", "10de", "2342", "nvidia");
  Nic nic = AsInfiniband(ConnectX7(0));
  nic.address = "0000:01:00.0";
  nic.netdev = "ibp1s0";
  host.Add(nic);
}

void AmdPollara(HostTree& host) {
  for (int i = 0; i < 4; ++i) {
    host.AddGpu(Format("0000:{:02x}:00.0", 0x12 + 0x20 * i), "1002", "74a1", "amdgpu");
    host.Add({.address = Format("0000:{:02x}:00.0", 0x16 + 0x20 * i),
              .vendor = "1dd8",
              .device = "1002",
              .driver = "ionic",
              .rdma = Format("ionic_{}", i),
              .netdev = Format("benic{}p1", i + 1),
              .gids = Gids::kV2,
              .dcb = false});
  }
}

// A NIC for NFS over RDMA in addition to InfiniBand.
void StorageNic(HostTree& host) {
  for (int i = 0; i < 4; ++i) {
    host.AddGpu(Format("0000:{:02x}:00.0", 0x1b + 0x10 * i), "10de", "2330", "nvidia");
    Nic nic = AsInfiniband(ConnectX7(i));
    nic.netdev = Format("ibp{}s0", 0x17 + 0x10 * i);
    host.Add(nic);
  }
  host.Add({.address = "0000:a1:00.0",
            .vendor = "15b3",
            .device = "101d",
            .driver = "mlx5_core",
            .rdma = "mlx5_4",
            .netdev = "ens9np0",
            .rate = "100 Gb/sec (4X EDR)",
            .gigabits = 100,
            .board = "MT_0000000359",
            .port_name = "p0"});
  host.File("proc/mounts",
            "10.5.0.200:/data /data nfs4 rw,vers=4.2,proto=rdma,port=20049,addr=10.5.0.200 0 0");
}

void UnusedInfinibandPort(HostTree& host) {
  for (int i = 0; i < 2; ++i) {
    Nic nic = AsInfiniband(ConnectX7(0));
    nic.address = Format("0000:17:00.{}", i);
    nic.rdma = Format("mlx5_{}", i);
    nic.netdev = Format("ibp23s0f{}", i);
    nic.up = i == 0;
    if (i == 1) nic.rate = "10 Gb/sec (4X SDR)";
    host.Add(nic);
  }
}

void AzureMana(HostTree& host) {
  host.File("sys/class/dmi/id/sys_vendor", "Microsoft Corporation");
  host.File("sys/class/dmi/id/product_name", "Virtual Machine");
  host.Add({.address = "7870:00:00.0",
            .vendor = "1414",
            .device = "00ba",
            .driver = "mana",
            .rdma = "mana_0",
            .netdev = "enP30832s1",
            .rate = "200 Gb/sec (4X HDR)",
            .gids = Gids::kV2,
            .gigabits = 200,
            .mtu = 1500,
            .dcb = false,
            .below_bridge = false});
}

void NoRdma(HostTree& host) {
  host.Add(Management());
}

void LoneNic(HostTree& host) {
  host.Add(ConnectX7(0)).Add(Management());
}

// Virtual machines have all GPUs.
void Hypervisor(HostTree& host) {
  for (int i = 0; i < 2; ++i) {
    host.AddGpu(Format("0000:{:02x}:00.0", 0x1b + 0x10 * i), "10de", "2330", "vfio-pci");
    host.Add(ConnectX7(i));
  }
}

// A GPU and a NIC below each switch.
void SwitchedGpus(HostTree& host) {
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int bus, int slot) {
      return Format("0000:{:02x}:{:02x}.0", 0x15 + 0x10 * i + bus, slot);
    };
    Nic nic = ConnectX7(i);
    nic.address = at(3, 0);
    nic.bridges = {at(0, 1), at(1, 0), at(2, 0)};
    host.Add(nic).AddGpu(at(4, 0), "10de", "2330", "nvidia", {at(0, 1), at(1, 0), at(2, 1)});
  }
}

// Containers use the virtual functions of InfiniBand.
void InfinibandVirtualFunctions(HostTree& host) {
  for (int i = 0; i < 3; ++i) {
    Nic nic = AsInfiniband(ConnectX7(0));
    nic.address = Format("0000:17:00.{}", i);
    nic.rdma = Format("mlx5_{}", i);
    nic.netdev = i == 0 ? "ibp23s0" : Format("ibp23s0v{}", i - 1);
    if (i == 0) nic.virtual_functions = 2;
    if (i > 0) {
      nic.device = "101e";
      nic.physical = "0000:17:00.0";
    }
    host.Add(nic);
  }
}

void BroadcomBond(HostTree& host) {
  for (int i = 0; i < 2; ++i)
    host.Add({.address = Format("0000:17:00.{}", i),
              .vendor = "14e4",
              .device = "1760",
              .driver = "bnxt_en",
              .rdma = i == 0 ? "bnxt_re_bond0" : "",
              .netdev = Format("ens1f{}np{}", i, i),
              .rate = "200 Gb/sec (4X HDR)",
              .gigabits = 200,
              .port_name = Format("p{}", i),
              .bond = "bond0"});
  host.AddBond("bond0", "bond0.100");
}

// Each card is a rail, with its two ports in a bond. GPUs are below the same switches.
void BondOfEachCard(HostTree& host) {
  for (int card = 0; card < 2; ++card) {
    const auto at = [&](int bus, int slot) {
      return Format("0000:{:02x}:{:02x}.0", 0x15 + 0x10 * card + bus, slot);
    };
    const std::string bond = Format("bond{}", card);
    for (int i = 0; i < 2; ++i)
      host.Add({.address = Format("0000:{:02x}:00.{}", 0x18 + 0x10 * card, i),
                .vendor = "15b3",
                .device = "101d",
                .driver = "mlx5_core",
                .rdma = i == 0 ? Format("mlx5_bond_{}", card) : "",
                .netdev = Format("ens{}f{}np{}", card + 1, i, i),
                .rate = "200 Gb/sec (4X HDR)",
                .gigabits = 200,
                .bridges = {at(0, 1), at(1, 0), at(2, 0)},
                .board = "MT_0000000359",
                .port_name = Format("p{}", i),
                .bond = bond});
    host.AddBond(bond, bond + ".100")
        .AddGpu(at(4, 0), "10de", "2330", "nvidia", {at(0, 1), at(1, 0), at(2, 1)});
  }
}

// Both ports of each card are in use, for two planes of the fabric.
void TwoPlanes(HostTree& host) {
  for (int card = 0; card < 2; ++card)
    for (int i = 0; i < 2; ++i) {
      Nic nic = ConnectX7(card);
      nic.address = Format("0000:{:02x}:00.{}", 0x17 + 0x10 * card, i);
      nic.rdma = Format("mlx5_{}", 2 * card + i);
      nic.netdev = Format("ens{}f{}np{}", card + 1, i, i);
      nic.port_name = Format("p{}", i);
      nic.rate = "200 Gb/sec (4X HDR)";
      nic.gigabits = 200;
      host.Add(nic);
    }
}

// InfiniBand below switches with the GPUs, and two Ethernet cards for storage, of which one is
// used.
void LargeGpuNode(HostTree& host) {
  for (int i = 0; i < 8; ++i) {
    const auto at = [&](int bus, int slot) {
      return Format("0000:{:02x}:{:02x}.0", 0x15 + 0x10 * i + bus, slot);
    };
    Nic nic = AsInfiniband(ConnectX7(i));
    nic.address = at(3, 0);
    nic.netdev = Format("ibp{}s0", 0x18 + 0x10 * i);
    nic.bridges = {at(0, 1), at(1, 0), at(2, 0)};
    host.Add(nic).AddGpu(at(4, 0), "10de", "2330", "nvidia", {at(0, 1), at(1, 0), at(2, 1)});
  }
  for (int i = 0; i < 2; ++i)
    host.Add({.address = Format("0000:{:02x}:00.0", 0xa1 + 0x10 * i),
              .vendor = "15b3",
              .device = "101d",
              .driver = "mlx5_core",
              .rdma = Format("mlx5_{}", 8 + i),
              .netdev = Format("ens{}np0", 11 + i),
              .rate = i == 0 ? "100 Gb/sec (4X EDR)" : "40 Gb/sec (4X QDR)",
              .gigabits = 100,
              .mtu = 1500,
              .up = i == 0,
              .dcb = false,
              .board = "MT_0000000359",
              .port_name = "p0"});
  host.File("proc/mounts",
            "10.9.0.200:/data /data nfs4 rw,vers=4.2,proto=tcp,port=2049,addr=10.9.0.200 0 0");
}

struct Builder {
  HostKind kind;
  void (*build)(HostTree&);
};

constexpr Builder kBuilders[] = {
    {{"Broadcom Thor2, two ports", "dcqcn_parameters_equal"}, Broadcom},
    {{"Intel E810, RoCE"}, IntelRoce},
    {{"Intel E810, iWARP"}, IntelIwarp},
    {{"AWS EFA"}, Efa},
    {{"ConnectX-7 with virtual functions"}, VirtualFunctions},
    {{"guest with a virtual function", "pfc_equal_on_rail"}, GuestWithVirtualFunction},
    {{"LACP bond with VLAN"}, Bond},
    {{"BlueField-3, DPU mode"}, BlueField},
    {{"Socket Direct"}, SocketDirect},
    {{"Grace Hopper"}, GraceHopper},
    {{"MI300X with Pollara", "pfc_equal_on_rail"}, AmdPollara},
    {{"InfiniBand and a storage NIC"}, StorageNic},
    {{"InfiniBand, one port unused"}, UnusedInfinibandPort},
    {{"Azure MANA", "pfc_equal_on_rail"}, AzureMana},
    {{"no RDMA", "rdma_device_present"}, NoRdma},
    {{"one NIC, no GPU"}, LoneNic},
    {{"hypervisor"}, Hypervisor},
    {{"GPUs and NICs below switches"}, SwitchedGpus},
    {{"InfiniBand with virtual functions"}, InfinibandVirtualFunctions},
    {{"Broadcom Thor2, bond"}, BroadcomBond},
    {{"a bond of each card"}, BondOfEachCard},
    {{"two planes"}, TwoPlanes},
    {{"eight GPUs, InfiniBand and Ethernet"}, LargeGpuNode}};

constexpr std::uint32_t kNodes = 4;

}  // namespace

const std::vector<HostFleet>& HealthyFleets() {
  static const std::vector<HostFleet> kFleets = [] {
    std::vector<HostFleet> fleets;
    std::uint32_t number = 0;
    for (const Builder& builder : kBuilders) {
      fleets.push_back({.kind = builder.kind});
      HostFleet& fleet = fleets.back();
      for (std::uint32_t node = 0; node < kNodes; ++node) {
        HostTree host(++number, builder.kind.name);
        builder.build(host);
        fleet.nodes.push_back(host.Inspected());
      }
    }
    return fleets;
  }();
  return kFleets;
}

}  // namespace fabric::testing
