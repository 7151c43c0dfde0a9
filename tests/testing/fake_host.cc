#include "tests/testing/fake_host.h"

#include <stdexcept>

#include "agents/host/verbs/queue_pairs.h"
#include "base/text.h"

namespace fabric::testing {
namespace {

host::Dir OpenRoot(const std::string& path) {
  Result<host::Dir> root = host::Dir::Open(path);
  if (!root.ok()) throw std::runtime_error(root.status().message());
  return *std::move(root);
}

template <class Map, class Key>
Result<typename Map::mapped_type> Find(const Status& status, const Map& map, const Key& key,
                                       Code absent) {
  if (!status.ok()) return status;
  const auto found = map.find(key);
  if (found == map.end()) return Status(absent, "not in the table of the fake");
  return found->second;
}

}  // namespace

Result<std::vector<host::RdmaDeviceInfo>> FakeRdmaNetlink::Devices() {
  if (!status.ok()) return status;
  return devices;
}

Result<std::vector<host::RdmaLinkInfo>> FakeRdmaNetlink::Links(std::uint32_t device_index) {
  return Find(status, links, device_index, Code::kNotFound);
}

Result<std::vector<host::NamedCounter>> FakeRdmaNetlink::Counters(std::uint32_t device_index,
                                                                  std::uint32_t port) {
  return Find(status, counters, std::pair(device_index, port), Code::kUnimplemented);
}

Result<host::RdmaSystemInfo> FakeRdmaNetlink::System() {
  if (!status.ok()) return status;
  return system;
}

Result<host::DcbIeee> FakeDcbNetlink::Ieee(const std::string& netdev) {
  return Find(status, ieee, netdev, Code::kUnimplemented);
}

Result<host::DcbCee> FakeDcbNetlink::Cee(const std::string& netdev) {
  return Find(status, cee, netdev, Code::kUnimplemented);
}

Result<host::DriverInfo> FakeEthtool::Driver(const std::string& netdev) {
  if (before_driver) RETURN_IF_ERROR(before_driver(netdev));
  return Find(status, drivers, netdev, Code::kUnimplemented);
}

Result<std::vector<host::NamedCounter>> FakeEthtool::Statistics(const std::string& netdev) {
  return Find(status, statistics, netdev, Code::kUnimplemented);
}

Result<std::vector<std::string>> FakeEthtool::StatisticNames(const std::string& netdev) {
  ASSIGN_OR_RETURN(const std::vector<host::NamedCounter> counters, Statistics(netdev));
  std::vector<std::string> names;
  for (const host::NamedCounter& counter : counters) names.push_back(counter.name);
  return names;
}

Status FakeEthtool::StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) {
  ASSIGN_OR_RETURN(const std::vector<host::NamedCounter> counters, Statistics(netdev));
  values.clear();
  for (const host::NamedCounter& counter : counters) values.push_back(counter.value);
  return {};
}

Result<host::PauseParameters> FakeEthtool::Pause(const std::string& netdev) {
  return Find(status, pauses, netdev, Code::kUnimplemented);
}

Result<std::uint16_t> FakeEthtool::PfcStormPreventionMs(const std::string& netdev) {
  return Find(status, pfc_storm_prevention_ms, netdev, Code::kUnimplemented);
}

Result<host::LinkSettings> FakeEthtool::Link(const std::string& netdev) {
  RETURN_IF_ERROR(link_status);
  return Find(status, links, netdev, Code::kUnimplemented);
}

Result<std::string> FakeEthtool::Fec(const std::string& netdev) {
  RETURN_IF_ERROR(link_status);
  return Find(status, fecs, netdev, Code::kUnimplemented);
}

Result<host::FecModes> FakeEthtool::FecModes(const std::string& netdev) {
  RETURN_IF_ERROR(fec_modes_status);
  return Find(status, fec_modes, netdev, Code::kUnimplemented);
}

Result<std::vector<host::NamedCounter>> FakeEthtool::FecStatistics(const std::string& netdev) {
  return Find(status, fec_statistics, netdev, Code::kUnimplemented);
}

Result<std::vector<std::uint8_t>> FakeEthtool::ModuleEeprom(const std::string& netdev,
                                                            const host::ModulePlace& place) {
  if (!module_status.ok()) return module_status;
  const auto found = modules.find(netdev);
  if (!status.ok() || found == modules.end())
    return Find(status, std::map<std::string, std::vector<std::uint8_t>>(), netdev,
                Code::kUnimplemented);
  return Find(
      status, found->second,
      std::tuple<int, int, int>(place.i2c_address, place.page, static_cast<int>(place.offset)),
      Code::kUnavailable);
}

Result<host::VlanInfo> FakeAddressNetlink::Vlan(std::uint32_t netdev_index) {
  return Find(status, vlans, netdev_index, Code::kNotFound);
}

Result<std::vector<host::InterfaceAddress>> FakeAddressNetlink::Addresses() {
  if (!status.ok()) return status;
  return addresses;
}

Result<std::vector<std::uint32_t>> FakeRdmaNetlink::Processes(std::uint32_t device_index) {
  return Find(status, processes, device_index, Code::kUnimplemented);
}

Result<std::vector<host::RouteInfo>> FakeAddressNetlink::Routes() {
  if (!status.ok()) return status;
  return routes;
}

Result<std::vector<host::RuleInfo>> FakeAddressNetlink::Rules() {
  if (!status.ok()) return status;
  return rules;
}

Result<std::vector<host::NeighborInfo>> FakeAddressNetlink::Neighbors() {
  if (!status.ok()) return status;
  return neighbors;
}

Result<host::VerbsPort> FakePortVerbs::QueryPort(const std::string& device, std::uint32_t port) {
  return Find(status, ports, std::pair(device, port), Code::kNotFound);
}

Result<host::VerbsDevice> FakePortVerbs::QueryDevice(const std::string& device, std::uint32_t) {
  return Find(status, devices, device, Code::kNotFound);
}

Result<std::unique_ptr<host::RcQueuePairs>> FakePortVerbs::OpenRc(const host::RcOptions&) {
  return Status(Code::kUnimplemented, "the fake opens no queue pairs");
}

Result<std::unique_ptr<host::UdQueuePairs>> FakePortVerbs::OpenUd(const host::UdOptions&) {
  return Status(Code::kUnimplemented, "the fake opens no queue pairs");
}

Result<bool> FakePortVerbs::TakesDmaBuf(const std::string& device) {
  return Find(status, dma_bufs, device, Code::kNotFound);
}

Result<host::GpuManagementInfo> FakeGpuManagement::Read() {
  ++reads;
  if (!status.ok()) return status;
  return info;
}

Result<host::ClockState> FakePlatform::Clock() {
  if (!status.ok()) return status;
  return clock;
}

Result<std::string> FakePlatform::Hypervisor() {
  if (!status.ok()) return status;
  return hypervisor;
}

Result<host::KernelLogView> FakeKernelLog::Read() {
  if (!status.ok()) return status;
  return view;
}

Result<host::LldpView> FakeLldp::Neighbors(std::span<const std::string> netdevs) {
  listened.assign(netdevs.begin(), netdevs.end());
  if (!status.ok()) return status;
  return view;
}

FakeHost::FakeHost(const std::string& root_path) : root(OpenRoot(root_path)) {}

host::Host FakeHost::host() {
  const bool live = platform.status.ok() || kernel_log.status.ok() || lldp.status.ok() ||
                    rdma.status.ok() || dcb.status.ok() || ethtool.status.ok() ||
                    addresses.status.ok() || verbs.status.ok() || gpu_management.status.ok();
  return {.root = root,
          .captured = !live,
          .rdma = rdma,
          .dcb = dcb,
          .ethtool = ethtool,
          .platform = platform,
          .kernel_log = kernel_log,
          .lldp = lldp,
          .addresses = addresses,
          .verbs = verbs,
          .gpu_management = gpu_management,
          .pods = pods};
}

}  // namespace fabric::testing
