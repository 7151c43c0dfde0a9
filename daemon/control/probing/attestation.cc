#include "daemon/control/probing/attestation.h"

#include "base/text.h"
#include "proto/routes.h"

namespace fabric::control {

Status CheckEndpoint(const v1::NodeSnapshot& snapshot, const v1::ProbeEndpoint& endpoint) {
  const auto wanted = ParseIpPrefix(endpoint.gid());
  bool any = false;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const v1::Gid& gid : port.gids()) {
        any = true;
        if (gid.gid() == endpoint.gid()) return {};
        const auto known = wanted ? ParseIpPrefix(gid.gid()) : std::nullopt;
        if (known && known->bytes == wanted->bytes) return {};
      }
  if (!any) return {};
  return {Code::kFailedPrecondition,
          Format("expected an endpoint with a GID of this node, saw {}", Quoted(endpoint.gid()))};
}

}  // namespace fabric::control
