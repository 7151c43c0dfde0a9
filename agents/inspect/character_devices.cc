#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kCharacterDevicesName = "character_devices";

v1::RdmaDevice* FindDevice(v1::NodeSnapshot& snapshot, const std::string& name) {
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices())
    if (device.name() == name) return &device;
  return nullptr;
}

// Entries of a class with an `ibdev` file; others, "abi_version", are files. NOT_FOUND: no such
// class.
Status AddClass(const Host& host, const std::string& path, v1::NodeSnapshot& out) {
  ASSIGN_OR_RETURN(const Dir entries, host.root.Sub(path));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, entries.Names());
  for (const std::string& name : names) {
    if (!IsPlainName(name)) continue;
    const Result<std::string> ibdev = entries.Text(name + "/ibdev");
    v1::RdmaDevice* const device = ibdev.ok() ? FindDevice(out, *ibdev) : nullptr;
    if (device != nullptr) device->add_character_devices(name);
  }
  return {};
}

Status InspectCharacterDevices(const Host& host, v1::NodeSnapshot& out) {
  if (out.rdma_devices().empty()) return {};
  // Without ib_uverbs no program can use RDMA. ib_umad is there for management alone.
  const Status verbs = AddClass(host, "sys/class/infiniband_verbs", out);
  const Status management = AddClass(host, "sys/class/infiniband_mad", out);
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices())
    std::sort(device.mutable_character_devices()->begin(),
              device.mutable_character_devices()->end());
  if (!management.ok() && management.code() != Code::kNotFound)
    AddGap(out, kCharacterDevicesName, "", "sys/class/infiniband_mad", management);
  return verbs;
}

}  // namespace

extern const Inspector character_devices = {
    .name = kCharacterDevicesName,
    .doc = "Character devices of RDMA devices: uverbs, umad and issm below dev/infiniband.",
    .inspect = InspectCharacterDevices,
};

}  // namespace fabric::inspect
