// GPU memory of this node, registered in both ways, and its table for the other end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agents/host/gpu/gpu_memory.h"
#include "agents/host/verbs/queue_pairs.h"
#include "agents/probe/gpu/gpu_choice.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// One GPU and way.
struct GpuRegion {
  std::string gpu;
  v1::GpuMemoryRegistration registration = v1::GPU_MEMORY_REGISTRATION_UNSPECIFIED;
  Status status;                      // Error of the registration
  host::RegisteredMemory registered;  // When status is ok
};

inline constexpr std::uint32_t kGpusMax = 8;
inline constexpr std::uint32_t kGpuWays = 2;

// Deregisters in its destructor, which must run before that of the queue pairs.
class GpuRegions {
 public:
  explicit GpuRegions(host::RcQueuePairs& queue_pairs) : queue_pairs_(queue_pairs) {}
  GpuRegions(const GpuRegions&) = delete;
  GpuRegions& operator=(const GpuRegions&) = delete;
  ~GpuRegions();

  // Tries both ways for each GPU. FAILED_PRECONDITION with the reasons when all fail.
  Status Register(host::GpuMemory& memory, std::span<const v1::Gpu> gpus,
                  const v1::PeerMemory& peer_memory, std::size_t bytes);
  const std::vector<GpuRegion>& all() const { return regions_; }

 private:
  void Try(host::GpuBuffer& buffer, v1::GpuMemoryRegistration registration, const std::string& hint,
           std::size_t bytes, GpuRegion& region);

  host::RcQueuePairs& queue_pairs_;
  std::vector<std::unique_ptr<host::GpuBuffer>> buffers_;
  std::vector<GpuRegion> regions_;
};

// Table for the other end. Truncates reasons; RESOURCE_EXHAUSTED when it still does not fit.
inline constexpr std::uint32_t kGpuTableBytes = 16 << 10;
Status WriteTable(std::span<const GpuRegion> regions, std::span<std::byte> table);
// DATA_LOSS for an invalid table. `table`: a copy, because the other end can write its memory while
// it is read.
Result<std::vector<GpuRegion>> ReadTable(const std::vector<std::byte>& table);

}  // namespace fabric::probe
