// Healthy hosts as the kernel shows them: files of sysfs and procfs, and what netlink, ethtool and
// verbs answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/inspect/inspector.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

// One PCI function, with its RDMA device and netdev where it has these.
struct Nic {
  std::string address;  // "0000:17:00.0"
  std::string vendor;   // "15b3"
  std::string device;
  std::string driver;
  std::string rdma = {};    // "mlx5_0"
  std::string netdev = {};  // "ens1np0"
  std::string link_layer = "Ethernet";
  std::string node_type = "1: CA";
  std::string rate = "400 Gb/sec (4X NDR)";
  enum class Gids : std::uint8_t { kV1AndV2, kV2, kOne } gids = Gids::kV1AndV2;
  std::uint32_t gigabits = 400;
  std::uint32_t mtu = 9000;
  bool up = true;
  bool dcb = true;           // Lossless on priority 3, trust DSCP
  bool below_bridge = true;  // Guests see functions on the root bus.
  // Bridges above it, from the root port on, with the ports of a switch below that; empty: a root
  // port of its own.
  std::vector<std::string> bridges = {};
  std::string physical = {};  // Address of the physical function of a virtual one
  std::uint32_t virtual_functions = 0;
  std::string board = {};      // PSID; not every driver has it
  std::string port_name = {};  // "p0", "pf0vf1"
  std::string bond = {};       // Netdev above
  std::string card_guid = {};  // Of all functions of a card; empty: the function's own
};

class HostTree {
 public:
  // Node "n<number>": hosts with different numbers have different addresses.
  HostTree(std::uint32_t number, const std::string& product);

  HostTree& Add(const Nic& nic);
  HostTree& AddGpu(const std::string& address, const std::string& vendor, const std::string& device,
                   const std::string& driver, const std::vector<std::string>& bridges = {});
  // Netdev of the switch side of another function, on the function of the uplink.
  HostTree& AddRepresentor(const std::string& address, const std::string& netdev,
                           const std::string& port_name);
  // Of the functions with this bond, which were added after the last one; `vlan` above it has the
  // address.
  HostTree& AddBond(const std::string& name, const std::string& vlan);
  std::uint32_t number() const { return number_; }
  HostTree& File(const std::string& path, const std::string& line);

  v1::NodeSnapshot Inspected();

 private:
  std::string AddFunction(const Nic& nic, const std::string& class_code);
  std::string AddBridges(const Nic& nic);
  void AddBridge(const std::string& path, const std::string& config);
  void AddDevice(const Nic& nic, const std::string& function);
  void AddGid(const std::string& port, const std::string& gid, const std::string& type,
              const std::string& netdev);
  void AddNetdev(const std::string& path, const std::string& name, const Nic& nic);
  void AddAddress();
  void AnswerDcb(const std::string& netdev);

  TempTree tree_;
  FakeHost fake_;
  std::uint32_t number_;
  std::uint32_t index_ = 1;  // Of the last netdev
  std::uint32_t rail_ = 0;
  std::uint32_t gids_ = 0;
  std::string modules_;
  std::vector<Nic> bonded_;
  std::vector<std::string> bonded_paths_;
};

}  // namespace fabric::testing
