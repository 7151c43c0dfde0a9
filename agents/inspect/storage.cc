#include <algorithm>
#include <set>
#include <tuple>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/parse/storage_texts.h"
#include "agents/inspect/rdma.h"
#include "base/ids.h"
#include "base/text.h"
#include "proto/routes.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kStorageName = "storage";
constexpr int kUsesMax = 256;

using Uses = std::vector<v1::StorageUse>;

void ReadMounts(const Host& host, Uses& uses) {
  for (const char* path : {"proc/self/mounts", "proc/mounts"}) {
    const Result<std::string> text = host.root.Whole(path);
    if (!text.ok()) continue;
    for (v1::StorageUse& use : StorageOfMounts(*text)) uses.push_back(std::move(use));
    return;
  }
}

void ReadNvme(const Host& host, Uses& uses) {
  const Result<Dir> controllers = host.root.Sub("sys/class/nvme");
  const auto names = controllers.ok() ? controllers->Names() : controllers.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const Result<std::string> transport = controllers->Text(name + "/transport");
    if (!transport.ok() || (*transport != "rdma" && *transport != "tcp")) continue;
    v1::StorageUse& use = uses.emplace_back();
    use.set_kind(*transport == "rdma" ? v1::STORAGE_KIND_NVME_RDMA : v1::STORAGE_KIND_NVME_TCP);
    use.set_name(name);
    if (const auto address = controllers->Text(name + "/address"); address.ok())
      ApplyNvmeAddress(*address, use);
    if (const auto state = controllers->Text(name + "/state"); state.ok()) use.set_state(*state);
  }
}

void ReadLustreAndGpu(const Host& host, Uses& uses) {
  if (const auto nis = host.root.Whole("sys/kernel/debug/lnet/nis"); nis.ok())
    for (v1::StorageUse& use : StorageOfLnet(*nis)) uses.push_back(std::move(use));
  const auto settings = host.root.Whole("etc/cufile.json");
  if (!settings.ok()) return;
  for (const std::string& address : CufileAddresses(*settings)) {
    v1::StorageUse& use = uses.emplace_back();
    use.set_kind(v1::STORAGE_KIND_GPUDIRECT_STORAGE);
    use.set_name(address);
    use.set_local_address(address);
  }
}

bool HasAddress(const v1::NetInterface& netdev, const std::string& address) {
  return std::any_of(
      netdev.addresses().begin(), netdev.addresses().end(),
      [&](const std::string& prefix) { return prefix.substr(0, prefix.find('/')) == address; });
}

// The netdev with an address; captures have it in GIDs only.
std::string NetdevWith(const v1::NodeSnapshot& out, const std::string& address) {
  for (const v1::NetInterface& netdev : out.net_interfaces())
    if (HasAddress(netdev, address)) return netdev.name();
  for (const v1::RdmaDevice& device : out.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const v1::Gid& gid : port.gids())
        if (gid.ipv4() == address || gid.ipv6() == address)
          return gid.netdev().empty() ? port.netdev() : gid.netdev();
  return {};
}

void Locate(const v1::NodeSnapshot& out, v1::StorageUse& use) {
  std::string netdev;
  if (use.has_local_address()) netdev = NetdevWith(out, use.local_address());
  if (netdev.empty() && use.has_remote_address())
    if (const v1::IpRoute* const route = MainRouteTo(out, use.remote_address()))
      netdev = route->netdev();
  if (netdev.empty()) return;
  use.set_netdev(netdev);
  for (const v1::RdmaDevice& device : out.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.has_netdev() && IsOrIsAbove(out, port.netdev(), netdev))
        use.set_rdma_device(device.name());
}

Status InspectStorage(const Host& host, v1::NodeSnapshot& out) {
  Uses uses;
  ReadMounts(host, uses);
  ReadNvme(host, uses);
  ReadLustreAndGpu(host, uses);
  for (v1::StorageUse& use : uses) {
    Locate(out, use);
    if (out.storage_size() < kUsesMax) out.add_storage()->Swap(&use);
  }
  std::stable_sort(out.mutable_storage()->begin(), out.mutable_storage()->end(),
                   [](const v1::StorageUse& a, const v1::StorageUse& b) {
                     return std::tuple(a.kind(), a.name()) < std::tuple(b.kind(), b.name());
                   });
  return {};
}

}  // namespace

extern const Inspector storage = {
    .name = kStorageName,
    .doc = "Storage over the network, with the NIC that serves it.",
    .inspect = InspectStorage,
};

}  // namespace fabric::inspect
