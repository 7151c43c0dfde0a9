// RDMA device handles of libibverbs. Included by verbs*.cc only.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

// Deleter for libibverbs objects.
template <auto Destroy>
struct VerbsDelete {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

using ContextPtr = std::unique_ptr<ibv_context, VerbsDelete<&ibv_close_device>>;

Result<ContextPtr> OpenDevice(const std::string& name);
Result<ibv_port_attr> PortAttributes(ibv_context& context, std::uint32_t port);
std::uint32_t MtuBytes(ibv_mtu mtu);  // 0 for an invalid value

}  // namespace fabric::host
