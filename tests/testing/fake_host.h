// A machine for tests: files from a directory, the rest of the kernel from tables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agents/host/host.h"

namespace fabric::testing {

// Every fake fails with `status` until that is set to Status(); then it answers from its tables,
// with NOT_FOUND for names that are not in them. `Status()` is "OK".
inline Status NotLive() {
  return {Code::kUnimplemented, "not available in a captured tree"};
}

class FakeRdmaNetlink final : public host::RdmaNetlink {
 public:
  Status status = NotLive();
  std::vector<host::RdmaDeviceInfo> devices;
  std::map<std::uint32_t, std::vector<host::RdmaLinkInfo>> links;  // By device index
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<host::NamedCounter>> counters;
  host::RdmaSystemInfo system;
  std::map<std::uint32_t, std::vector<std::uint32_t>> processes;  // PIDs by device index

  Result<std::vector<host::RdmaDeviceInfo>> Devices() override;
  Result<std::vector<host::RdmaLinkInfo>> Links(std::uint32_t device_index) override;
  Result<std::vector<host::NamedCounter>> Counters(std::uint32_t device_index,
                                                   std::uint32_t port) override;
  Result<host::RdmaSystemInfo> System() override;
  Result<std::vector<std::uint32_t>> Processes(std::uint32_t device_index) override;
};

class FakeDcbNetlink final : public host::DcbNetlink {
 public:
  Status status = NotLive();
  std::map<std::string, host::DcbIeee> ieee;  // By netdev; one that is not here has no DCB.
  std::map<std::string, host::DcbCee> cee;

  Result<host::DcbIeee> Ieee(const std::string& netdev) override;
  Result<host::DcbCee> Cee(const std::string& netdev) override;
};

class FakeEthtool final : public host::Ethtool {
 public:
  Status status = NotLive();
  // What Driver() does first: it may block. A failure is the answer.
  std::function<Status(const std::string& netdev)> before_driver;
  Status link_status;                               // A failure is the answer to Link() and Fec().
  std::map<std::string, host::DriverInfo> drivers;  // By netdev
  std::map<std::string, std::vector<host::NamedCounter>> statistics;
  std::map<std::string, host::PauseParameters> pauses;
  std::map<std::string, host::LinkSettings> links;
  std::map<std::string, std::string> fecs;
  std::map<std::string, host::FecModes> fec_modes;
  Status fec_modes_status;
  std::map<std::string, std::vector<host::NamedCounter>> fec_statistics;
  // EEPROMs of modules by netdev; half pages by I2C address, page and offset.
  std::map<std::string, std::map<std::tuple<int, int, int>, std::vector<std::uint8_t>>> modules;
  Status module_status;  // A failure is the answer to ModuleEeprom().
  std::map<std::string, std::uint16_t> pfc_storm_prevention_ms;

  Result<host::DriverInfo> Driver(const std::string& netdev) override;
  Result<std::vector<host::NamedCounter>> Statistics(const std::string& netdev) override;
  Result<std::vector<std::string>> StatisticNames(const std::string& netdev) override;
  Status StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) override;
  Result<host::PauseParameters> Pause(const std::string& netdev) override;
  Result<host::LinkSettings> Link(const std::string& netdev) override;
  Result<std::string> Fec(const std::string& netdev) override;
  Result<host::FecModes> FecModes(const std::string& netdev) override;
  Result<std::vector<host::NamedCounter>> FecStatistics(const std::string& netdev) override;
  Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string& netdev,
                                                 const host::ModulePlace& place) override;
  Result<std::uint16_t> PfcStormPreventionMs(const std::string& netdev) override;
};

class FakeAddressNetlink final : public host::AddressNetlink {
 public:
  Status status = NotLive();
  std::vector<host::InterfaceAddress> addresses;
  std::map<std::uint32_t, host::VlanInfo> vlans;  // By index of the netdev
  std::vector<host::RouteInfo> routes;
  std::vector<host::RuleInfo> rules;
  std::vector<host::NeighborInfo> neighbors;

  Result<std::vector<host::InterfaceAddress>> Addresses() override;
  Result<host::VlanInfo> Vlan(std::uint32_t netdev_index) override;
  Result<std::vector<host::RouteInfo>> Routes() override;
  Result<std::vector<host::RuleInfo>> Rules() override;
  Result<std::vector<host::NeighborInfo>> Neighbors() override;
};

// Port attributes only; see fake_verbs.h for queue pairs.
class FakePortVerbs final : public host::Verbs {
 public:
  Status status = NotLive();
  std::map<std::pair<std::string, std::uint32_t>, host::VerbsPort> ports;  // By device and port
  std::map<std::string, host::VerbsDevice> devices;
  std::map<std::string, bool> dma_bufs;  // By device

  Result<host::VerbsPort> QueryPort(const std::string& device, std::uint32_t port) override;
  Result<host::VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) override;
  Result<std::unique_ptr<host::RcQueuePairs>> OpenRc(const host::RcOptions& options) override;
  Result<std::unique_ptr<host::UdQueuePairs>> OpenUd(const host::UdOptions& options) override;
  Result<bool> TakesDmaBuf(const std::string& device) override;
};

class FakeGpuManagement final : public host::GpuManagement {
 public:
  Status status = NotLive();
  host::GpuManagementInfo info;
  int reads = 0;  // How often it was asked.

  Result<host::GpuManagementInfo> Read() override;
};

class FakePlatform final : public host::Platform {
 public:
  Status status = NotLive();
  host::ClockState clock;
  std::string hypervisor = "none";

  Result<host::ClockState> Clock() override;
  Result<std::string> Hypervisor() override;
};

class FakeKernelLog final : public host::KernelLog {
 public:
  Status status = NotLive();
  host::KernelLogView view;

  Result<host::KernelLogView> Read() override;
};

class FakeLldp final : public host::Lldp {
 public:
  Status status = NotLive();
  host::LldpView view;
  std::vector<std::string> listened;  // Netdevs of the last call

  Result<host::LldpView> Neighbors(std::span<const std::string> netdevs) override;
};

struct FakeHost {
  explicit FakeHost(const std::string& root_path);  // Throws when it cannot be opened.

  // Borrows this object. Not captured when any fake has been made to answer.
  host::Host host();

  host::Dir root;
  FakeRdmaNetlink rdma;
  FakeDcbNetlink dcb;
  FakeEthtool ethtool;
  FakePlatform platform;
  FakeKernelLog kernel_log;
  FakeLldp lldp;
  FakeAddressNetlink addresses;
  FakePortVerbs verbs;
  FakeGpuManagement gpu_management;
  const host::Pods* pods = nullptr;
};

}  // namespace fabric::testing
