#include "agents/inspect/rdma.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::inspect {
namespace {

template <class Predicate>
bool AnyPort(const v1::NodeSnapshot& snapshot, Predicate predicate) {
  return std::any_of(snapshot.rdma_devices().begin(), snapshot.rdma_devices().end(),
                     [&](const v1::RdmaDevice& device) {
                       return std::any_of(device.ports().begin(), device.ports().end(), predicate);
                     });
}

}  // namespace

std::string RdmaPath(const v1::RdmaDevice& device) {
  return "sys/class/infiniband/" + device.name();
}

std::string PortPath(const v1::RdmaDevice& device, const v1::Port& port) {
  return Format("{}/ports/{}", RdmaPath(device), port.number());
}

void ForEachSamePort(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot,
                     const std::function<void(v1::Port& before, v1::Port& port)>& keep) {
  std::map<std::pair<std::string, std::uint32_t>, v1::Port*> ports;
  for (v1::RdmaDevice& device : *previous.mutable_rdma_devices())
    for (v1::Port& port : *device.mutable_ports()) ports[{device.name(), port.number()}] = &port;
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices())
    for (v1::Port& port : *device.mutable_ports())
      if (const auto before = ports.find({device.name(), port.number()}); before != ports.end())
        keep(*before->second, port);
}

std::map<std::string, host::RdmaDeviceInfo> NetlinkDevices(const Host& host) {
  std::map<std::string, host::RdmaDeviceInfo> by_name;
  Result<std::vector<host::RdmaDeviceInfo>> devices = host.rdma.Devices();
  if (!devices.ok()) return by_name;
  for (host::RdmaDeviceInfo& device : *devices) by_name[device.name] = std::move(device);
  return by_name;
}

bool CarriesRdma(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  return AnyPort(snapshot, [&](const v1::Port& port) {
    return port.netdev() == netdev ||
           std::any_of(port.gids().begin(), port.gids().end(),
                       [&](const v1::Gid& gid) { return gid.netdev() == netdev; });
  });
}

bool IsNetdevOfRoce(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  const v1::NetInterface* const found = FindNetdev(snapshot, netdev);
  const std::string_view master = found == nullptr ? std::string_view() : found->master();
  return AnyPort(snapshot, [&](const v1::Port& port) {
    const bool member = port.lag().formed() && port.netdev() == master;
    return (port.netdev() == netdev || member) && port.link_layer() != v1::LINK_LAYER_INFINIBAND;
  });
}

v1::CounterSet& PortCounters(v1::NodeSnapshot& snapshot, const std::string& device,
                             std::uint32_t port) {
  for (v1::CounterSet& set : *snapshot.mutable_counters())
    if (set.device() == device && set.port() == port) return set;
  v1::CounterSet& set = *snapshot.add_counters();
  set.set_device(device);
  set.set_port(port);
  return set;
}

v1::CounterSet& NetdevCounters(v1::NodeSnapshot& snapshot, const std::string& netdev) {
  for (v1::CounterSet& set : *snapshot.mutable_counters())
    if (set.netdev() == netdev) return set;
  v1::CounterSet& set = *snapshot.add_counters();
  set.set_netdev(netdev);
  return set;
}

}  // namespace fabric::inspect
