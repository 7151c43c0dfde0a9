#include <algorithm>
#include <utility>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kGidsName = "gids";
constexpr std::uint32_t kIndexMax = 65535;

// Which attributes of the slots there are to read. A tree that did not capture them has one gap,
// not one for each slot.
struct Wanted {
  v1::LinkLayer link_layer;
  bool types = false;
  bool netdevs = false;
};

Wanted WhatToRead(const Attributes& files, const v1::RdmaDevice& device, const v1::Port& port) {
  Wanted wanted{.link_layer = port.link_layer()};
  const bool iwarp = device.protocol() == v1::PROTOCOL_IWARP;
  const auto there = [&](const char* name) {
    if (files.dir().Has(name)) return true;
    files.Gap(name, Status(Code::kNotFound, "No such file or directory"));
    return false;
  };
  // The kernel's word for "no RoCE" would do for iWARP as well, and says nothing about it.
  wanted.types = !iwarp && there("gid_attrs/types");
  // Native InfiniBand has no netdevs there, and old kernels have none of iWARP.
  const bool ethernet = port.link_layer() != v1::LINK_LAYER_INFINIBAND;
  wanted.netdevs =
      ethernet && (iwarp ? files.dir().Has("gid_attrs/ndevs") : there("gid_attrs/ndevs"));
  return wanted;
}

// EINVAL is the kernel's answer for a slot that is empty: by now, since it was not when its GID was
// read.
std::optional<std::string> SlotText(const Attributes& files, const std::string& name) {
  const Result<std::string> text = files.dir().Text(name);
  if (text.ok() || text.status().code() == Code::kUnimplemented)
    return text.ok() ? std::optional(*text) : std::nullopt;
  files.Gap(name, text.status());
  return std::nullopt;
}

void ReadAttributes(const Attributes& files, const Wanted& wanted, v1::Gid& gid) {
  if (wanted.types) {
    const std::string name = Format("gid_attrs/types/{}", gid.index());
    if (const auto text = SlotText(files, name); text) {
      const auto type = ParseGidType(*text, wanted.link_layer);
      if (type.ok())
        gid.set_type(*type);
      else
        files.Gap(name, type.status());
    }
  }
  if (!wanted.netdevs) return;
  const auto netdev = SlotText(files, Format("gid_attrs/ndevs/{}", gid.index()));
  if (netdev && IsPlainName(*netdev)) gid.set_netdev(*netdev);
}

// The slots to read: used slots as reported by verbs, else all with files.
std::vector<std::uint32_t> Slots(const Attributes& files, const host::VerbsDevice* verbs,
                                 v1::Port& port) {
  if (verbs != nullptr && port.number() >= 1 && port.number() <= verbs->ports.size()) {
    const host::VerbsPort& reported = verbs->ports[port.number() - 1];
    // Opening a device is dear; so rdma_ports need not do it again for these.
    if (reported.active_mtu_bytes != 0) port.set_active_mtu_bytes(reported.active_mtu_bytes);
    if (reported.max_mtu_bytes != 0) port.set_max_mtu_bytes(reported.max_mtu_bytes);
    if (reported.gid_table_length != 0) {
      port.set_gid_table_length(reported.gid_table_length);
      std::vector<std::uint32_t> used;
      for (const host::VerbsDevice::Slot& slot : verbs->gids)
        if (slot.port == port.number()) used.push_back(slot.index);
      std::sort(used.begin(), used.end());
      return used;
    }
  }
  const bool there = files.dir().Has("gids");
  std::vector<std::uint32_t> indexes = files.Numbers("gids", 0, kIndexMax);
  // Every port has a table: one without slots was not captured.
  if (indexes.empty() && there)
    files.Gap("gids", Status(Code::kNotFound, "the directory holds no GID"));
  if (!indexes.empty()) port.set_gid_table_length(indexes.back() + 1);
  return indexes;
}

void InspectGids(const Attributes& files, const v1::RdmaDevice& device,
                 const std::vector<std::uint32_t>& indexes, v1::Port& port) {
  std::optional<Wanted> wanted;
  for (const std::uint32_t index : indexes) {
    const auto text = files.Parsed(Format("gids/{}", index), ParseGid);
    if (!text || IsEmptyGid(*text)) continue;
    if (!wanted) wanted = WhatToRead(files, device, port);
    v1::Gid& gid = *port.add_gids();
    gid.set_index(index);
    gid.set_gid(*text);
    gid.set_link_local(IsLinkLocalGid(*text));
    gid.set_ipv4(Ipv4OfGid(*text));
    const bool roce = device.protocol() == v1::PROTOCOL_ROCE;
    if (roce && !gid.link_local() && gid.ipv4().empty()) gid.set_ipv6(Ipv6OfGid(*text));
    ReadAttributes(files, *wanted, gid);
  }
}

std::uint32_t PortCount(const v1::RdmaDevice& device) {
  std::uint32_t count = 0;
  for (const v1::Port& port : device.ports()) count = std::max(count, port.number());
  return count;
}

Status InspectAllGids(const Host& host, v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    // Without verbs the files tell as much; why there are none is said by rdma_ports.
    const Result<host::VerbsDevice> verbs =
        host.verbs.QueryDevice(device.name(), PortCount(device));
    for (v1::Port& port : *device.mutable_ports()) {
      const Gaps gaps{.snapshot = out, .inspector = kGidsName, .subject = PortName(device, port)};
      const auto files = Attributes::Open(host, PortPath(device, port), gaps);
      if (files.ok())
        InspectGids(*files, device, Slots(*files, verbs.ok() ? &*verbs : nullptr, port), port);
      else
        gaps.Add(PortPath(device, port), files.status());
    }
  }
  return {};
}

// Tables are long: most of the time of an inspection goes into their slots.
void KeepGids(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  ForEachSamePort(previous, snapshot, [](v1::Port& before, v1::Port& port) {
    port.mutable_gids()->Swap(before.mutable_gids());
    if (before.has_gid_table_length()) port.set_gid_table_length(before.gid_table_length());
  });
}

}  // namespace

extern const Inspector gids = {
    .name = kGidsName,
    .doc = "GID tables: the slots in use with type, netdev and IP address.",
    .inspect = InspectAllGids,
    .wakes = EventKind::kAddress | EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .keep = KeepGids,
};

}  // namespace fabric::inspect
