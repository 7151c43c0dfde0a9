// Queue pairs of libibverbs and their common parts. Included by verbs*.cc only.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/host/verbs/verbs_device.h"

namespace fabric::host {

using DomainPtr = std::unique_ptr<ibv_pd, VerbsDelete<&ibv_dealloc_pd>>;
using QueuePtr = std::unique_ptr<ibv_cq, VerbsDelete<&ibv_destroy_cq>>;
using RegionPtr = std::unique_ptr<ibv_mr, VerbsDelete<&ibv_dereg_mr>>;
using PairPtr = std::unique_ptr<ibv_qp, VerbsDelete<&ibv_destroy_qp>>;
using MemoryPtr = std::unique_ptr<std::byte, VerbsDelete<&std::free>>;

// An ACTIVE port with a protection domain.
class VerbsPortSide {
 public:
  Status Open(const PortOptions& options);

  // The driver's error with the step and the port.
  Status Failure(int error, std::string_view step) const;
  // Address of a remote port. InfiniBand needs the global header between subnets only.
  struct Way {
    std::uint32_t service_level;
    std::uint32_t flow_label;
    std::uint32_t traffic_class;
  };
  Result<ibv_ah_attr> AddressOf(const Endpoint& remote, const Way& way) const;

  ibv_context& context() const { return *context_; }
  ibv_pd& domain() const { return *domain_; }
  const ibv_device_attr& limits() const { return limits_; }
  std::uint8_t number() const { return static_cast<std::uint8_t>(options_.port); }
  std::uint16_t pkey_index() const { return pkey_index_; }
  const Endpoint& address() const { return address_; }  // GID, LID and MTU

 private:
  Status FindPkey(std::uint16_t slots);

  PortOptions options_;
  ContextPtr context_;  // Destroyed after the domain.
  DomainPtr domain_;
  ibv_device_attr limits_{};
  bool ethernet_ = false;
  std::uint16_t pkey_index_ = 0;
  Endpoint address_;
};

// Registered, zeroed, page-aligned memory.
struct VerbsMemory {
  static Result<VerbsMemory> Register(const VerbsPortSide& port, std::size_t bytes, int access);
  MemoryPtr bytes;
  RegionPtr region;  // Destroyed before the bytes.
};

// "remote access error (10), vendor syndrome 0x88"
std::string CompletionError(ibv_wc_status status, std::uint32_t vendor_error);

Result<std::unique_ptr<RcQueuePairs>> OpenRcQueuePairs(const RcOptions& options);
Result<std::unique_ptr<UdQueuePairs>> OpenUdQueuePairs(const UdOptions& options);

}  // namespace fabric::host
