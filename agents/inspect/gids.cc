#include <map>
#include <utility>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "gids";
constexpr std::uint32_t kIndexMax = 65535;

// Type and netdev of a slot that is in use. Native InfiniBand has no netdev there.
void ReadAttributes(const Attributes& files, v1::LinkLayer link_layer, v1::Gid& gid) {
  const auto type = [&](std::string_view text) { return ParseGidType(text, link_layer); };
  if (auto value = files.Parsed(Format("gid_attrs/types/{}", gid.index()), type))
    gid.set_type(*value);
  if (link_layer == v1::LINK_LAYER_INFINIBAND) return;
  const auto netdev = files.Text(Format("gid_attrs/ndevs/{}", gid.index()));
  if (netdev && IsPlainName(*netdev)) gid.set_netdev(*netdev);
}

void InspectGids(const Attributes& files, v1::Port& port) {
  for (const std::uint32_t index : files.Numbers("gids", 0, kIndexMax)) {
    const auto text = files.Parsed(Format("gids/{}", index), ParseGid);
    if (!text || IsEmptyGid(*text)) continue;
    v1::Gid& gid = *port.add_gids();
    gid.set_index(index);
    gid.set_gid(*text);
    gid.set_link_local(IsLinkLocalGid(*text));
    gid.set_ipv4(Ipv4OfGid(*text));
    ReadAttributes(files, port.link_layer(), gid);
  }
}

Status InspectAllGids(const Host& host, v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    for (v1::Port& port : *device.mutable_ports()) {
      const Gaps gaps{.snapshot = out, .inspector = kName, .subject = PortName(device, port)};
      const auto files = Attributes::Open(host, PortPath(device, port), gaps);
      if (files.ok())
        InspectGids(*files, port);
      else
        gaps.Add(PortPath(device, port), files.status());
    }
  }
  return {};
}

// Tables are long: most of the time of an inspection goes into their slots.
void KeepGids(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  std::map<std::pair<std::string, std::uint32_t>, v1::Port*> ports;
  for (v1::RdmaDevice& device : *previous.mutable_rdma_devices())
    for (v1::Port& port : *device.mutable_ports()) ports[{device.name(), port.number()}] = &port;
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices()) {
    for (v1::Port& port : *device.mutable_ports()) {
      const auto before = ports.find({device.name(), port.number()});
      if (before == ports.end()) continue;
      port.mutable_gids()->Swap(before->second->mutable_gids());
      if (before->second->has_gid_table_length())
        port.set_gid_table_length(before->second->gid_table_length());
    }
  }
}

}  // namespace

extern const Inspector gids = {
    .name = kName,
    .doc = "GID tables: the slots in use with type, netdev and IPv4 address.",
    .inspect = InspectAllGids,
    .wakes = EventKind::kAddress | EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .keep = KeepGids,
};

}  // namespace fabric::inspect
