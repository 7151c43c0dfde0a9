#include "agents/probe/port_choice.h"

#include "base/text.h"
#include "proto/names.h"

namespace fabric::probe {
namespace {

const v1::Port* FindPort(const v1::RdmaDevice& device, std::uint32_t number) {
  for (const v1::Port& port : device.ports())
    if (port.number() == number) return &port;
  return nullptr;
}

const v1::Gid* RoceGid(const v1::Port& port) {
  const v1::Gid* found = nullptr;
  for (const v1::Gid& gid : port.gids()) {
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) continue;
    if (!gid.ipv4().empty()) return &gid;
    if (found == nullptr) found = &gid;
  }
  return found;
}

}  // namespace

Result<PortAddress> ChooseAddress(const v1::RdmaDevice& device, std::uint32_t number,
                                  std::optional<std::uint32_t> gid_index) {
  const auto refusal = [&](std::string_view why) {
    return Status(Code::kFailedPrecondition, Format("{}/{}: {}", device.name(), number, why));
  };
  const v1::Port* port = FindPort(device, number);
  if (port == nullptr) return refusal("no such port");
  if (!port->has_state()) return refusal("the port state is unknown");
  if (port->state() != v1::PORT_STATE_ACTIVE)
    return refusal(Format("port is {}", Name(port->state())));
  const bool infiniband = port->link_layer() == v1::LINK_LAYER_INFINIBAND;
  if (infiniband && port->lid() == 0) return refusal("port has no LID");
  if (gid_index) {
    for (const v1::Gid& gid : port->gids())
      if (gid.index() == *gid_index) return PortAddress{.gid_index = *gid_index, .gid = gid.gid()};
    return refusal(Format("port has no GID {}", *gid_index));
  }
  if (infiniband) {
    for (const v1::Gid& gid : port->gids())
      if (gid.index() == 0) return PortAddress{.gid_index = 0, .gid = gid.gid()};
    return refusal("port has no GID 0");
  }
  const v1::Gid* gid = RoceGid(*port);
  if (gid == nullptr) return refusal("port has no RoCE v2 GID but link-local ones");
  return PortAddress{.gid_index = gid->index(), .gid = gid->gid()};
}

}  // namespace fabric::probe
