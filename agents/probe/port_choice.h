// Choice of the address from which a port is probed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::probe {

struct PortAddress {
  std::uint32_t gid_index = 0;
  std::string gid;
};

// RoCE: the first RoCE v2 GID that is IPv4-mapped, else the first that is not link-local.
// InfiniBand: GID 0, with a LID. A given `gid_index` is used unchecked, as a job would.
// FAILED_PRECONDITION with the reason when the port cannot be used.
Result<PortAddress> ChooseAddress(const v1::RdmaDevice& device, std::uint32_t port,
                                  std::optional<std::uint32_t> gid_index = {});

}  // namespace fabric::probe
